"""Streams of parquet files, in the order in which they are written, and queries over them."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


def write_files(folder: Path, parts: list[pa.Table], *, first: int = 0) -> None:
    """One file per part; their times of change tell Spark their order."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, part in enumerate(parts, start=first):
        path = folder / f"{place:04}.parquet"
        hidden = folder / f".{path.name}"
        pq.write_table(part, hidden)
        os.utime(hidden, (1_600_000_000 + 10 * place,) * 2)
        hidden.rename(path)


def parts(rows: pa.Table, count: int) -> list[pa.Table]:
    """The table in stretches of about equal length."""
    ends = np.linspace(0, len(rows), count + 1).astype(int)
    return [rows.slice(start, end - start) for start, end in pairwise(ends)]


def stream(
    spark: SparkSession, folder: Path, schema: pa.Schema, *, delay: str | None = "3 seconds"
) -> DataFrame:
    """The files of a folder as a stream, one per micro-batch."""
    from pyspark.sql.pandas.types import from_arrow_schema

    reader = spark.readStream.schema(from_arrow_schema(schema)).option("maxFilesPerTrigger", 1)
    frame = reader.parquet(str(folder))
    return frame if delay is None else frame.withWatermark("ts", delay)


def run(out: DataFrame, base: Path) -> StreamingQuery:
    """Everything there is, into parquet files; the checkpoint lies beside them."""
    query = start(out, base)
    query.awaitTermination()
    return query


def start(out: DataFrame, base: Path, *, once: bool = True) -> StreamingQuery:
    """The same, running; with once=False it waits for more."""
    writer = (
        out.writeStream.format("parquet")
        .option("path", str(base / "out"))
        .option("checkpointLocation", str(base / "checkpoint"))
    )
    return (writer.trigger(availableNow=True) if once else writer).start()


def sunk(spark: SparkSession, base: Path) -> pa.Table:
    """What readers of the sink see."""
    return spark.read.parquet(str(base / "out")).toArrow()


def total(query: StreamingQuery, counter: str) -> Any:
    """A counter of the join, over all micro-batches."""
    return sum(
        row["total"][counter]
        for progress in query.recentProgress
        for name, row in progress.observedMetrics.items()
        if name.startswith("watersmeet:")
    )
