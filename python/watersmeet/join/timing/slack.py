"""lateness="auto" at work: learns how late a stream's rows come, and sets the core's bound anew now and then.

Before anything is known the bound is as wide as allowed, so the first rows wait rather than be late.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from watersmeet.control.slack import SlackRule, SlackState, adapt_slack
from watersmeet.vocabulary import Lateness

__all__ = ["WIDEST", "Slack"]

WIDEST: Final = 1 << 61  # a bound that no row exceeds, in any unit
_FOLD_ROWS: Final = 256
_FIRST_ROWS: Final = 1000


class Slack:
    """What is known of one stream's disorder, in the join's unit of time."""

    def __init__(self, lateness: Lateness) -> None:
        self._lateness = lateness
        self._rule = SlackRule(late_share=1.0 - lateness.target)
        self._state = SlackState.unknown()
        self._unseen: list[npt.NDArray[np.int64]] = []
        self._rows = 0
        self._since_ns: int | None = None
        self._unit_ns = 0
        self.bound: int | None = None  # None: the widest allowed

    def saw(self, times: npt.NDArray[np.int64], unit_ns: int) -> None:
        """Rows arrived, with these times, in this order."""
        if unit_ns != self._unit_ns:  # the join has found a finer unit: what was learnt is in another one
            self._state, self._unseen, self._unit_ns = SlackState.unknown(), [], unit_ns
        if times.size:
            self._unseen.append(times)
            self._rows += int(times.size)
        if sum(part.size for part in self._unseen) >= _FOLD_ROWS:
            self._fold()

    def step(self, now_ns: int) -> int | None:
        """The bound to be in force from now on, in the join's unit; None: leave it as it is."""
        if self._since_ns is None:
            self._since_ns = now_ns
        is_first = self.bound is None and self._rows >= _FIRST_ROWS
        if not self._rows or not (is_first or now_ns - self._since_ns >= self._lateness.period.amount):
            return None
        self._since_ns = now_ns
        self._fold()
        bound = self._state.lateness
        if self._lateness.at_most is not None:
            bound = min(bound, self._lateness.at_most.amount // self._unit_ns)
        if bound == self.bound:
            return None
        self.bound = bound
        return bound

    @property
    def bound_ns(self) -> int | None:
        """The bound in force in nanoseconds; None: the widest allowed."""
        return None if self.bound is None else self.bound * self._unit_ns

    def _fold(self) -> None:
        if self._unseen:
            self._state, _ = adapt_slack(self._state, np.concatenate(self._unseen), self._rule)
            self._unseen = []

    def plain(self) -> dict[str, Any]:
        """What is known, as lists and numbers."""
        filled = np.flatnonzero(self._state.histogram)
        return {
            "bins": [[int(place), float(self._state.histogram[place])] for place in filled],
            "newest": self._state.newest,
            "widening": self._state.widening,
            "lateness": self._state.lateness,
            "unseen": [int(time) for part in self._unseen for time in part],
            "rows": self._rows,
            "since": self._since_ns,
            "unit": self._unit_ns,
            "bound": self.bound,
        }

    def resume(self, plain: dict[str, Any]) -> None:
        """Go on from what plain() gave."""
        histogram = SlackState.unknown().histogram.copy()
        for place, weight in plain["bins"]:
            histogram[place] = weight
        histogram.setflags(write=False)
        self._state = SlackState(histogram, plain["newest"], plain["widening"], plain["lateness"])
        self._unseen = [np.array(plain["unseen"], np.int64)] if plain["unseen"] else []
        self._rows, self._since_ns = plain["rows"], plain["since"]
        self._unit_ns, self.bound = plain["unit"], plain["bound"]
