"""The stateful operator on a worker: Spark's state store behind a bucket, blobs in, blobs and counts out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from watersmeet.spark.blobs import from_blob, pieces, to_blob
from watersmeet.spark.bucket import Done, apply, described
from watersmeet.spark.counts import COUNTERS, GAUGES, MEASURES
from watersmeet.spark.request import Request
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["RESULT_DDL", "Operator"]

RESULT_DDL: Final = ", ".join(
    (
        "label int",
        "data binary",
        *(f"{name} long" for name in COUNTERS),
        *(f"{name} double" for name in MEASURES),
    )
)
_MOST_BYTES: Final = 1 << 23  # of a blob of results


class SparkStore:
    """A bucket's state in Spark's state store: the index as one value, the segments as a map."""

    def __init__(self, handle: Any) -> None:
        self._index = handle.getValueState("index", "text string")
        self._segments = handle.getMapState("segments", "number long", "data binary")

    def index(self) -> str | None:
        """The index as it was last put; None at the start."""
        held = self._index.get()
        return None if held is None else held[0]

    def put_index(self, text: str) -> None:
        """Replace the index."""
        self._index.update((text,))

    def segment(self, number: int) -> bytes:
        """The bytes of a segment."""
        return bytes(self._segments.getValue((number,))[0])

    def put_segment(self, number: int, data: bytes) -> None:
        """Add a segment."""
        self._segments.updateValue((number,), (data,))

    def drop_segment(self, number: int) -> None:
        """Remove a segment."""
        self._segments.removeKey((number,))


class Operator:
    """Joins the micro-batches of the buckets that one task is given."""

    def __init__(self, request: Request, handle: Any) -> None:
        self._request, self._handle = request, handle
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
        yield self._applied(label, arrived, clock, bad)

    def timer(self, label: int, clock: Any, expired: Any) -> Iterator[pd.DataFrame]:
        """The watermark has passed a moment that this bucket waited for."""
        del expired
        yield self._applied(label, [], clock, 0, fired=True)

    def _applied(
        self,
        label: int,
        arrived: list[tuple[int, int, pa.Table]],
        clock: Any,
        bad: int,
        *,
        fired: bool = False,
    ) -> pd.DataFrame:
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
        return _frame(int(label), done, bad)

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


def _frame(label: int, done: Done, bad: int) -> pd.DataFrame:
    """Results as blobs; the first row carries the counters."""
    blobs: list[bytes | None] = []
    if done.tables:
        for piece in pieces(pa.concat_tables(done.tables), most_bytes=_MOST_BYTES):
            blobs.append(to_blob(piece))
    rows = max(1, len(blobs))
    counts = done.counts | {"bad_rows": bad}
    columns: dict[str, Any] = {"label": [label] * rows, "data": blobs or [None]}
    for names, kind in ((COUNTERS, "Int64"), (MEASURES, "Float64")):
        for name in names:  # the other rows have none: null, which sums leave out
            columns[name] = pd.array([counts.get(name, 0), *[None] * (rows - 1)], dtype=kind)
    return pd.DataFrame(columns).astype({"label": "int32"})
