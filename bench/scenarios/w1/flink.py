"""Flink on W1: the SQL interval join, parallelism 1, CSV files in and out, so that its pairs can be checked.

Event time has milliseconds only: the interval is a millisecond wider on both sides, and a condition on
microseconds makes the answer exact. The figure is gross: it holds planning, class loading and the JIT
compiler (tens of CPU-seconds).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.contract import Engine, Job, Sink, Variant
from bench.peers import java_home
from bench.workloads import CACHE, Case, load

__all__ = ["ENGINE", "prepare"]

SOURCE = """
CREATE TABLE {name} (id BIGINT, ts BIGINT, k BIGINT, event_time AS TO_TIMESTAMP_LTZ(ts / 1000, 3),
WATERMARK FOR event_time AS event_time)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
TARGET = """
CREATE TABLE pairs (l BIGINT, r BIGINT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
QUERY = """
INSERT INTO pairs SELECT own_side.id, other_side.id FROM own_side, other_side
WHERE own_side.k = other_side.k AND own_side.ts - other_side.ts BETWEEN -{window} AND {window}
AND own_side.event_time BETWEEN other_side.event_time - INTERVAL '0 00:00:{seconds}' DAY TO SECOND(3)
                       AND other_side.event_time + INTERVAL '0 00:00:{seconds}' DAY TO SECOND(3)
"""


def prepare(case: Case, options: Mapping[str, Any]) -> Job:
    os.environ["JAVA_HOME"] = java_home()
    from pyflink.table import EnvironmentSettings, TableEnvironment

    folder = CACHE / "flink" / str(os.getpid())
    folder.mkdir(parents=True)
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "1")
    for stream, name in enumerate(("own_side", "other_side")):
        data = load(case, stream)
        path = folder / f"{name}.csv"
        columns = (np.arange(case.rows), np.asarray(data["ts"]), np.asarray(data["key"]))
        np.savetxt(path, np.column_stack(columns), fmt="%d", delimiter=",")
        environment.execute_sql(SOURCE.format(name=name, path=path))
    environment.execute_sql(TARGET.format(path=folder / "pairs"))
    query = QUERY.format(window=case.window_us, seconds=f"{case.window_us / 1e6 + 0.001:.3f}")

    def job(sink: Sink) -> None:
        environment.execute_sql(query).wait()
        _hand_over(folder / "pairs", sink)
        shutil.rmtree(folder)

    return job


def _hand_over(folder: Path, sink: Sink) -> None:
    for part in folder.rglob("*"):
        if part.is_file() and part.stat().st_size:
            pairs = np.loadtxt(part, dtype=np.int64, delimiter=",", ndmin=2)
            sink.rows(pairs[:, 0], pairs[:, 1])


ENGINE = Engine(
    kind="streaming",
    needs="flink",
    prepare=prepare,
    warm=False,
    pinned=False,
    variants=(
        # Minutes: its rows are checked on the short input, here only their number.
        Variant("SQL interval join, 1M rows", resize={"rows": 1_000_000}, repeats=1, checks=False),
        Variant("SQL interval join, 20k rows: its fixed cost", resize={"rows": 20_000}, repeats=1),
    ),
)
