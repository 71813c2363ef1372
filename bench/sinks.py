"""The two sinks: one that only counts, for timed runs, and one that also sums the results' hashes, for
checks.
"""

from __future__ import annotations

from typing import Any

from bench.contract import MASK, Rows, checksum

__all__ = ["CheckingSink", "CountingSink"]


class CountingSink:
    """Counts results and lets go of them, so that a timed run pays for nothing but the join."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def checksum(self) -> int | None:
        return None

    def rows(self, *rows: Rows) -> None:
        self.count += len(rows[0])

    def table(self, table: Any) -> None:
        self.count += table.num_rows

    def counted(self, count: int) -> None:
        self.count += count


class CheckingSink(CountingSink):
    """Also keeps the order-independent checksum; None once some results were given as a bare count."""

    def __init__(self) -> None:
        super().__init__()
        self._sum: int | None = 0

    @property
    def checksum(self) -> int | None:
        return self._sum

    def rows(self, *rows: Rows) -> None:
        super().rows(*rows)
        if self._sum is not None:
            self._sum = (self._sum + checksum(*rows)) & MASK

    def table(self, table: Any) -> None:
        self.rows(*(column.to_numpy() for column in table.columns))

    def counted(self, count: int) -> None:
        super().counted(count)
        self._sum = None
