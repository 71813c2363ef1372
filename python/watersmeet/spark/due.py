"""Which pairs a lane that goes by its clock was asked for.

Its window is wider than the join's by how far rows come behind their stream, so the core counts too many as
due. Here they are counted by the rows' own times. How many of these were shed the core does not tell apart
from the others in its window; they are taken to be as many, in proportion.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ExactDue"]

Times = npt.NDArray[np.int64]


class ExactDue:
    """The times of the rows that a lane holds, and its work since it was made."""

    def __init__(self, lower: int, upper: int) -> None:
        self._lower, self._upper = lower, upper  # of ts_right - ts_left
        self._held: list[Times] = [np.empty(0, np.int64), np.empty(0, np.int64)]  # in order
        self._asked = 0  # of rows that have come since the last note()
        self.due = self.shed = 0

    @property
    def done(self) -> int:
        """Pairs decided."""
        return self.due - self.shed

    def come(self, side: int, times: Times) -> None:
        """Rows come, in order of time, to be joined with what is there."""
        other = self._held[1 - side]
        low, high = (self._lower, self._upper) if side == 0 else (-self._upper, -self._lower)
        ends = np.searchsorted(other, times + high, side="right")
        self._asked += int((ends - np.searchsorted(other, times + low, side="left")).sum())
        self.refill(side, times)

    def refill(self, side: int, times: Times) -> None:
        """Rows whose pairs are counted already."""
        held = np.concatenate([self._held[side], times])
        held.sort(kind="stable")  # two runs in order: a merge
        self._held[side] = held

    def note(self, *, due: int, shed: int) -> None:
        """They were joined; the core calls these due and shed."""
        self.due += self._asked
        self.shed += round(shed * self._asked / due) if due else 0
        self._asked = 0

    def expire(self, watermark: int) -> None:
        """Forget rows that no row above the watermark can meet."""
        for side, reach in enumerate((self._upper, -self._lower)):
            self._held[side] = self._held[side][
                np.searchsorted(self._held[side], watermark - reach, side="right") :
            ]
