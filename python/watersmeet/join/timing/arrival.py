"""One stream of several on its way into a join: timeless rows counted, order checked, late rows judged, and
rows that may be out of order held until they can go on in order.

Pure steps from state to state; times are in the unit of the stream's time column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import OrderError, SchemaError
from watersmeet.join.columns.instants import in_unit
from watersmeet.join.columns.layouts import rewritten
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.vocabulary import Stream

__all__ = ["Arrival", "ArrivalState", "Times", "finished", "judge", "released", "time_values"]

_LOWEST: Final = -(2**63)
Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ArrivalState:
    """What a stream has seen.

    newest        the largest timestamp in time, or promise
    promised_ns   a promise made before the unit of its times was known
    floor_ns      how far the others went on without it while it was idle: what is older now is late
    reached       the furthest watermark so far: a lateness that grows does not take it back
    waiting       rows admitted and too young to be in order yet
    came          when these came, in nanoseconds of the join's clock
    """

    rows: int = 0
    bad_rows: int = 0
    late_rows: int = 0
    newest: int | None = None
    promised_ns: int | None = None
    floor_ns: int | None = None
    reached: int = _LOWEST
    waiting: pa.RecordBatch | None = None
    came: Times | None = None
    ended: bool = False

    def in_steps_of(self, step_ns: int) -> ArrivalState:
        """The state once the unit of the stream's times is known."""
        if self.promised_ns is None:
            return self
        promised = in_unit(self.promised_ns, step_ns, is_known=True)
        newest = promised if self.newest is None else max(promised, self.newest)
        return replace(self, newest=newest, promised_ns=None)

    def floor(self, step_ns: int) -> int:
        """What is older is late, whatever the lateness now."""
        if self.floor_ns is None:
            return self.reached
        return max(self.reached, in_unit(self.floor_ns, step_ns, is_known=True))

    def watermark(self, lateness: int, step_ns: int) -> int:
        """Nothing older will be admitted."""
        mark = _LOWEST if self.newest is None else max(_LOWEST, self.newest - lateness)
        return max(mark, self.floor(step_ns))

    @property
    def in_time(self) -> int:
        """Rows that are joined, or will be."""
        return self.rows - self.bad_rows - self.late_rows

    @property
    def waiting_rows(self) -> int:
        """Rows that are not in order yet."""
        return 0 if self.waiting is None else self.waiting.num_rows


@dataclass(frozen=True, slots=True)
class Arrival:
    """What becomes of a push: rows that go on, in order, and when they came; late rows; the state after."""

    ready: pa.RecordBatch | None
    came: Times | None
    late: pa.RecordBatch | None
    state: ArrivalState


def judge(
    stream: Stream,
    schema: StreamSchema,
    state: ArrivalState,
    batch: pa.RecordBatch,
    *,
    lateness: int,
    now_ns: int,
) -> Arrival:
    """Take a batch in; raises OrderError or SchemaError, having changed nothing. Rows of a stream with a
    lateness wait for released().
    """
    count = batch.num_rows
    times = _times(stream, schema, batch)
    bad = times.null_count
    if bad:
        batch = batch.filter(times.is_valid())
        times = times.drop_null()
    values = np.asarray(times)
    state = replace(state, rows=state.rows + count, bad_rows=state.bad_rows + bad)
    if not len(values):
        return Arrival(None, None, None, state)
    late = _late(stream, state, values, lateness=lateness, floor=state.floor(schema.time_ns))
    kept = values[~late] if late.any() else values
    admitted = batch.filter(pa.array(~late)) if late.any() else batch
    if len(kept):
        newest = int(kept.max())
        state = replace(state, newest=newest if state.newest is None else max(newest, state.newest))
    came = np.full(len(kept), now_ns, np.int64)
    if stream.lateness is None:
        ready = admitted if len(kept) else None
        arrival = Arrival(ready, came, None, state)
    else:
        arrival = Arrival(None, None, None, _joined(state, admitted, came))
    if not late.any():
        return arrival
    moved = replace(arrival.state, late_rows=state.late_rows + int(late.sum()))
    return Arrival(arrival.ready, arrival.came, batch.filter(pa.array(late)), moved)


