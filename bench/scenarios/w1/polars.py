"""Polars on W1: a lazy equi-join and a filter on time, with its streaming engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.contract import Engine, Job, Variant
from bench.relational import Frames, polars_job
from bench.workloads import Case

__all__ = ["ENGINE", "prepare"]


def prepare(case: Case, options: Mapping[str, Any]) -> Job:
    def plan(frames: Frames) -> Any:
        import polars as pl

        near = (pl.col("ts") - pl.col("ts_right")).is_between(-case.window_us, case.window_us)
        return frames["one"].join(frames["two"], on="key").filter(near).select("row", "row_right")

    return polars_job(case, plan, engine=options["engine"])


ENGINE = Engine(
    kind="batch",
    needs="polars",
    prepare=prepare,
    variants=(Variant("streaming engine", {"engine": "streaming"}, rehearsed=True),),
)
