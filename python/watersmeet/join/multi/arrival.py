"""One stream on its way into a tree of joins: timeless rows counted, order checked, late rows judged, and
rows that may be out of order held until they can go on in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import OrderError, SchemaError
from watersmeet.join.columns.layouts import rewritten
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.vocabulary import Span, Stream

__all__ = ["Arrival", "ArrivalState", "judge", "promised"]

_LOWEST: Final = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class ArrivalState:
    """What a stream has seen; times are in the unit of its time column."""

    rows: int = 0
    bad_rows: int = 0
    late_rows: int = 0
    newest: int | None = None  # the largest timestamp or promise
    waiting: pa.RecordBatch | None = None  # admitted, and too young to be in order yet

    def watermark(self, lateness: int) -> int | None:
        """Nothing older will be admitted."""
        return None if self.newest is None else max(_LOWEST, self.newest - lateness)


@dataclass(frozen=True, slots=True)
class Arrival:
    """What becomes of a push: rows that go on, in order; late rows; and the state afterwards."""

    ready: pa.RecordBatch
    late: pa.RecordBatch | None
    state: ArrivalState


def judge(stream: Stream, schema: StreamSchema, state: ArrivalState, batch: pa.RecordBatch) -> Arrival:
    """Take a batch in; raises OrderError or SchemaError, having changed nothing."""
    count = batch.num_rows
    times = _times(stream, schema, batch)
    bad = times.null_count
    if bad:
        batch = batch.filter(times.is_valid())
        times = times.drop_null()
    values = np.asarray(times)
    state = ArrivalState(
        state.rows + count, state.bad_rows + bad, state.late_rows, state.newest, state.waiting
    )
    if stream.lateness is None:
        return Arrival(batch, None, _in_order(stream, state, values))
    return _reordered(stream, schema, state, batch, values)


def promised(stream: Stream, schema: StreamSchema, state: ArrivalState, to: int) -> Arrival:
    """The same for a promise that nothing older than `to` will come."""
    newest = to if state.newest is None else max(state.newest, to)
    moved = ArrivalState(state.rows, state.bad_rows, state.late_rows, newest, state.waiting)
    if stream.lateness is None or state.waiting is None:
        return Arrival(_nothing(schema), None, moved)
    return _released(stream, schema, moved, state.waiting)


def lateness_of(stream: Stream, schema: StreamSchema) -> int:
    """The stream's lateness in the unit of its time column."""
    return stream.lateness.amount // schema.time_ns if isinstance(stream.lateness, Span) else 0


def _times(stream: Stream, schema: StreamSchema, batch: pa.RecordBatch) -> pa.Array:
    try:
        column = rewritten(batch.column(schema.schema.get_field_index(stream.time)), schema.time_kind)
        return column.cast(pa.int64())
    except pa.ArrowException as error:
        raise SchemaError(f"stream {stream.name!r}: column {stream.time!r}: {error}") from error


def _in_order(stream: Stream, state: ArrivalState, values: npt.NDArray[np.int64]) -> ArrivalState:
    if len(values) == 0:
        return state
    floor = _LOWEST if state.newest is None else state.newest
    before = np.concatenate([[floor], values[:-1]])
    fault = np.flatnonzero(values < before)
    if len(fault):
        row = int(fault[0])
        raise OrderError(
            f"stream {stream.name!r}: column {stream.time!r}: {values[row]} comes after {before[row]};"
            " rows must be in timestamp order, or the stream given a lateness"
        )
    return ArrivalState(state.rows, state.bad_rows, state.late_rows, int(values[-1]), state.waiting)


def _reordered(
    stream: Stream,
    schema: StreamSchema,
    state: ArrivalState,
    batch: pa.RecordBatch,
    values: npt.NDArray[np.int64],
) -> Arrival:
    if len(values) == 0:
        return Arrival(_nothing(schema), None, state)
    lateness = lateness_of(stream, schema)
    floor = _LOWEST if state.newest is None else state.newest
    seen = np.maximum.accumulate(np.concatenate([[floor], values]))
    limit = np.where(seen[:-1] < _LOWEST + lateness, _LOWEST, seen[:-1] - lateness)
    late = values < limit
    if late.any() and stream.on_late == "raise":
        row = int(np.flatnonzero(late)[0])
        raise OrderError(
            f"stream {stream.name!r}: column {stream.time!r}: {values[row]} is late, {limit[row]} was the"
            f" oldest that lateness={stream.lateness} allows"
        )
    admitted = batch.filter(pa.array(~late)) if late.any() else batch
    waiting = _joined(state.waiting, admitted)
    moved = ArrivalState(
        state.rows, state.bad_rows, state.late_rows + int(late.sum()), int(seen[-1]), state.waiting
    )
    arrival = _released(stream, schema, moved, waiting)
    return Arrival(arrival.ready, batch.filter(pa.array(late)) if late.any() else None, arrival.state)


def _released(stream: Stream, schema: StreamSchema, state: ArrivalState, waiting: pa.RecordBatch) -> Arrival:
    """Rows up to the watermark go on, by time, then by arrival; those with the watermark's own time may,
    since whatever has the same time comes after them.
    """
    values = np.asarray(_times(stream, schema, waiting))
    mark = state.watermark(lateness_of(stream, schema))
    order = np.argsort(values, kind="stable")
    count = int(np.searchsorted(values[order], _LOWEST if mark is None else mark, side="right"))
    ready = waiting.take(pa.array(order[:count]))
    left = waiting.take(pa.array(np.sort(order[count:]))) if count < len(order) else None
    return Arrival(ready, None, ArrivalState(state.rows, state.bad_rows, state.late_rows, state.newest, left))


def finished(stream: Stream, schema: StreamSchema, state: ArrivalState) -> Arrival:
    """Everything that waits goes on."""
    if state.waiting is None:
        return Arrival(_nothing(schema), None, state)
    order = np.argsort(np.asarray(_times(stream, schema, state.waiting)), kind="stable")
    moved = ArrivalState(state.rows, state.bad_rows, state.late_rows, state.newest)
    return Arrival(state.waiting.take(pa.array(order)), None, moved)


def _joined(one: pa.RecordBatch | None, other: pa.RecordBatch) -> pa.RecordBatch:
    if one is None:
        return other
    batches = pa.Table.from_batches([one, other]).combine_chunks().to_batches()
    return batches[0] if batches else other


def _nothing(schema: StreamSchema) -> pa.RecordBatch:
    arrays = [pa.array([], kind) for kind in schema.schema.types]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.schema)
