"""Scenarios against Spark's own stream-stream joins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import watersmeet as wm
from bench.spark.inputs import SIDES, keyed, sets, stream, write
from bench.spark.queries import HDFS, ROCKSDB, compared, counters, timed


def equal(spark: Any, base: Path, options: Any) -> dict[str, Any]:
    """An equality in ±10 s: ours, native on the HDFS-backed store, native on RocksDB."""
    from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it

    from watersmeet.spark import join

    for side, name in enumerate(SIDES):
        write(base / name, keyed(side, options.rows, options.batches))

    def ours() -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        return join(left, right, on=wm.equal("key"), window="10s")

    def native() -> Any:
        left, right = stream(spark, base / "left").alias("l"), stream(spark, base / "right").alias("r")
        near = F.expr(
            "l.key = r.key and r.ts between l.ts - interval 10 seconds and l.ts + interval 10 seconds"
        )
        columns = [F.col(f"l.{c}") for c in left.columns] + [
            F.col(f"r.{c}").alias(f"{c}_right") for c in right.columns
        ]
        return left.join(right, near).select(*columns)

    return _raced(spark, base, "equal", ours, native, options)


def overlap(spark: Any, base: Path, options: Any) -> dict[str, Any]:
    """Sets that share at least five items in ±20 s: ours, and the best native form we know.

    That is: explode both sides, join on item and time, keep a pair at its smallest shared item if
    array_intersect is large enough.
    """
    from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it

    from watersmeet.spark import join

    for side, name in enumerate(SIDES):
        write(base / name, sets(side, options.rows, options.batches))

    def ours() -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        return join(left, right, on=wm.overlap("items", at_least=5), window="20s")

    def native() -> Any:
        left, right = (
            stream(spark, base / name).withColumn("item", F.explode("items")).alias(name[0]) for name in SIDES
        )
        near = F.expr(
            "l.item = r.item and r.ts between l.ts - interval 20 seconds and l.ts + interval 20 seconds"
            " and size(array_intersect(l.items, r.items)) >= 5"
            " and l.item = array_min(array_intersect(l.items, r.items))"
        )
        return left.join(right, near).select(
            F.col("l.ts"), F.col("l.id"), F.col("r.ts").alias("ts_right"), F.col("r.id").alias("id_right")
        )

    return _raced(spark, base, "overlap", ours, native, options)


def _raced(spark: Any, base: Path, name: str, ours: Any, native: Any, options: Any) -> dict[str, Any]:
    results = {}
    found, query = timed(spark, ours, base / "ours", provider=ROCKSDB, skip=options.skip)
    results["watersmeet"] = found | counters(query)
    for engine, provider in (("native-hdfs", HDFS), ("native-rocksdb", ROCKSDB)):
        if engine in options.peers:
            results[engine], _ = timed(spark, native, base / engine, provider=provider, skip=options.skip)
    compared(name, results)
    return results
