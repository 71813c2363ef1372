"""One live join inside a bucket, fed with rows that come roughly in order.

The core wants each stream in order of time, and Spark gives micro-batches that overlap. While a stream is in
order, the lane is a plain WindowJoin. From the first row that comes behind its stream by d on, it is one over
a clock instead of the time: the clock is the largest time seen so far, so it only grows, and no row is more
than `disorder` >= d behind it. If two times are within [lower, upper], their clocks are within
[lower - disorder, upper + disorder]: that is the window the core keeps, and the exact bounds become one more
term that it checks, |2 t_right - 2 t_left - (lower + upper)| <= upper - lower. Rows further behind need a
lane with more room, which is then built from the log.

Results about missing partners have to wait for the watermark. There the core itself puts rows in order: they
wait in its reorder buffer until the watermark passes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.join import WindowJoin
from watersmeet.join.metered_join import MeteredJoin
from watersmeet.spark.counts import Look
from watersmeet.spark.due import ExactDue
from watersmeet.spark.request import SIDES, Lane, Request
from watersmeet.vocabulary import Band, Span, Stream
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["LaneJoin", "Times"]

Times = npt.NDArray[np.int64]

_CLOCKS: Final = ("__watersmeet_clock", "__watersmeet_clock_right")
_TWICE: Final = ("__watersmeet_twice", "__watersmeet_twice_right")
_PATIENCE: Final = Span(nanoseconds=40_000 * NANOSECONDS["d"])  # the watermark alone lets rows go


class LaneJoin:
    """A WindowJoin with its clocks."""

    def __init__(self, request: Request, lane: Lane, disorder: int) -> None:
        self._request, self._lane, self._disorder = request, lane, disorder
        self._clocks: list[int | None] = [None, None]
        by_clock = disorder > 0 and not request.waits
        self._exact = ExactDue(lane.lower, lane.upper) if by_clock else None
        self._names = request.output_schema().names
        self._join = self._made()
        for side, name in enumerate(SIDES):  # declares the types: the plan is final from the start
            self._join.push(
                name, self._dressed(side, request.schema(side).empty_table(), np.empty(0, np.int64))
            )

    def look(self) -> Look:
        """The counters since this lane was made."""
        look = Look.at(self._join.metrics)
        exact = self._exact
        return look if exact is None else replace(look, due=exact.due, done=exact.done, shed=exact.shed)

    def behind(self, side: int, times: Times) -> int:
        """How far these rows (in order of time) come behind their stream: the room that they need."""
        clock = self._clocks[side]
        if self._request.waits or clock is None or len(times) == 0:
            return 0
        return max(0, clock - int(times[0]))

    def push(self, side: int, table: pa.Table, times: Times) -> pa.Table:
        """Join rows in order of time with what is there. Requires: there is room."""
        if self._exact is not None:
            self._exact.come(side, times)
        out = self._noted(lambda: self._join.push(SIDES[side], self._dressed(side, table, times)))
        self._saw(side, times)
        return out.select(self._names)

    def refill(self, side: int, table: pa.Table, times: Times) -> None:
        """The same for rows whose results are known already."""
        if self._request.waits:  # whose results have yet to come, or depend on counts
            self.push(side, table, times)
            return
        if self._exact is not None:
            self._exact.refill(side, times)
        self._join.refill(SIDES[side], self._dressed(side, table, times))
        self._saw(side, times)

    def hold(self, side: int, table: pa.Table, times: Times, ticks: Times) -> None:
        """Take rows that arrive at these ticks of the bucket's clock. Requires: a budget, and room."""
        if self._exact is not None:
            self._exact.come(side, times)
        self._metered.hold(SIDES[side], self._dressed(side, table, times), arrivals=ticks)
        self._saw(side, times)

    def drain(self, units_per_s: float) -> pa.Table:
        """The results of the rows that were held, as many as this speed allows."""
        return self._noted(lambda: self._metered.drain(units_per_s=units_per_s)).select(self._names)

    @property
    def units(self) -> float:
        """The work done so far, in units of the budget."""
        return self._metered.units

    def course(self) -> bytes:
        """What the join knows but for its rows."""
        return self._metered.course()

    def set_course(self, course: bytes) -> None:
        """Go on as the join did that this is from."""
        self._metered.set_course(course)

    @property
    def _metered(self) -> MeteredJoin:
        assert isinstance(self._join, MeteredJoin)
        return self._join

    def advance(self, watermark: int) -> list[pa.Table]:
        """Nothing up to the watermark will come: expires rows, and gives results that waited for it."""
        first = watermark + 1
        if self._exact is not None:
            self._exact.expire(watermark)
        out = []
        for side, name in enumerate(SIDES):
            clock = self._clocks[side]
            if not self._request.waits:
                if clock is not None and clock >= first:
                    continue
                self._clocks[side] = first
            out.append(self._join.advance(name, to=self._promise(side, first)).select(self._names))
        return out

    def _noted(self, join: Callable[[], pa.Table]) -> pa.Table:
        """The results of some work, which is counted."""
        if self._exact is None:
            return join()
        before = Look.at(self._join.metrics)
        out = join()
        after = Look.at(self._join.metrics)
        self._exact.note(due=after.due - before.due, shed=after.shed - before.shed)
        return out

    def _saw(self, side: int, times: Times) -> None:
        if len(times):
            clock = self._clocks[side]
            self._clocks[side] = int(times[-1]) if clock is None else max(clock, int(times[-1]))

    def _made(self) -> WindowJoin:
        request, lane, room = self._request, self._lane, self._disorder
        if request.waits:
            windows = request.rows_windows or (None, None)
            streams = [
                Stream(name, time=time, window=window, lateness=_PATIENCE, time_unit=request.time_unit)
                for name, time, window in zip(SIDES, request.times, windows, strict=True)
            ]
            between = None if request.rows_windows else (request.span(lane.lower), request.span(lane.upper))
            return WindowJoin(
                *streams, on=request.on, how=request.how, suffix=request.suffix, between=between
            )
        times, unit, on = request.times, request.time_unit, request.on
        if room:
            exact = Band(*_TWICE, lane.upper - lane.lower)
            on = exact if on is None else on & exact
            times, unit = _CLOCKS, request.unit
        left, right = (
            Stream(name, time=time, time_unit=unit, type=kind)
            for name, time, kind in zip(SIDES, times, request.types, strict=True)
        )
        between = (request.span(lane.lower - room), request.span(lane.upper + room))
        if request.shed is None:
            return WindowJoin(left, right, on=on, suffix=request.suffix, between=between)
        schemas = [
            self._dressed(side, request.schema(side).empty_table(), np.empty(0, np.int64)).schema
            for side in (0, 1)
        ]
        return MeteredJoin(
            left,
            right,
            on=on,
            between=between,
            suffix=request.suffix,
            shed=request.shed,
            schemas=(schemas[0], schemas[1]),
        )

    def _dressed(self, side: int, table: pa.Table, times: Times) -> pa.Table:
        """The rows with their clock and their time, where the lane goes by the clock."""
        if self._request.waits or not self._disorder:
            return table
        clock = self._clocks[side]
        clocks = times if clock is None else np.maximum(times, clock)
        middle = self._lane.lower + self._lane.upper if side == 0 else 0
        return table.append_column(_CLOCKS[side], pa.array(clocks)).append_column(
            _TWICE[side], pa.array(2 * times + middle)
        )

    def _promise(self, side: int, first: int) -> Any:
        request = self._request
        if request.waits:
            patience = _PATIENCE.amount // NANOSECONDS[request.unit]
            return -(-(first + patience) // request.steps[side])
        return first if self._disorder else -(-first // request.steps[side])
