"""Polars on W2: join item by item, filter on time, count per pair, on the first 8 s of the streams (see
duckdb.py).
"""

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
        shared = frames["one"].join(frames["two"], on="item").filter(near)
        weighted = case.kind == "weighted"
        measure = (pl.col("weight") * pl.col("weight_right")).sum() if weighted else pl.len()
        scored = shared.group_by("row", "row_right").agg(measure.alias("measure"))
        return scored.filter(pl.col("measure") >= case.threshold).select("row", "row_right")

    return polars_job(case, plan, engine="streaming")


ENGINE = Engine(
    kind="batch", needs="polars", prepare=prepare, variants=(Variant("8 s prefix", resize={"rows": 4_000}),)
)
