"""One Spark session for the bench, and queries timed micro-batch by micro-batch."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import watersmeet as wm

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(folder: Path, *, memory: str) -> Any:
    """local[2], four shuffle partitions."""
    from pyspark.sql import SparkSession

    source = str(Path(wm.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("watersmeet-bench")
    for name, value in {
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.local.dir": str(folder / "local"),
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def timed(
    spark: Any, frame: Any, base: Path, *, provider: str, at_most_s: float | None = None
) -> tuple[dict[str, Any], Any]:
    """Run a query over everything, or until its time is up: what the ended micro-batches took and gave."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(base / "out"))
        .option("checkpointLocation", str(base / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    if not query.awaitTermination(at_most_s):
        query.stop()
    busy = [p for p in query.recentProgress if p.numInputRows > 0]
    checkpoint = sum(f.stat().st_size for f in (base / "checkpoint").rglob("*") if f.is_file())
    out: dict[str, Any] = {
        "pairs": spark.read.parquet(str(base / "out")).count() if busy else 0,
        "batch_ms": [p.batchDuration for p in busy],
        "batch_rows": [p.numInputRows for p in busy],
        "batch_phases_ms": [p.durationMs for p in busy],
        "checkpoint_bytes_per_row": round(checkpoint / max(1, sum(p.numInputRows for p in busy)), 1),
    }
    return out, query


def counters(query: Any) -> dict[str, Any]:
    """What our join tells of its results, its state and its cache."""
    from watersmeet.spark import metrics

    seen = metrics(query)
    per_batch = [
        progress.observedMetrics["watersmeet:join"]["total"]
        for progress in query.recentProgress
        if progress.numInputRows > 0
    ]
    return {
        "batch_pairs": [total["results"] for total in per_batch],
        "batch_find_ms": [total["find_us"] // 1000 for total in per_batch],  # summed over buckets
        "batch_join_ms": [total["join_us"] // 1000 for total in per_batch],
        "state_rows": int(seen.total["state_rows"]),
        "state_bytes_per_tuple": round(seen.total["state_bytes"] / max(1, seen.total["state_rows"]), 1),
        "hit_rate": round(seen.hit_rate, 2),
        "rebuilds": int(seen.total["rebuilds"]),
        "catch_ups": int(seen.total["catch_ups"]),
    }
