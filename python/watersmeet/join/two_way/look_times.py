"""When a join's counters are looked at, to choose its indexes anew, and when a look may change one.

A first look decides. Others come every so many rows and only raise a doubt, which the next look, soon after,
confirms or not. Where rows betray a changed load, counters since the last look are of two loads: that look
is only where the next starts from, which comes soon, and others at growing distances while the windows fill
with what is new. Each of those decides.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LOOK_EVERY_ROWS", "LookTimes"]

LOOK_EVERY_ROWS: Final = 8_192  # at least
_APART: Final = 4  # times as many rows at every look after a change
_TRIED_AT_ONCE_ROWS: Final = 65_536  # at every push while counters say nothing; then ever more seldom


class LookTimes:
    """Counts the rows of a join, and knows its looks."""

    def __init__(self, first_rows: int) -> None:
        self.is_first = True
        self.rows = 0  # of both streams
        self._due_rows = first_rows
        self._since_rows = 0  # what is looked at begins here
        self._changed_rows: int | None = None  # where the load became another; None once that is settled
        self._changed_s = 0.0
        self._is_changing = False  # the load is another, and no look was made at that
        self._is_doubt = False  # one look, and nothing else, hints at a change

    @property
    def is_due(self) -> bool:
        """Whether it is time."""
        return self.rows > self._due_rows

    @property
    def may_change(self) -> bool:
        """Whether the look that is due may change an index."""
        return not self._is_changing and (self.is_first or self._changed_rows is not None)

    def betrayed(self) -> None:
        """The rows that come say that the load is another: look at once."""
        if not self._is_changing:
            self._is_changing, self._due_rows = True, 0

    def load_s(self, now_s: float) -> float:
        """For how long the load has been what it is, and so is expected to last."""
        return now_s - self._changed_s

    def said_nothing(self) -> None:
        """The look that was due saw too little."""
        seen = self.rows - self._since_rows
        at_once = self.is_first and seen < _TRIED_AT_ONCE_ROWS
        self._due_rows = self.rows + (0 if at_once else seen // 2)

    def looked(self, *, wants_change: bool, rows: int, before_s: float) -> int:
        """A look was made; how many rows to wait for the next, `rows` if nothing is the matter.

        wants_change   and was not allowed to
        before_s       when the look before this was
        """
        if self._is_changing:
            self._changed_rows, self._changed_s, self._is_doubt = self.rows, before_s, False
            rows = LOOK_EVERY_ROWS
        elif self._is_doubt:
            self._changed_rows, self._is_doubt = None, False
        elif self._changed_rows is not None:
            again = max(LOOK_EVERY_ROWS, (_APART - 1) * (self.rows - self._changed_rows))
            if again >= rows:
                self._changed_rows = None
            rows = min(again, rows)
        elif wants_change:
            self._changed_rows, self._is_doubt, rows = self.rows, True, LOOK_EVERY_ROWS
        self.is_first = self._is_changing = False
        self._since_rows, self._due_rows = self.rows, self.rows + rows
        return rows
