"""Streams for the Spark bench, as folders of parquet files that are read one per micro-batch and side."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START_US = 1_700_000_000_000_000
SIDES = ("left", "right")


def keyed(side: int, rows: int, batches: int) -> list[pa.Table]:
    """W1-like: 100,000 rows per stream-second, two million keys: about one partner per row in ±10 s."""
    rng = np.random.default_rng(side + 1)
    out = []
    for batch in range(batches):
        times = START_US + (batch * rows + np.arange(rows)) * 10
        columns = {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "key": rng.integers(0, 2_000_000, rows),
            "value": rng.random(rows),
        }
        out.append(pa.table(columns))
    return out


def sets(side: int, rows: int, batches: int, *, per_s: int = 5000) -> list[pa.Table]:
    """W2b-like: sets of 10 of 10,000 items, Zipf(0.8)."""
    rng = np.random.default_rng(side + 31)
    shares = 1.0 / np.arange(1, 10_001) ** 0.8
    shares /= shares.sum()
    out = []
    for batch in range(batches):
        times = START_US + (batch * rows + np.arange(rows)) * (1_000_000 // per_s)
        drawn = np.sort(rng.choice(10_000, (rows, 10), p=shares), axis=1)
        first = np.concatenate([np.ones((rows, 1), bool), drawn[:, 1:] != drawn[:, :-1]], axis=1)
        offsets = np.concatenate([[0], np.cumsum(first.sum(axis=1))])
        items = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(drawn[first], pa.int32()))
        columns = {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "id": batch * rows + np.arange(rows),
            "items": items,
        }
        out.append(pa.table(columns))
    return out


def write(folder: Path, parts: list[pa.Table], *, first: int = 0) -> None:
    """One file per part; their times of change tell Spark their order."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, part in enumerate(parts, start=first):
        pq.write_table(part, folder / f"{place:04}.parquet")
        os.utime(folder / f"{place:04}.parquet", (1_600_000_000 + 10 * place,) * 2)


def stream(spark: Any, folder: Path) -> Any:
    """The files as a stream with a watermark, one per micro-batch."""
    schema = spark.read.parquet(str(folder)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder)).withWatermark("ts", "0 seconds")
