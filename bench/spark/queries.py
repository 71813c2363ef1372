"""One Spark session for the bench, and queries timed micro-batch by micro-batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
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
    spark: Any, make: Callable[[], Any], base: Path, *, provider: str, skip: int
) -> tuple[dict[str, Any], Any]:
    """Run a query over everything: what it gave, and its speed after the first `skip` micro-batches."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    query = (
        make()
        .writeStream.format("parquet")
        .option("path", str(base / "out"))
        .option("checkpointLocation", str(base / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    busy = [p for p in query.recentProgress if p.numInputRows > 0]
    steady = busy[skip:]
    seconds = sum(p.batchDuration for p in steady) / 1000
    checkpoint = sum(f.stat().st_size for f in (base / "checkpoint").rglob("*") if f.is_file())
    out: dict[str, Any] = {
        "pairs": spark.read.parquet(str(base / "out")).count(),
        "rows_per_s": round(sum(p.numInputRows for p in steady) / seconds),
        "batch_ms": [p.batchDuration for p in busy],
        "checkpoint_bytes_per_row": round(checkpoint / sum(p.numInputRows for p in busy), 1),
    }
    return out, query


def counters(query: Any) -> dict[str, Any]:
    """What our join tells of its state and its cache."""
    from watersmeet.spark import metrics

    seen = metrics(query)
    return {
        "state_bytes_per_tuple": round(seen.total["state_bytes"] / max(1, seen.total["state_rows"]), 1),
        "hit_rate": round(seen.hit_rate, 2),
        "rebuilds": int(seen.total["rebuilds"]),
        "catch_ups": int(seen.total["catch_ups"]),
    }


def compared(name: str, results: dict[str, dict[str, Any]]) -> None:
    """Print the contenders beside each other; SystemExit if they do not agree."""
    pairs = {engine: result["pairs"] for engine, result in results.items()}
    if len(set(pairs.values())) != 1:
        raise SystemExit(f"{name}: the contenders disagree: {pairs}")
    ours = results["watersmeet"]["rows_per_s"]
    print(f"\n{name}: {next(iter(pairs.values())):,} pairs from each")
    print(f"{'engine':18}{'rows/s':>10}{'watersmeet is':>15}  seconds per micro-batch")
    for engine, result in results.items():
        result["watersmeet_is_times"] = round(ours / result["rows_per_s"], 2)
        batches = " ".join(f"{ms / 1000:.1f}" for ms in result["batch_ms"])
        print(f"{engine:18}{result['rows_per_s']:>10,}{result['watersmeet_is_times']:>13} x  {batches}")
        extra = {k: v for k, v in result.items() if k not in ("pairs", "rows_per_s", "batch_ms")}
        print(f"{'':18}{extra}", flush=True)
