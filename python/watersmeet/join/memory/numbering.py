"""Row numbers as users count them, where rows of some batches were not taken in.

The core numbers what it is given. A thinned batch keeps rows evenly spread over it, so each one is a run of
three numbers, and what a row was called before is a division.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Numbering", "kept_places"]

Rows = npt.NDArray[np.int64]


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

    def plain(self) -> list[list[int]]:
        """The numbering as lists of numbers."""
        return [[self._dropped], *([run.start, run.first, run.rows, run.kept] for run in self._runs)]

    def resume(self, plain: list[list[int]]) -> None:
        """Go on from what plain() gave."""
        self._dropped = plain[0][0]
        self._runs = [_Run(*run) for run in plain[1:]]
