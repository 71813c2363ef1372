"""The streaming join on Spark against Spark's own stream-stream join, in one run.

    python -m bench.spark_streams [equal] [overlap] [overhead] [rebuild] [--rows 100000] [--batches 6]

equal     W1-like: (ts, key, value), 100,000 rows per stream-second per side, ±10 s, about one match per row;
          watersmeet, native on the HDFS-backed store, native on RocksDB
overlap   W2b-like: sets of 10 of 10,000 Zipf(0.8), 5,000 rows per stream-second per side, overlap >= 5,
          ±20 s; watersmeet, and the best native form we know: explode both sides, join on item and time
          bounds, keep a pair at its smallest shared item if array_intersect is large enough
overhead  tiny batches: this join against an empty stateful query of the same shape
rebuild   a bucket of a million rows built again from its log (no Spark: the worker's own code)

`--rows` are rows per side and micro-batch. Every contender must give the same number of pairs before its time
counts; the first micro-batch (planning, imports) is left out. local[2], a driver of 3 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import watersmeet as wm

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
START_US = 1_700_000_000_000_000


def session(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    source = str(Path(wm.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("watersmeet-bench")
    for name, value in {
        "spark.driver.memory": "3g",
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


def keyed(side: int, rows: int, batches: int) -> list[pa.Table]:
    rng = np.random.default_rng(side + 1)
    out = []
    for batch in range(batches):
        times = START_US + (batch * rows + np.arange(rows)) * 10
        keys = rng.integers(0, 2_000_000, rows)
        columns = {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "key": keys,
            "value": rng.random(rows),
        }
        out.append(pa.table(columns))
    return out


def sets(side: int, rows: int, batches: int) -> list[pa.Table]:
    rng = np.random.default_rng(side + 31)
    shares = 1.0 / np.arange(1, 10_001) ** 0.8
    shares /= shares.sum()
    out = []
    for batch in range(batches):
        times = START_US + (batch * rows + np.arange(rows)) * 200
        drawn = rng.choice(10_000, (rows, 10), p=shares)
        items = pa.array([np.unique(row).tolist() for row in drawn], pa.list_(pa.int32()))
        columns = {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "id": batch * rows + np.arange(rows),
            "items": items,
        }
        out.append(pa.table(columns))
    return out


def write(folder: Path, parts: list[pa.Table]) -> None:
    folder.mkdir(parents=True)
    for place, part in enumerate(parts):
        pq.write_table(part, folder / f"{place:04}.parquet")
        os.utime(folder / f"{place:04}.parquet", (1_600_000_000 + 10 * place,) * 2)


def stream(spark: Any, folder: Path) -> Any:
    schema = spark.read.parquet(str(folder)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder)).withWatermark("ts", "0 seconds")


def timed(spark: Any, make: Callable[[], Any], base: Path, *, provider: str) -> dict[str, Any]:
    """Run a query over everything; seconds per micro-batch after the first, and the pairs it gave."""
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
    steady = busy[1:]
    seconds = sum(p.batchDuration for p in steady) / 1000
    out: dict[str, Any] = {
        "pairs": spark.read.parquet(str(base / "out")).count(),
        "rows_per_s": round(sum(p.numInputRows for p in steady) / seconds),
        "batch_ms": [p.batchDuration for p in busy],
        "checkpoint_bytes": sum(f.stat().st_size for f in (base / "checkpoint").rglob("*") if f.is_file()),
    }
    last = busy[-1].observedMetrics.get("watersmeet:join")
    if last is not None and last["state_rows"]:
        from watersmeet.spark import metrics

        out["state_bytes_per_row"] = round(last["state_bytes"] / last["state_rows"], 1)
        out["hit_rate"] = round(metrics(query).hit_rate, 2)
    return out


def compared(name: str, results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    pairs = {engine: result["pairs"] for engine, result in results.items()}
    if len(set(pairs.values())) != 1:
        raise SystemExit(f"{name}: the contenders disagree: {pairs}")
    ours = results["watersmeet"]["rows_per_s"]
    for engine, result in results.items():
        result["watersmeet_is_times"] = round(ours / result["rows_per_s"], 2)
        print(f"{name:9} {engine:16} {result['rows_per_s']:>10,} rows/s  {result}", flush=True)
    return results


def equal(spark: Any, base: Path, rows: int, batches: int) -> dict[str, Any]:
    from pyspark.sql import functions as F  # noqa: N812

    from watersmeet.spark import join

    for side, name in enumerate(("left", "right")):
        write(base / name, keyed(side, rows, batches))

    def ours() -> Any:
        return join(
            stream(spark, base / "left"), stream(spark, base / "right"), on=wm.equal("key"), window="10s"
        )

    def native() -> Any:
        left, right = stream(spark, base / "left").alias("l"), stream(spark, base / "right").alias("r")
        near = F.expr(
            "l.key = r.key and r.ts between l.ts - interval 10 seconds and l.ts + interval 10 seconds"
        )
        columns = [F.col(f"l.{c}") for c in left.columns] + [
            F.col(f"r.{c}").alias(f"{c}_right") for c in right.columns
        ]
        return left.join(right, near).select(*columns)

    return compared(
        "equal",
        {
            "watersmeet": timed(spark, ours, base / "ours", provider=ROCKSDB),
            "native-hdfs": timed(spark, native, base / "hdfs", provider=HDFS),
            "native-rocksdb": timed(spark, native, base / "rocksdb", provider=ROCKSDB),
        },
    )


def overlap(spark: Any, base: Path, rows: int, batches: int) -> dict[str, Any]:
    from pyspark.sql import functions as F  # noqa: N812

    from watersmeet.spark import join

    for side, name in enumerate(("left", "right")):
        write(base / name, sets(side, rows, batches))

    def ours() -> Any:
        left, right = stream(spark, base / "left"), stream(spark, base / "right")
        return join(left, right, on=wm.overlap("items", at_least=5), window="20s")

    def native() -> Any:
        left, right = (
            stream(spark, base / name).withColumn("item", F.explode("items")).alias(name[0])
            for name in ("left", "right")
        )
        near = F.expr(
            "l.item = r.item and r.ts between l.ts - interval 20 seconds and l.ts + interval 20 seconds"
            " and size(array_intersect(l.items, r.items)) >= 5"
            " and l.item = array_min(array_intersect(l.items, r.items))"
        )
        return left.join(right, near).select(
            F.col("l.ts"), F.col("l.id"), F.col("r.ts").alias("ts_right"), F.col("r.id").alias("id_right")
        )

    return compared(
        "overlap",
        {
            "watersmeet": timed(spark, ours, base / "ours", provider=ROCKSDB),
            "native-hdfs": timed(spark, native, base / "hdfs", provider=HDFS),
        },
    )


def overhead(spark: Any, base: Path, rows: int, batches: int) -> dict[str, Any]:
    """Medians of batch durations: an empty stateful query, and the join, over ten rows per batch."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    from watersmeet.spark import join

    del rows
    for side, name in enumerate(("left", "right")):
        write(base / name, keyed(side, 10, batches))

    class Empty(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._state = handle.getValueState("seen", "n long")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            for _ in rows:
                pass
            self._state.update((1,))
            return iter(())

        def close(self) -> None: ...

    def empty() -> Any:
        both = stream(spark, base / "left").unionByName(stream(spark, base / "right"))
        packed = both.mapInArrow(lambda batches: batches, both.schema).selectExpr(
            "int(key % 4) label", "value"
        )
        return packed.groupBy("label").transformWithStateInPandas(Empty(), "n long", "append", "None")

    def ours() -> Any:
        left, right = stream(spark, base / "left"), stream(spark, base / "right")
        return join(left, right, on=wm.equal("key"), window="10s")

    out = {}
    for name, make in (("empty", empty), ("join", ours)):
        durations = timed(spark, make, base / name, provider=ROCKSDB)["batch_ms"]
        out[name] = {"median_ms": statistics.median(durations[2:]), "batch_ms": durations}
        print(f"overhead  {name:16} {out[name]}", flush=True)
    return out


def rebuild(rows: int = 1_000_000) -> dict[str, Any]:
    """A million rows appended to a bucket's log, then a worker that knows nothing."""
    from tests.spark.by_hand import Query, request

    from watersmeet.spark import bucket

    parts = [keyed(side, rows // 10, 5) for side in (0, 1)]
    asked = request(
        parts[0][0], parts[1][0], on=wm.equal("key"), by="one", labels=(0,), lower=-(10**7), upper=10**7
    )
    query = Query(asked, delay=0)
    for left, right in zip(*parts, strict=True):
        query.batch(left, right)
    nothing = parts[0][0].slice(0, 0)
    bucket.forget()
    began = time.perf_counter()
    query.batch(nothing, nothing)
    result = {
        "rows": rows,
        "seconds": round(time.perf_counter() - began, 2),
        "rebuilds": query.counts["rebuilds"],
    }
    print(f"rebuild   {result}", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*", default=["equal", "overlap", "overhead", "rebuild"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {"load_average_before": os.getloadavg()}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        if "rebuild" in options.what:
            results["rebuild"] = rebuild()
        scenarios = {"equal": equal, "overlap": overlap, "overhead": overhead}
        chosen = [name for name in options.what if name in scenarios]
        spark = session(base) if chosen else None
        for name in chosen:
            results[name] = scenarios[name](spark, base / name, options.rows, options.batches)
        results["load_average_after"] = os.getloadavg()
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
        if spark is not None:
            spark.stop()


if __name__ == "__main__":
    main()
