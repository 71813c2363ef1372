"""Polars on W4: two lazy equi-joins, filtered on time after each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.contract import Engine, Job, Variant
from bench.relational import Frames, polars_job
from bench.workloads import Case

__all__ = ["ENGINE"]


def _prepare(case: Case, options: Mapping[str, Any]) -> Job:
    def plan(frames: Frames) -> Any:
        import polars as pl

        def near(one: str, other: str) -> Any:
            return (pl.col(one) - pl.col(other)).is_between(-case.window_us, case.window_us)

        pairs = frames["one"].join(frames["two"], on="key", suffix="_two").filter(near("ts", "ts_two"))
        triples = pairs.join(frames["three"], on="key", suffix="_three")
        kept = triples.filter(near("ts", "ts_three") & near("ts_two", "ts_three"))
        return kept.select("row", "row_two", "row_three")

    return polars_job(case, plan, engine="streaming")


ENGINE = Engine(
    kind="batch", needs="polars", prepare=_prepare, variants=(Variant("streaming engine", rehearsed=True),)
)
