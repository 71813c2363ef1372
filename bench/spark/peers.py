"""Scenarios against Spark's own stream-stream joins: one contender at a time, over the same files.

A native join that would take too long is stopped; the contenders are then compared on the micro-batches that
it has ended (table.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it

import watersmeet as wm
from bench.spark.inputs import SIDES, keyed, sets, stream, write
from bench.spark.queries import HDFS, ROCKSDB, counters, timed

AT_MOST_S = 180.0  # of a native join


def equal(spark: Any, base: Path, peer: str, *, rows: int = 500_000, batches: int = 8) -> dict[str, Any]:
    """W1-like: an equality in ±10 s, a million rows, five seconds of each stream, per micro-batch."""
    for side, name in enumerate(SIDES):
        write(base / name, keyed(side, rows, batches))
    if peer == "watersmeet":
        return _ours(spark, base, wm.equal("key"), "10s")
    left, right = stream(spark, base / "left").alias("l"), stream(spark, base / "right").alias("r")
    near = F.expr("l.key = r.key and r.ts between l.ts - interval 10 seconds and l.ts + interval 10 seconds")
    columns = [F.col(f"l.{c}") for c in left.columns]
    columns += [F.col(f"r.{c}").alias(f"{c}_right") for c in right.columns]
    provider = HDFS if peer == "native-hdfs" else ROCKSDB
    frame = left.join(right, near).select(*columns)
    return timed(spark, frame, base / peer, provider=provider, at_most_s=AT_MOST_S)[0]


def overlap(spark: Any, base: Path, peer: str, *, rows: int = 100_000, batches: int = 4) -> dict[str, Any]:
    """W2b-like: sets that share at least five items in ±20 s, 20 seconds of each stream per micro-batch.

    Natively, on the HDFS-backed store, which is the faster one: explode both sides, join on item and time,
    keep a pair at one of its shared items if array_intersect is large enough. "native-prefix" explodes only
    the rarest items of a set that it cannot share five without (its size less four); the smallest of them are
    the largest numbers here, which a user would have to know.
    """
    for side, name in enumerate(SIDES):
        write(base / name, sets(side, rows, batches))
    if peer == "watersmeet":
        return _ours(spark, base, wm.overlap("items", at_least=5), "20s")
    chosen = "items"
    if peer == "native-prefix":
        chosen = "slice(sort_array(items, false), 1, greatest(size(items) - 4, 0))"
    left, right = (
        stream(spark, base / name).withColumn("item", F.explode(F.expr(chosen))).alias(name[0])
        for name in SIDES
    )
    near = F.expr(
        "l.item = r.item and r.ts between l.ts - interval 20 seconds and l.ts + interval 20 seconds"
        " and size(array_intersect(l.items, r.items)) >= 5"
        " and l.item = array_max(array_intersect(l.items, r.items))"
    )
    columns = [f"{side}.{name}" for side in "lr" for name in ("ts", "id", "items")]
    renamed = [F.col(c).alias(c[2:] + ("_right" if c[0] == "r" else "")) for c in columns]
    frame = left.join(right, near).select(*renamed)
    return timed(spark, frame, base / peer, provider=HDFS, at_most_s=AT_MOST_S)[0]


def overlap_small(spark: Any, base: Path, peer: str) -> dict[str, Any]:
    """The same, five seconds per micro-batch: what a micro-batch costs at least is then most of ours."""
    return overlap(spark, base, peer, rows=25_000, batches=8)


def _ours(spark: Any, base: Path, on: Any, window: str) -> dict[str, Any]:
    from watersmeet.spark import configure, join

    configure(spark)
    left, right = (stream(spark, base / name) for name in SIDES)
    found, query = timed(
        spark, join(left, right, on=on, window=window), base / "watersmeet", provider=ROCKSDB
    )
    return found | counters(query)
