"""How a join keeps time: who is idle, who holds whom back, how long results took, and what follows from it.

Around every call the engine says begin() and end(). The clock is, in this order: the one that the join was
given (live); the arrival times that push(at=) names; else stream time, the newest timestamp seen so far. In
stream time a whole batch arrives at once, so a stream is found idle by the push after the one that moved time
on: two streams pushed in turn, in batches of any length, are never idle.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from watersmeet.errors import ConfigError
from watersmeet.join.columns.payload import Rows
from watersmeet.join.timing.ordering import OrderSwitch
from watersmeet.join.timing.response import ArrivalLog, ResponseHistogram, sample_of
from watersmeet.join.timing.slack import Slack
from watersmeet.vocabulary import AdaptiveOrder, ChoiceMade, Lateness, Order, Span, Stream

__all__ = ["Clock", "Pace", "Paced", "Progress", "StreamProgress", "paced"]

Clock = Callable[[], float]

_LOWEST: Final = -(2**63)
_MOST_DECISIONS: Final = 32
_FORGET_EVERY: Final = 128  # calls between looks at which arrivals nobody can ask for any more


class StreamProgress(NamedTuple):
    """How far a stream has come; times are in the unit of its Progress, the lowest for never."""

    in_time: int  # rows that were not bad or late
    newest: int  # row or promise
    watermark: int
    low: int  # up to which it is processed
    waiting: int  # rows


class Progress(NamedTuple):
    """What the pace looks at after every call."""

    held: int
    held_bytes: int
    streams: Sequence[tuple[int, int, int, int, int]]  # StreamProgress, or a tuple like it


class Paced(Protocol):
    """A join whose time is kept."""

    @property
    def pushed(self) -> list[int]:
        """Rows of each stream so far."""

    def progress(self) -> tuple[Progress, int] | None:
        """How far it has come, and the nanoseconds of its unit of time; None before there is anything."""

    def adjust(self, what: str, side: int, value: int) -> None:
        """Change "idle", "synchronised" or "lateness" (in nanoseconds), from the next call on."""

    def due(self) -> int:
        """Pairs of rows that were to be decided so far."""

    def first_needed(self, side: int) -> int:
        """No result still to come has an older row of the stream."""


def paced(
    streams: tuple[Stream, ...],
    order: Order,
    *,
    clock: Clock | None,
    windows_s: tuple[float, float],
    memory_limit: int | None = None,
) -> Pace | None:
    """The pace of a join of two streams in which anything can wait; None where results and rows go as they
    come.
    """
    waits = order is not None or any(
        stream.lateness is not None or stream.idle_timeout is not None for stream in streams
    )
    return Pace(streams, order, clock, windows_s, memory_limit) if waits else None


class Pace:
    """The time-keeping of one join. Moments are nanoseconds of its clock."""

    def __init__(
        self,
        streams: tuple[Stream, ...],
        order: Order,
        clock: Clock | None,
        windows_s: tuple[float, float],
        memory_limit: int | None,
    ) -> None:
        self._streams = streams
        self._order = order
        self._clock = clock
        self._stopwatch: Clock = time.process_time  # of all threads; what else the machine does is no cost
        self._timeouts = [None if s.idle_timeout is None else s.idle_timeout.amount for s in streams]
        self._has_timeouts = any(timeout is not None for timeout in self._timeouts)
        self._counted = 0  # calls that released results
        self._now: int | None = None if clock is None else round(clock() * 1e9)
        self._is_told = False  # whether push(at=) names arrival times
        self._active: list[int | None] = [self._now] * len(streams)  # when each last brought anything
        self._in_time = [0] * len(streams)
        self._newest = [_LOWEST] * len(streams)
        self.idle = [False] * len(streams)
        self._blocked_by: int | None = None
        self._blocked_at: int | None = None  # the blocker's watermark, which stands still
        self._blocked_since = 0
        self._arrivals = tuple(ArrivalLog() for _ in streams)
        self._responses = ResponseHistogram()
        self._decisions: deque[ChoiceMade] = deque(maxlen=_MOST_DECISIONS)
        self.switch = (
            OrderSwitch(order, streams=len(streams), windows_s=windows_s, memory_limit=memory_limit)
            if isinstance(order, AdaptiveOrder)
            else None
        )
        self.slacks = [
            Slack(stream.lateness) if isinstance(stream.lateness, Lateness) else None for stream in streams
        ]
        self._undo: tuple[Any, ...] = ()
        self._started_s = 0.0
        self._pushed = [0] * len(streams)
        self._noted = [False] * len(streams)  # whether the engine said itself when rows came

    # --- before and after a call ---------------------------------------------------------------------------

    def begin(self, engine: Paced, at: float | None, bringing: int | None) -> None:
        """A call begins, at this time; `bringing` is the stream that brings rows or a promise."""
        self._undo = (self._now, self._is_told, list(self.idle))
        self._read(at)
        self._pushed = list(engine.pushed)
        if self._has_timeouts and engine.progress() is not None:
            for side in range(len(self.idle)):
                self._set_idle(engine, side, is_idle=side != bringing and self._is_overdue(side))
        self._started_s = self._stopwatch()

    def undo(self, engine: Paced) -> None:
        """The call failed: it is as if no time had passed."""
        self._now, self._is_told, idle = self._undo
        for side, is_idle in enumerate(idle):
            self._set_idle(engine, side, is_idle=is_idle)

    def end(self, engine: Paced, rows: Sequence[Rows]) -> None:
        """The call is done and releases these rows."""
        self.end_with(engine, len(rows[0]), sample_of(rows))

    def end_with(self, engine: Paced, count: int, sampled: Sequence[int]) -> None:
        """The same, told how many results there are, and the rows of some as sample_of() gives them."""
        found = engine.progress()
        if found is None:
            return
        if self.switch is not None:
            self.switch.worked(max(0.0, self._stopwatch() - self._started_s))
        (held, held_bytes, streams), unit_ns = found
        self._move_on(engine, streams, unit_ns)
        self._find_blocker(held, streams)
        self._count_responses(engine, count, sampled)
        self._adapt(engine, held, held_bytes, streams)

    def arriving(self, newest_ns: int) -> int:
        """When rows come that are being pushed, the newest of which has this time."""
        if self._clock is None and not self._is_told:
            return newest_ns if self._now is None else max(newest_ns, self._now)
        return newest_ns if self._now is None else self._now

    def admitted(self, side: int, first_row: int, came: Rows) -> None:
        """Rows got these numbers, by which results name them; they came at these times."""
        self._noted[side] = True
        self._arrivals[side].add_each(first_row, came)

    def saw(self, side: int, times: Any, multiplier: int, unit_ns: int) -> None:
        """Rows of a stream went to the core; `times` is their time column."""
        slack = self.slacks[side]
        if slack is not None:
            known = times.drop_null() if times.null_count else times
            slack.saw(known.cast("int64").to_numpy(zero_copy_only=False) * multiplier, unit_ns)

    def saw_times(self, side: int, times: Rows, unit_ns: int) -> None:
        """The same, given as numbers."""
        slack = self.slacks[side]
        if slack is not None:
            slack.saw(times, unit_ns)

    # --- what users read -----------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """The metrics of waiting, by their names."""
        blocked = self._blocked_by
        now = self._now if self._clock is None else round(self._clock() * 1e9)
        return {
            "order": self.switch.state.mode if self.switch is not None else self._order,
            "blocked_by": None if blocked is None else self._streams[blocked].name,
            "blocked_for_s": 0.0 if blocked is None else max(0, (now or 0) - self._blocked_since) / 1e9,
            "response": self._responses.times(),
            "decisions": tuple(self._decisions),
        }

    def lateness_s(self, side: int) -> float | None:
        """The lateness in force; infinite while it is not known yet."""
        lateness, slack = self._streams[side].lateness, self.slacks[side]
        if lateness is None or isinstance(lateness, Span):
            return None if lateness is None else lateness.amount / 1e9
        assert slack is not None
        if slack.bound_ns is not None:
            return slack.bound_ns / 1e9
        return float("inf") if lateness.at_most is None else lateness.at_most.amount / 1e9

    # --- steps ---------------------------------------------------------------------------------------------

    def _read(self, at: float | None) -> None:
        if self._clock is not None:
            if at is not None:
                raise ConfigError(f"at={at!r}: this join has a clock of its own; expected None")
            now = round(self._clock() * 1e9)
        elif at is not None:
            now, self._is_told = round(at * 1e9), True
        else:
            return
        if (
            at is not None and self._undo[1] is False
        ):  # stream time counted so far; arrival times do from here on
            self._now = None
        self._now = now if self._now is None else max(self._now, now)

    def _is_overdue(self, side: int) -> bool:
        timeout, active = self._timeouts[side], self._active[side]
        return (
            timeout is not None
            and active is not None
            and self._now is not None
            and self._now - active >= timeout
        )

    def _set_idle(self, engine: Paced, side: int, *, is_idle: bool) -> None:
        if self._timeouts[side] is not None and self.idle[side] != is_idle:
            self.idle[side] = is_idle
            engine.adjust("idle", side, int(is_idle))

    def _move_on(self, engine: Paced, streams: Any, unit_ns: int) -> None:
        if self._clock is not None:
            self._now = max(self._now or 0, round(self._clock() * 1e9))
        elif not self._is_told:
            newest = max(stream[1] for stream in streams)
            if newest > _LOWEST:
                self._now = max(newest * unit_ns, _LOWEST if self._now is None else self._now)
        now = self._now
        if now is None:
            return
        for side, (in_time, newest, *_) in enumerate(streams):
            if self._active[side] is None or in_time > self._in_time[side] or newest > self._newest[side]:
                self._active[side] = now
            elif (
                self._undo[2][side] and not self.idle[side]
            ):  # it brought nothing that counts: idle as before
                self._set_idle(engine, side, is_idle=True)
            if self._undo[2][side] != self.idle[side]:
                self._note_idle(side, now)
            self._in_time[side], self._newest[side] = in_time, newest
            if not self._noted[side] and engine.pushed[side] > self._pushed[side]:
                self._arrivals[side].add(self._pushed[side], now)

    def _note_idle(self, side: int, now: int) -> None:
        stream = self._streams[side]
        if self.idle[side]:
            why = f"nothing of it in time for {stream.idle_timeout}"
            self._note(now, f"stream {stream.name!r}: no longer waited for", why)
        else:
            self._note(now, f"stream {stream.name!r}: waited for again", "it brought a row or a promise")

    def _find_blocker(self, held: int, streams: Any) -> None:
        waits = held > 0 or any(stream[4] for stream in streams)
        watermarks = [stream[2] for stream in streams]
        blocker = watermarks.index(min(watermarks)) if waits else None
        bound = None if blocker is None else watermarks[blocker]
        if (blocker, bound) != (self._blocked_by, self._blocked_at):
            self._blocked_by, self._blocked_at, self._blocked_since = blocker, bound, self._now or 0

    def _count_responses(self, engine: Paced, count: int, sampled: Sequence[int]) -> None:
        if self._now is None or not count:
            return
        self._responses.add(count, sampled, self._arrivals, self._now)
        self._counted += 1
        if self._counted % _FORGET_EVERY:
            return
        for side, log in enumerate(self._arrivals):
            log.forget_before(engine.first_needed(side))

    def _adapt(self, engine: Paced, held: int, held_bytes: int, streams: Any) -> None:
        now = self._now
        if now is None:
            return
        switch = self.switch
        if switch is not None and switch.is_time(now, held_bytes):
            was_synchronised = switch.is_synchronised
            changed = switch.decide(
                now,
                rows=tuple(self._in_time),
                due=engine.due(),
                held=held,
                held_bytes=held_bytes,
                newest=max(stream[1] for stream in streams),
                complete_to=min(stream[2] for stream in streams),
            )
            if changed is not None:
                self._note(now, *changed)
            if switch.is_synchronised != was_synchronised:
                engine.adjust("synchronised", 0, int(switch.is_synchronised))
        for side, slack in enumerate(self.slacks):
            if slack is not None and slack.step(now) is not None:
                self._set_lateness(engine, side, now)

    def _set_lateness(self, engine: Paced, side: int, now: int) -> None:
        stream, slack = self._streams[side], self.slacks[side]
        assert slack is not None
        assert slack.bound_ns is not None
        assert isinstance(stream.lateness, Lateness)
        engine.adjust("lateness", side, slack.bound_ns)
        self._note(
            now,
            f"stream {stream.name!r}: lateness {slack.bound_ns / 1e9:.4g} s",
            f"to have {stream.lateness.target:.4g} of its rows in time",
        )

    def _note(self, now: int, what: str, why: str) -> None:
        self._decisions.append(ChoiceMade(now / 1e9, what, why))

    # --- snapshots -----------------------------------------------------------------------------------------

    def plain(self) -> dict[str, Any]:
        """The state as lists, numbers and strings."""
        return {
            "now": self._now,
            "told": self._is_told,
            "live": self._clock is not None,
            "active": self._active,
            "in_time": self._in_time,
            "newest": self._newest,
            "idle": self.idle,
            "blocked": [self._blocked_by, self._blocked_at, self._blocked_since],
            "arrivals": [log.plain() for log in self._arrivals],
            "responses": self._responses.plain(),
            "decisions": [[choice.at_s, choice.what, choice.why] for choice in self._decisions],
            "switch": None if self.switch is None else self.switch.plain(),
            "slacks": [None if slack is None else slack.plain() for slack in self.slacks],
        }

    def resume(self, plain: dict[str, Any]) -> None:
        """Go on from what plain() gave. A clock of another origin goes on from the moment of the snapshot."""
        if self._clock is not None and plain["live"]:
            origin, clock = plain["now"] / 1e9 - self._clock(), self._clock
            self._clock = lambda: clock() + origin
        self._now, self._is_told, self._active = plain["now"], plain["told"], plain["active"]
        self._in_time, self._newest, self.idle = plain["in_time"], plain["newest"], plain["idle"]
        self._blocked_by, self._blocked_at, self._blocked_since = plain["blocked"]
        self._arrivals = tuple(ArrivalLog(log) for log in plain["arrivals"])
        self._responses = ResponseHistogram(plain["responses"])
        self._decisions.extend(ChoiceMade(*choice) for choice in plain["decisions"])
        if self.switch is not None:
            self.switch.resume(plain["switch"])
        for slack, state in zip(self.slacks, plain["slacks"], strict=True):
            if slack is not None:
                slack.resume(state)
