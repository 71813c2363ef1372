"""Which rows left their window early for want of memory, and when: so that why_not can say so.

Windows give up their oldest rows, so one cut is a stretch of row numbers, and when it was made is the number
of rows that the other stream had pushed by then. Where rows come out of order the numbers are those of the
order in which they entered the window, which is near enough to name the stage. Not kept in snapshots.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

__all__ = ["GivenUp"]

_MOST_CUTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Cut:
    """Rows from `first` to before `end` were given up before row `others` of the other stream came."""

    first: int
    end: int
    others: int


class GivenUp:
    """The latest cuts of both windows, in the core's row numbers."""

    def __init__(self) -> None:
        self._cuts: tuple[deque[_Cut], deque[_Cut]] = (deque(maxlen=_MOST_CUTS), deque(maxlen=_MOST_CUTS))
        self._known = [0, 0]

    def note(self, side: int, *, end: int, evicted: int, others: int) -> None:
        """The window begins at row `end`; `evicted` of those before it were given up since the join began."""
        rows, self._known[side] = evicted - self._known[side], evicted
        if rows > 0:
            self._cuts[side].append(_Cut(end - rows, end, others))

    def before(self, side: int, row: int, other_row: int) -> bool:
        """Whether a row was given up before one of the other stream came."""
        return any(cut.first <= row < cut.end and other_row >= cut.others for cut in self._cuts[side])
