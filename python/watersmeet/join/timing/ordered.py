"""Results of a join of several streams on their way out: held until no earlier one can come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from watersmeet._core import _native
from watersmeet.join.columns.payload import Rows
from watersmeet.vocabulary import Order

__all__ = ["NO_ROW", "OrderedResults", "starts_synchronised"]

NO_ROW: Final = 2**64 - 1


def starts_synchronised(order: Order) -> bool:
    """Whether a join with this order begins by processing rows by time."""
    return order != "filter-order"


class OrderedResults:
    """The hold buffer of one join; results leave by (largest timestamp, row of each stream)."""

    def __init__(self, streams: int) -> None:
        self._hold = _native.ResultHold(streams)

    def passed(self, rows: Sequence[Rows], times: Rows, low: int | None) -> tuple[Rows, ...]:
        """Take what was found, and give what may leave: no result older than `low` can come; None: none at
        all can.
        """
        if len(times):
            self._hold.add(times, list(rows))
        elif not self._hold.size:
            return tuple(np.empty(0, np.int64) for _ in rows)
        return tuple(self._hold.release_all() if low is None else self._hold.release_before(low))

    @property
    def count(self) -> int:
        """Results held."""
        return int(self._hold.size)

    @property
    def held_bytes(self) -> int:
        """Memory that they take."""
        return int(self._hold.bytes)

    def first_row(self, stream: int) -> int:
        """No result held has an older row of the stream."""
        return int(self._hold.first_row(stream))

    def holds(self, rows: Sequence[int]) -> bool:
        """Whether a result of these rows is held."""
        return bool(self._hold.holds(list(rows)))

    def snapshot(self) -> bytes:
        """What is held, as bytes."""
        return bytes(self._hold.snapshot())

    def load(self, body: bytes) -> None:
        """Hold what was held at a snapshot."""
        self._hold.load(body)
