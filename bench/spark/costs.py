"""Scenarios without a peer: what a micro-batch costs at least, a rebuild, and a burst within a bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it

import watersmeet as wm
from bench.spark.inputs import SIDES, keyed, sets, stream, write
from bench.spark.queries import ROCKSDB, timed

BOUND = "2s"


def overhead(spark: Any, base: Path, peer: str) -> dict[str, Any]:
    """Ten rows per side and micro-batch: empty stateful queries, and the join, in turns."""
    del peer
    for side, name in enumerate(SIDES):
        write(base / name, keyed(side, 10, 6))
    made = variants(spark, base)
    out: dict[str, list[int]] = {name: [] for name in made}
    for turn in range(3):  # the first warms up
        for name, make in made.items():
            took = timed(spark, make(), base / f"{name}{turn}", provider=ROCKSDB)[0]["batch_ms"]
            out[name] += took[1:] if turn else []
    return {"batch_ms": out}


def variants(spark: Any, base: Path) -> dict[str, Any]:
    """An empty stateful query; with a watermark, as a join must have; of the join's stages; the join."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    from watersmeet.spark import join

    class Empty(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._state = handle.getValueState("seen", "n long")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            for _ in rows:
                pass
            self._state.update((1,))
            return iter(())

        def close(self) -> None: ...

    def through(frame: Any) -> Any:
        return frame.mapInArrow(lambda batches: batches, frame.schema)

    def stateful(frame: Any, time: str = "None") -> Any:
        labelled = frame.withColumn("label", F.expr("int(key % 4)")).drop("key")
        return labelled.groupBy("label").transformWithStateInPandas(Empty(), "n long", "append", time)

    def empty() -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        return stateful(left.unionByName(right))

    def event_time() -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        return stateful(left.unionByName(right), "EventTime")

    def shape() -> Any:
        left, right = (through(stream(spark, base / name)) for name in SIDES)
        return stateful(left.unionByName(right), "EventTime")

    def ours() -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        return join(left, right, on=wm.equal("key"), window="10s")

    return {"empty": empty, "event time": event_time, "same shape": shape, "join": ours}


def rebuild(spark: Any, base: Path, peer: str, *, rows: int = 100_000) -> dict[str, Any]:
    """A query is stopped with a million rows in its state and started again: every worker knows nothing."""
    from watersmeet.spark import configure, join, metrics

    del peer
    configure(spark)
    parts = [keyed(side, rows, 6) for side in (0, 1)]
    for part, name in zip(parts, SIDES, strict=True):
        write(base / name, part[:5])

    def run() -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        frame = join(left, right, on=wm.equal("key"), window="1h")
        return timed(spark, frame, base / "watersmeet", provider=ROCKSDB)[1]

    run()
    for part, name in zip(parts, SIDES, strict=True):
        write(base / name, part[5:], first=5)
    query = run()
    seen = metrics(query)
    first = next(p for p in query.recentProgress if p.numInputRows > 0).observedMetrics["watersmeet:join"]
    return {
        "rows": int(first["total"]["state_rows"]) - 2 * rows,
        "rebuilds": int(seen.total["rebuilds"]),
        "seconds": _longest(first["buckets"], "find_us"),
        "state_bytes_per_tuple": round(seen.total["state_bytes"] / seen.total["state_rows"], 1),
    }


def burst(spark: Any, base: Path, peer: str, *, usual: int = 20_000) -> dict[str, Any]:
    """Sets with five times the rows per micro-batch from the fifth on, with a bound and without.

    A bound can only hold where the rows alone, whatever is shed, do not exceed it: `rows_s` says what they
    take.
    """
    from watersmeet.spark import configure, join, metrics

    configure(spark)
    for side, name in enumerate(SIDES):
        calm = sets(side, usual, 4, per_s=2_000)
        storm = sets(side + 2, 5 * usual, 5, per_s=10_000)
        span = usual * 500 * 4
        shifted = [part.set_column(0, "ts", _later(part["ts"], span)) for part in storm]
        write(base / name, calm + shifted)
    shed = None if peer == "no bound" else wm.Shed(budget=wm.per_batch(peer))
    left, right = (stream(spark, base / name) for name in SIDES)
    frame = join(left, right, on=wm.overlap("items", at_least=5), window="20s", shed=shed)
    found, query = timed(spark, frame, base / "out", provider=ROCKSDB)
    seen = [p.observedMetrics["watersmeet:join"] for p in query.recentProgress if p.numInputRows > 0]
    whole = metrics(query).recall
    return found | {
        "join_s": [_longest(row["buckets"], "join_us") for row in seen],
        "rows_s": [_longest(row["buckets"], "rows_us") for row in seen],
        "recall": [round(row["total"]["recall"], 3) for row in seen],
        "recall_so_far": [round(share, 3) for share in (whole.value, whole.low, whole.high)],
    }


def _later(times: Any, by_us: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.add(times.cast(pa.int64()), by_us).cast(times.type)


def _longest(buckets: Any, counter: str) -> float:
    """The seconds of a micro-batch's work: two cores, four buckets."""
    cores = [0, 0]
    for us in sorted((bucket[counter] for bucket in buckets), reverse=True):
        cores[cores.index(min(cores))] += us
    return round(max(cores) / 1e6, 2)
