"""Scenarios without a peer: what a micro-batch costs at least, a rebuild, and a burst within a bound."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import watersmeet as wm
from bench.spark.inputs import SIDES, keyed, sets, stream, write
from bench.spark.queries import ROCKSDB, timed


def overhead(spark: Any, base: Path, options: Any) -> dict[str, Any]:
    """Ten rows per side and micro-batch: an empty stateful query, one of the join's shape, and the join."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    from watersmeet.spark import join

    for side, name in enumerate(SIDES):
        write(base / name, keyed(side, 10, 14))

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

    def stateful(frame: Any) -> Any:
        labelled = frame.selectExpr("int(key % 4) label", "value")
        return labelled.groupBy("label").transformWithStateInPandas(Empty(), "n long", "append", "None")

    def empty() -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        return stateful(left.unionByName(right))

    def shape() -> Any:
        left, right = (through(stream(spark, base / name)) for name in SIDES)
        return through(stateful(left.unionByName(right)))

    def ours() -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        return join(left, right, on=wm.equal("key"), window="10s")

    out: dict[str, Any] = {}
    for turn in range(2):  # the first warms up
        for name, make in (("empty", empty), ("same shape", shape), ("join", ours)):
            durations = timed(spark, make, base / f"{name}{turn}", provider=ROCKSDB, skip=3)[0]["batch_ms"]
            out[name] = statistics.median(durations[3:])
    print("\noverhead: median milliseconds of a micro-batch of 20 rows")
    for name, median in out.items():
        print(f"{name:18}{median:>8.0f}   over the empty query {median - out['empty']:>6.0f}", flush=True)
    return out


def rebuild(options: Any, rows: int = 1_000_000) -> dict[str, Any]:
    """A million rows in a bucket's log, and a worker that knows nothing (no Spark: the worker's own code)."""
    from tests.spark.by_hand import Query, request

    from watersmeet.spark import bucket

    del options
    out = {}
    for name, on, parts in (
        ("equal", wm.equal("key"), [keyed(side, rows // 10, 5) for side in (0, 1)]),
        ("overlap", wm.overlap("items", at_least=5), [sets(side, rows // 10, 5) for side in (0, 1)]),
    ):
        width = 10**9  # everything stays
        asked = request(
            parts[0][0], parts[1][0], on=on, by="one", labels=(0,), lower=-width, upper=width, width=width
        )
        query = Query(asked, delay=0)
        store = query.stores[0]
        from watersmeet.spark.segments import Log

        log = Log(asked, store, "")
        for left, right in zip(*parts, strict=True):
            for side, table in enumerate((left, right)):
                log.append(side, 0, table, int(table["ts"][-1].value))
        log.commit()
        store.commit()
        nothing = parts[0][0].slice(0, 0)
        bucket.forget()
        began = time.perf_counter()
        query.batch(nothing, nothing)
        out[name] = round(time.perf_counter() - began, 2)
        assert query.counts["rebuilds"] == 1
    print(f"\nrebuild of {rows:,} rows from the log, in seconds: {out}", flush=True)
    return out


def burst(spark: Any, base: Path, options: Any) -> dict[str, Any]:
    """Sets with five times the rows per micro-batch from the sixth on, with a bound and without."""
    from watersmeet.spark import join

    usual = options.rows // 5
    for side, name in enumerate(SIDES):
        calm = sets(side, usual, 5, per_s=1000)
        storm = sets(side + 2, 5 * usual, 7, per_s=5000)
        span = usual * 1000 * 5
        shifted = [part.set_column(0, "ts", _later(part["ts"], span)) for part in storm]
        write(base / name, calm + shifted)

    def made(shed: wm.Shed | None) -> Any:
        left, right = (stream(spark, base / name) for name in SIDES)
        return join(left, right, on=wm.overlap("items", at_least=5), window="20s", shed=shed)

    out: dict[str, Any] = {}
    for name, shed in (("no bound", None), (options.bound, wm.Shed(budget=wm.per_batch(options.bound)))):
        found, query = timed(spark, lambda s=shed: made(s), base / name, provider=ROCKSDB, skip=1)
        seen = [p.observedMetrics["watersmeet:join"] for p in query.recentProgress if p.numInputRows > 0]
        out[name] = {
            "pairs": found["pairs"],
            "join_s": [_longest(row) for row in seen],
            "recall": [round(row["recall"], 3) for row in seen],
        }
    truth = out[options.bound]["pairs"] / out["no bound"]["pairs"]
    print(f"\nburst: 5 x the rows from the sixth micro-batch on; bound {options.bound} on the join's time")
    for name, result in out.items():
        print(f"{name:10} join seconds {result['join_s']}\n{'':10} recall {result['recall']}")
    print(f"{'':10} true recall over all {truth:.3f}", flush=True)
    return out


def _later(times: Any, by_us: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.add(times.cast(pa.int64()), by_us).cast(times.type)


def _longest(row: Any) -> float:
    """The time of a micro-batch's joins: two cores, four buckets."""
    took = sorted((bucket["join_us"] for bucket in row["buckets"]), reverse=True)
    cores = [0, 0]
    for us in took:
        cores[cores.index(min(cores))] += us
    return round(max(cores) / 1e6, 2)
