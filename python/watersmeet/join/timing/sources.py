"""The streams of a join of several on their way in: order, lateness, idleness and ends, all together.

A call to the join becomes a value, Moves: what goes to the core, and the states of all streams after it. The
engine makes the moves, and keeps the states only if that went well; so a call that fails changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.errors import WatersmeetError
from watersmeet.join.columns.instants import in_unit, instant
from watersmeet.join.columns.late import LateRows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.timing.arrival import (
    Arrival,
    ArrivalState,
    Times,
    finished,
    judge,
    released,
    time_values,
)
from watersmeet.join.timing.pace import Pace
from watersmeet.join.timing.slack import WIDEST
from watersmeet.vocabulary import Lateness, Span, Stream
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Moves", "Ready", "Sources"]

BEFORE_ALL: Final = -(2**63)
AFTER_ALL: Final = 2**63 - 1
_ALWAYS_NS: Final = WIDEST  # a lateness that no row exceeds


@dataclass(frozen=True, slots=True)
class Ready:
    """Rows of one stream that may go to the core, in order, and when they came."""

    stream: int
    batch: pa.RecordBatch
    came: Times


@dataclass(frozen=True, slots=True)
class Moves:
    """What one call comes to."""

    states: tuple[ArrivalState, ...]
    ready: tuple[Ready, ...] = ()
    late: pa.RecordBatch | None = None
    times: Times = field(default_factory=lambda: np.empty(0, np.int64))  # of the rows that came, as they came


class Sources:
    """What each stream has seen, and what is in force for it."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self.streams = tuple(streams)
        self.states: tuple[ArrivalState, ...] = (ArrivalState(),) * len(self.streams)
        self.idle = [False] * len(self.streams)
        self.late = [LateRows() for _ in self.streams]
        self.lateness_ns = [_first_lateness(stream) for stream in self.streams]
        self.schemas: list[StreamSchema | None] = [None] * len(self.streams)

    def pushed(self, stream: int, schema: StreamSchema, batch: pa.RecordBatch, *, pace: Pace | None) -> Moves:
        """A batch came; raises OrderError or SchemaError, having changed nothing."""
        state = self.states[stream].in_steps_of(schema.time_ns)
        lateness = self.lateness_ns[stream] // schema.time_ns
        times = time_values(self.streams[stream], schema, batch)
        newest_ns = int(times.max()) * schema.time_ns if len(times) else BEFORE_ALL
        now_ns = 0 if pace is None else min(max(pace.arriving(newest_ns), BEFORE_ALL), AFTER_ALL)
        arrival = judge(self.streams[stream], schema, state, batch, lateness=lateness, now_ns=now_ns)
        return replace(self._moves(stream, arrival), times=times)

    def promised(self, stream: int, to_ns: int) -> Moves:
        """Nothing older than an instant will come."""
        state, schema = self.states[stream], self.schemas[stream]
        before = state.promised_ns
        state = replace(state, promised_ns=to_ns if before is None else max(to_ns, before))
        if schema is not None:
            state = state.in_steps_of(schema.time_ns)
        return self._moves(stream, Arrival(None, None, None, state))

    def ended(self, stream: int) -> Moves:
        """Nothing will come."""
        state, schema = self.states[stream], self.schemas[stream]
        if schema is None:
            return self._moves(stream, Arrival(None, None, None, replace(state, ended=True)))
        return self._moves(stream, finished(self.streams[stream], schema, state))

    def all_ended(self) -> Moves:
        """Nothing will come of any stream."""
        moves = Moves(self.states)
        for stream in range(len(self.streams)):
            schema = self.schemas[stream]
            state = moves.states[stream]
            arrival = Arrival(None, None, None, replace(state, ended=True))
            if schema is not None:
                arrival = finished(self.streams[stream], schema, state)
            moves = _with(moves, stream, arrival)
        return moves

    def waited(self) -> Moves:
        """Time has passed."""
        return self._followed(Moves(self.states))

    def watermark_ns(self, stream: int, state: ArrivalState) -> int:
        """How far a stream is complete."""
        schema = self.schemas[stream]
        if state.ended:
            return AFTER_ALL
        if schema is None:
            known = [at for at in (state.promised_ns, state.floor_ns) if at is not None]
            return max(known, default=BEFORE_ALL)
        mark = state.watermark(self.lateness_ns[stream] // schema.time_ns, schema.time_ns)
        return BEFORE_ALL if mark == BEFORE_ALL else mark * schema.time_ns

    def newest_ns(self, stream: int) -> int:
        """The largest timestamp or promise of a stream."""
        state, schema = self.states[stream], self.schemas[stream]
        if schema is None:
            return BEFORE_ALL if state.promised_ns is None else state.promised_ns
        return BEFORE_ALL if state.newest is None else state.newest * schema.time_ns

    def promises(self, states: Sequence[ArrivalState], unit_ns: int) -> list[tuple[int, int | None]]:
        """How far each stream is complete, in the join's unit; None: it has ended."""
        found: list[tuple[int, int | None]] = []
        for stream, state in enumerate(states):
            schema = self.schemas[stream]
            mark = self.watermark_ns(stream, state)
            if state.ended:
                found.append((stream, None))
            elif mark > BEFORE_ALL:
                found.append((stream, in_unit(mark, unit_ns, is_known=schema is not None)))
        return found

    def refuse_if_ended(self, stream: int, call: str) -> None:
        """WatersmeetError for a call about a stream that has ended."""
        if self.states[stream].ended:
            name = self.streams[stream].name
            raise WatersmeetError(f"{call}() after finish({name!r}): this stream has ended")

    def moment(self, stream: int, to: Any) -> int:
        """What advance() was given, in nanoseconds: a whole number counts the unit of the time column, or
        time_unit= before that is known.
        """
        schema = self.schemas[stream]
        step_ns = NANOSECONDS[self.streams[stream].time_unit] if schema is None else schema.time_ns
        return instant(to, step_ns=step_ns)

    def low_ns(self, states: Sequence[ArrivalState]) -> int:
        """How far all streams are complete."""
        return min(self.watermark_ns(stream, state) for stream, state in enumerate(states))

    def progress(self, pending: Sequence[int]) -> list[tuple[int, int, int, int, int]]:
        """StreamProgress of each stream in nanoseconds; `pending` rows wait beyond those that wait here."""
        found = []
        for stream, (state, more) in enumerate(zip(self.states, pending, strict=True)):
            mark = self.watermark_ns(stream, state)
            found.append((state.in_time, self.newest_ns(stream), mark, mark, state.waiting_rows + more))
        return found

    def timing(self, stream: int) -> dict[str, Any]:
        """How a stream stands against the others, by the names that statistics have for it."""
        newest = max(self.newest_ns(each) for each in range(len(self.streams)))
        mark = self.watermark_ns(stream, self.states[stream])
        behind = None if mark in (BEFORE_ALL, AFTER_ALL) else max(0, newest - mark) / 1e9
        return {"idle": self.idle[stream], "behind_s": behind}

    def keep_late(self, stream: int, late: pa.RecordBatch | None) -> None:
        """Late rows stay, where the stream asks for it."""
        if late is not None and self.streams[stream].on_late == "keep":
            self.late[stream].keep(late, np.arange(late.num_rows))

    def taken_late(self, stream: int) -> pa.Table:
        """The late rows kept since the last call."""
        schema = self.schemas[stream]
        kept = self.late[stream].table(None if schema is None else schema.schema)
        self.late[stream].clear()
        return kept

    def _moves(self, stream: int, arrival: Arrival) -> Moves:
        return self._followed(_with(Moves(self.states, late=arrival.late), stream, arrival))

    def _followed(self, moves: Moves) -> Moves:
        """Let idle streams follow the others, and rows go on that are in order by now.

        When nobody is left to follow, what has come is all there is.
        """
        marks = [self.watermark_ns(stream, state) for stream, state in enumerate(moves.states)]
        ended = [state.ended for state in moves.states]
        live = [mark for mark, idle, over in zip(marks, self.idle, ended, strict=True) if not (idle or over)]
        newest = max(
            (_newest_ns(state, schema) for state, schema in zip(moves.states, self.schemas, strict=True)),
            default=BEFORE_ALL,
        )
        everything = newest if newest == BEFORE_ALL else newest + 1
        followed = min(live) if live else everything
        for stream, idle in enumerate(self.idle):
            state = moves.states[stream]
            if idle and not state.ended and followed > marks[stream]:
                state = replace(state, floor_ns=followed)
                moves = replace(moves, states=_placed(moves.states, stream, state))
            schema = self.schemas[stream]
            if schema is not None and isinstance(self.streams[stream].lateness, Lateness):
                lateness = self.lateness_ns[stream] // schema.time_ns
                state = replace(state, reached=state.watermark(lateness, schema.time_ns))
                moves = replace(moves, states=_placed(moves.states, stream, state))
            if schema is not None and state.waiting is not None and not state.ended:
                lateness = self.lateness_ns[stream] // schema.time_ns
                arrival = released(self.streams[stream], schema, state, lateness=lateness)
                if arrival.ready is not None:
                    moves = _with(moves, stream, arrival)
        return moves

    # --- snapshots -----------------------------------------------------------------------------------------

    def plain(self) -> list[dict[str, Any]]:
        """The states as numbers and lists; waiting rows are told apart (waiting())."""
        return [
            {
                "rows": [state.rows, state.bad_rows, state.late_rows],
                "newest": state.newest,
                "promised": state.promised_ns,
                "floor": state.floor_ns,
                "reached": state.reached,
                "came": None if state.came is None else state.came.tolist(),
                "ended": state.ended,
                "idle": idle,
                "lateness": lateness,
            }
            for state, idle, lateness in zip(self.states, self.idle, self.lateness_ns, strict=True)
        ]

    def waiting(self) -> list[pa.RecordBatch | None]:
        """The rows of each stream that are not in order yet."""
        return [state.waiting for state in self.states]

    def resume(self, plain: list[dict[str, Any]], waiting: Sequence[pa.RecordBatch | None]) -> None:
        """Go on from what plain() and waiting() gave."""
        self.states = tuple(
            ArrivalState(
                rows=one["rows"][0],
                bad_rows=one["rows"][1],
                late_rows=one["rows"][2],
                newest=one["newest"],
                promised_ns=one["promised"],
                floor_ns=one["floor"],
                reached=one["reached"],
                waiting=batch,
                came=None if one["came"] is None else np.array(one["came"], np.int64),
                ended=one["ended"],
            )
            for one, batch in zip(plain, waiting, strict=True)
        )
        self.idle = [one["idle"] for one in plain]
        self.lateness_ns = [one["lateness"] for one in plain]


def _first_lateness(stream: Stream) -> int:
    """The lateness before anything is known: where it is to be found, as wide as allowed."""
    lateness = stream.lateness
    if isinstance(lateness, Lateness):
        return _ALWAYS_NS if lateness.at_most is None else lateness.at_most.amount
    return lateness.amount if isinstance(lateness, Span) else 0


def _newest_ns(state: ArrivalState, schema: StreamSchema | None) -> int:
    if schema is None or state.newest is None:
        return BEFORE_ALL if state.promised_ns is None else state.promised_ns
    return state.newest * schema.time_ns


def _with(moves: Moves, stream: int, arrival: Arrival) -> Moves:
    states = _placed(moves.states, stream, arrival.state)
    if arrival.ready is None or arrival.came is None:
        return replace(moves, states=states)
    ready = Ready(stream, arrival.ready, arrival.came)
    return replace(moves, states=states, ready=(*moves.ready, ready))


def _placed(states: tuple[ArrivalState, ...], stream: int, state: ArrivalState) -> tuple[ArrivalState, ...]:
    return (*states[:stream], state, *states[stream + 1 :])
