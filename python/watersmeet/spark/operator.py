"""The stateful operator on a worker: Spark's state store behind a bucket; blobs in, results out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from watersmeet.spark.blobs import from_blob, pieces
from watersmeet.spark.bucket import Done, apply, described
from watersmeet.spark.counts import COUNTERS, GAUGES, MEASURES
from watersmeet.spark.frames import frame_of
from watersmeet.spark.request import Request
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Operator", "result_type"]

_KEY: Final = StructType([StructField("number", LongType())])
_VALUE: Final = StructType([StructField("data", BinaryType())])
_INDEX: Final = -1  # its number in the map
_MOST_BYTES: Final = 1 << 22  # of a cell of results


def result_type(results: StructType) -> StructType:
    """What the operator gives: counters, and cells of many results each: what follows it sees few rows.

    Counters come as two arrays: each column of a frame takes its time on the way to Spark.
    """
    return StructType(
        [
            StructField("label", IntegerType()),
            StructField("data", ArrayType(results)),
            StructField("counters", ArrayType(LongType())),
            StructField("measures", ArrayType(DoubleType())),
        ]
    )


class SparkStore:
    """A bucket's state in Spark's state store: one map, since making each variable takes calls."""

    def __init__(self, handle: Any) -> None:
        self._entries = handle.getMapState("log", _KEY, _VALUE)

    def index(self) -> str | None:
        """The index as it was last put; None at the start."""
        if not self._entries.containsKey((_INDEX,)):  # to ask for what is not there makes Spark warn
            return None
        return bytes(self._entries.getValue((_INDEX,))[0]).decode()

    def put_index(self, text: str) -> None:
        """Replace the index."""
        self._entries.updateValue((_INDEX,), (text.encode(),))

    def entry(self, number: int) -> bytes:
        """The bytes of an entry."""
        return bytes(self._entries.getValue((number,))[0])

    def put_entry(self, number: int, data: bytes) -> None:
        """Add an entry."""
        self._entries.updateValue((number,), (data,))

    def drop_entry(self, number: int) -> None:
        """Remove an entry."""
        self._entries.removeKey((number,))


class Operator:
    """Joins the micro-batches of the buckets that one task is given."""

    def __init__(self, request: Request, results: pa.Schema, handle: Any) -> None:
        self._request, self._results, self._handle = request, results, handle
        self._store = SparkStore(handle)
        self._signature = described(request)
        self._reported: dict[int, dict[str, float]] = {}

    def rows(self, label: int, frames: Iterable[pd.DataFrame], clock: Any) -> Iterator[pd.DataFrame]:
        """A micro-batch with rows for this bucket."""
        arrived, bad = [], 0
        for frame in frames:
            bad += int(frame["bad_rows"].sum())
            for side, role, data in zip(frame["side"], frame["role"], frame["data"], strict=True):
                arrived.append((int(side), int(role), from_blob(data)))
        yield from self._applied(label, arrived, clock, bad)

    def timer(self, label: int, clock: Any, expired: Any) -> Iterator[pd.DataFrame]:
        """The watermark has passed a moment that this bucket waited for."""
        del expired
        yield from self._applied(label, [], clock, 0, fired=True)

    def _applied(
        self,
        label: int,
        arrived: list[tuple[int, int, pa.Table]],
        clock: Any,
        bad: int,
        *,
        fired: bool = False,
    ) -> Iterator[pd.DataFrame]:
        done = apply(
            self._request,
            self._store,
            owner=self._request.identity,
            label=int(label),
            signature=self._signature,
            arrived=arrived,
            watermark=self._watermark(clock),
        )
        self._set_timer(done, fired=fired)
        self._count_once(int(label), done.counts)
        return _frames(self._results, int(label), done, bad)

    def _set_timer(self, done: Done, *, fired: bool) -> None:
        """One timer per bucket: the old one would only call again for what has been seen to."""
        if done.timer == done.timer_before and not fired:
            return
        if done.timer_before is not None and not fired:
            self._handle.deleteTimer(done.timer_before)
        if done.timer is not None:
            self._handle.registerTimer(done.timer)

    def _count_once(self, label: int, counts: dict[str, float]) -> None:
        """State is what there is, and Spark adds up: a second call in one batch reports the change only."""
        now = {name: counts[name] for name in GAUGES}
        for name, before in self._reported.get(label, {}).items():
            counts[name] -= before
        self._reported[label] = now

    def _watermark(self, clock: Any) -> int | None:
        """Spark's watermark in the join's unit; None before there is one."""
        milliseconds = clock.getCurrentWatermarkInMs()
        return (
            milliseconds * (NANOSECONDS["ms"] // NANOSECONDS[self._request.unit])
            if milliseconds > 0
            else None
        )


def _frames(results: pa.Schema, label: int, done: Done, bad: int) -> Iterator[pd.DataFrame]:
    """One row of many results after the other; the first carries the counters."""
    counts = done.counts | {"bad_rows": bad}
    counters: list[int] | None = [int(counts.get(name, 0)) for name in COUNTERS]
    measures: list[float] | None = [float(counts.get(name, 0)) for name in MEASURES]
    tables = done.tables or [results.empty_table()]
    for piece in pieces(pa.concat_tables(tables), most_bytes=_MOST_BYTES):
        cell = pa.StructArray.from_arrays(
            [_one_array(column) for column in piece.cast(results).columns], fields=list(results)
        )
        yield frame_of(
            {
                "label": pa.array([label], pa.int32()),
                "data": pa.ListArray.from_arrays(pa.array([0, len(cell)], pa.int32()), cell),
                "counters": pa.array([counters], pa.list_(pa.int64())),
                "measures": pa.array([measures], pa.list_(pa.float64())),
            }
        )
        counters = measures = None  # null, which sums leave out


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
