"""How busy a join on slices is, by the wall clock, and the number of slices that follows from it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from watersmeet.ring import ResizeRule, ResizeState, RingStatistics, adapt_length

__all__ = ["LoadGauge"]

PERIOD_S: Final = 0.25  # shorter ones say little about load


class LoadGauge:
    """Measures the share of time that calls take, and decides once per period; the rule is ring.resizing's.

    A call keeps all its slices busy until it returns, so utilisation is the share of time spent in calls.
    Where rows are pushed as fast as they are taken it is near 1, and the ring grows to as many slices as
    there are processors.
    """

    def __init__(self, slices: int, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._rule = ResizeRule(most=max(1, len(os.sched_getaffinity(0))), patience=2)
        self.state = ResizeState(slices)
        self._period_began = clock()
        self._busy_s = 0.0
        self._waited_rows = 0

    def timed(self, seconds: float) -> None:
        """A call took so long."""
        self._busy_s += seconds

    def now(self) -> float:
        """Seconds by its clock."""
        return self._clock()

    def decide(self, waiting_rows: int) -> tuple[int, str] | None:
        """After a call: the length to have and how to get there, when a period has passed and it changes."""
        period_s = self._clock() - self._period_began
        if period_s < PERIOD_S:
            return None
        statistics = RingStatistics(
            period_s, self._busy_s * self.state.slices, waiting_rows, self._waited_rows
        )
        self.state, how = adapt_length(self.state, statistics, self._rule)
        self._period_began += period_s
        self._busy_s, self._waited_rows = 0.0, waiting_rows
        return None if how == "keep" else (self.state.slices, how)

    def set_by_hand(self, slices: int) -> None:
        """resize() was called: go on from there."""
        self.state = ResizeState(slices, 0, self.state.changes)