def released(stream: Stream, schema: StreamSchema, state: ArrivalState, *, lateness: int) -> Arrival:
    """Rows up to the watermark go on, by time, then by arrival; those with the watermark's own time may,
    since whatever has the same time comes after them.
    """
    if state.waiting is None:
        return Arrival(None, None, None, state)
    mark = state.watermark(lateness, schema.time_ns)
    values = time_values(stream, schema, state.waiting)
    order = np.argsort(values, kind="stable")
    count = int(np.searchsorted(values[order], mark, side="right"))
    return _split(state, order[:count], np.sort(order[count:]))


def finished(stream: Stream, schema: StreamSchema, state: ArrivalState) -> Arrival:
    """The stream has ended: everything that waits goes on."""
    state = replace(state, ended=True)
    if state.waiting is None:
        return Arrival(None, None, None, state)
    order = np.argsort(time_values(stream, schema, state.waiting), kind="stable")
    return _split(state, order, order[:0])


def time_values(stream: Stream, schema: StreamSchema, batch: pa.RecordBatch) -> Times:
    """The timestamps of the rows that have one, in the unit of their column."""
    return np.asarray(_times(stream, schema, batch).drop_null())


def _times(stream: Stream, schema: StreamSchema, batch: pa.RecordBatch) -> pa.Array:
    try:
        column = rewritten(batch.column(schema.schema.get_field_index(stream.time)), schema.time_kind)
        return column.cast(pa.int64())
    except pa.ArrowException as error:
        raise SchemaError(f"stream {stream.name!r}: column {stream.time!r}: {error}") from error


def _late(
    stream: Stream, state: ArrivalState, values: Times, *, lateness: int, floor: int
) -> npt.NDArray[np.bool_]:
    """Which rows are late; OrderError for rows out of order where none may be, or where late ones raise."""
    newest = _LOWEST if state.newest is None else state.newest
    if stream.lateness is None:
        late = values < floor
        _check_order(stream, newest, values, late)
        limit = np.full(len(values), floor) if late.any() else values
    else:
        seen = np.maximum.accumulate(np.concatenate([[newest], values]))[:-1]
        limit = np.maximum(np.where(seen < _LOWEST + lateness, _LOWEST, seen - lateness), floor)
        late = values < limit
    if stream.on_late == "raise" and late.any():
        row = int(np.flatnonzero(late)[0])
        why = f"lateness={stream.lateness}"
        if state.floor_ns is not None and limit[row] == floor:
            why = "the others went on while it was idle"
        raise OrderError(
            f"stream {stream.name!r}: column {stream.time!r}: {values[row]} is late: the stream is complete"
            f" up to {limit[row]} ({why}); on_late='raise'"
        )
    return late


def _check_order(stream: Stream, newest: int, values: Times, late: npt.NDArray[np.bool_]) -> None:
    """Late rows may be in any order, but not behind what the stream itself had reached."""
    reached = np.where(late, newest, values)
    before = np.concatenate([[newest], np.maximum.accumulate(reached)[:-1]])
    fault = np.flatnonzero(values < np.where(late, newest, before))
    if len(fault):
        row = int(fault[0])
        raise OrderError(
            f"stream {stream.name!r}: column {stream.time!r}: {values[row]} comes after {before[row]};"
            " rows must be in timestamp order, or the stream given a lateness"
        )


def _joined(state: ArrivalState, admitted: pa.RecordBatch, came: Times) -> ArrivalState:
    if state.waiting is None or state.came is None:
        return replace(state, waiting=admitted, came=came) if admitted.num_rows else state
    batches = pa.Table.from_batches([state.waiting, admitted]).combine_chunks().to_batches()
    return replace(state, waiting=batches[0], came=np.concatenate([state.came, came]))


def _split(state: ArrivalState, ready: Times, left: Times) -> Arrival:
    waiting, came = state.waiting, state.came
    assert waiting is not None
    assert came is not None
    if len(left):
        state = replace(state, waiting=waiting.take(pa.array(left)), came=came[left])
    else:
        state = replace(state, waiting=None, came=None)
    if not len(ready):
        return Arrival(None, None, None, state)
    return Arrival(waiting.take(pa.array(ready)), came[ready], None, state)
