"""What the SQL and DataFrame peers share: queries over `one`, `two`, `three`, tables of row, ts and the join
columns.

Batch engines see all their input at once and keep no state between batches; their tables are loaded before
the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench.contract import Job, Sink
from bench.workloads import Case, load

__all__ = ["NAMES", "Frames", "duckdb_job", "frames", "polars_job"]

NAMES = ("one", "two", "three")
Frames = Mapping[str, Any]


def frames(case: Case) -> Frames:
    """Arrow tables by name. Sets are one line per item (`row, ts, item[, weight]`): what a relational join
    needs.
    """
    import pyarrow as pa

    made = {}
    for stream in range(case.streams):
        data = load(case, stream)
        columns = {"row": np.arange(case.rows), "ts": np.asarray(data["ts"])}
        if case.kind == "keys":
            columns["key"] = np.asarray(data["key"])
        else:
            offsets = np.asarray(data["offsets"], dtype=np.int64)
            sizes = offsets[1:] - offsets[:-1]
            columns = {name: np.repeat(values, sizes) for name, values in columns.items()}
            columns["item"] = np.asarray(data["items"])
            if "weights" in data:
                columns["weight"] = np.asarray(data["weights"])
        made[NAMES[stream]] = pa.table(columns)
    return made


def duckdb_job(case: Case, query: str) -> Job:
    """Loads the frames into DuckDB tables; the job runs the query on one thread and takes its result as
    Arrow.
    """
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET enable_progress_bar = false")
    for name, frame in frames(case).items():
        connection.register(f"arrow_{name}", frame)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_{name}")
        connection.unregister(f"arrow_{name}")

    def job(sink: Sink) -> None:
        sink.table(connection.sql(query).to_arrow_table())  # execute() would copy the rows once more

    return job


def polars_job(case: Case, plan: Callable[[Frames], Any], *, engine: str) -> Job:
    """Loads the frames into Polars; the job collects the lazy plan with the given Polars engine."""
    import os

    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    lazy = {name: pl.DataFrame(frame).lazy() for name, frame in frames(case).items()}

    def job(sink: Sink) -> None:
        sink.table(plan(lazy).collect(engine=engine).to_arrow())

    return job
