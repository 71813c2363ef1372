"""Row numbers as users count them, where rows of some batches were not taken in.

The core numbers what it is given. A thinned batch keeps rows evenly spread over it, so each one is a run of
three numbers, and what a row was called before is a division.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["Numbering", "kept_places"]

Rows = npt.NDArray[np.int64]
_MOST_FORGOTTEN: Final = 10_000  # runs that no result needs, and why_not may still ask for


def kept_places(rows: int, kept: int) -> Rows:
    """Which of a batch's rows stay when `kept` of them do: evenly spread, the last one among them."""
    return (np.arange(1, kept + 1, dtype=np.int64) * rows) // max(1, kept) - 1


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows from `start` on, in the core's numbers, are those of a batch that began at `first`."""

    start: int
    first: int
    rows: int
    kept: int


class Numbering:
    """From the core's row numbers of one stream to its user's."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._forgotten: deque[_Run] = deque(maxlen=_MOST_FORGOTTEN)
        self._dropped = 0

    @property
    def is_plain(self) -> bool:
        """Whether the numbers are the same."""
        return self._dropped == 0

    def thinned(self, start: int, rows: int, kept: int) -> None:
        """A batch of `rows` became `kept`; its first is row `start` of the core."""
        first = start + self._dropped
        self._runs.append(_Run(start, first, rows, kept))
        self._dropped += rows - kept
        # What follows, until the next thinned batch, is only shifted.
        self._runs.append(_Run(start + kept, first + rows, 1, 1))

    def forget_before(self, row: int) -> None:
        """Numbers below this one, in the core's counting, are not asked for any more."""
        gone = bisect_right(self._runs, row, key=lambda run: run.start) - 1
        if gone > 0:
            self._forgotten.extend(self._runs[:gone])
            del self._runs[:gone]

    def original(self, rows: Rows) -> Rows:
        """The user's numbers of these rows; -1 stays."""
        if not self._runs:
            return rows
        starts = np.array([run.start for run in self._runs])
        which = np.searchsorted(starts, rows, side="right") - 1
        first, count, kept = (
            np.array([getattr(run, name) for run in self._runs]) for name in ("first", "rows", "kept")
        )
        place = np.maximum(which, 0)
        ahead = rows - starts[place]
        mapped = first[place] + ((ahead + 1) * count[place]) // np.maximum(kept[place], 1) - 1
        return np.where((rows < 0) | (which < 0), rows, mapped)

    @property
    def dropped(self) -> int:
        """Rows that were not taken in, so far."""
        return self._dropped

    def own(self, row: int) -> int | None:
        """The core's number of a user's row; None of one that was not taken in, or is long forgotten."""
        runs = [*self._forgotten, *self._runs]
        if not runs:
            return row
        at = bisect_right(runs, row, key=lambda run: run.first) - 1
        if at < 0:
            return row if runs[0].start == runs[0].first else None
        run = runs[at]
        ahead = row - run.first
        if run.kept == run.rows:
            return run.start + ahead
        nth = -(-(ahead + 1) * run.kept // run.rows)  # the first kept place that is not before the row
        return run.start + nth - 1 if run.kept and nth * run.rows // run.kept - 1 == ahead else None

    def was_dropped(self, row: int) -> bool:
        """Whether a user's row was not taken in, as far as that is remembered."""
        known = self._forgotten or self._runs
        return bool(known) and row >= known[0].first and self.own(row) is None

    def plain(self) -> list[list[int]]:
        """The numbering as lists of numbers."""
        return [[self._dropped], *([run.start, run.first, run.rows, run.kept] for run in self._runs)]

    def resume(self, plain: list[list[int]]) -> None:
        """Go on from what plain() gave."""
        self._dropped = plain[0][0]
        self._runs = [_Run(*run) for run in plain[1:]]
