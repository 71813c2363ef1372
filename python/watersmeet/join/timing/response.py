"""When rows arrived, and how long results took from there: cheap enough to be kept for every push."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from watersmeet.join.columns.payload import Rows
from watersmeet.vocabulary import ResponseTimes

__all__ = ["SAMPLES", "ArrivalLog", "ResponseHistogram", "sample_of"]

SAMPLES: Final = 2  # of the results of one push: joins push often
_NEVER: Final = -(2**63)
_LEVELS: Final = 16  # per doubling of a response
_MOST_DEAD: Final = 1024  # pushes that may be forgotten and still kept


class ArrivalLog:
    """When each row of one stream came, by its number; rows that came together are noted together."""

    __slots__ = ("_first", "_times")

    def __init__(self, plain: list[list[Any]] | None = None) -> None:
        self._first: list[int] = plain[0] if plain else []
        self._times: list[int | Rows] = [
            np.array(at, np.int64) if isinstance(at, list) else at for at in (plain[1] if plain else [])
        ]

    def add(self, first_row: int, at_ns: int) -> None:
        """Rows from this one on came at this time."""
        if self._times and isinstance(self._times[-1], int) and self._times[-1] == at_ns:
            return
        self._first.append(first_row)
        self._times.append(at_ns)

    def add_each(self, first_row: int, at_ns: Rows) -> None:
        """Rows from this one on came at these times, one each."""
        if len(at_ns) and at_ns[0] == at_ns[-1] and (at_ns == at_ns[0]).all():
            self.add(first_row, int(at_ns[0]))
        elif len(at_ns):
            self._first.append(first_row)
            self._times.append(at_ns)

    def of(self, row: int) -> int | None:
        """When a row came; None if that is no longer known, or there is no row."""
        place = bisect_right(self._first, row) - 1
        if row < 0 or place < 0:
            return None
        times = self._times[place]
        if isinstance(times, int):
            return times
        return int(times[min(row - self._first[place], len(times) - 1)])

    def forget_before(self, row: int) -> None:
        """No result will name an older row."""
        place = bisect_right(self._first, row) - 1
        if place > _MOST_DEAD and 2 * place > len(self._first):
            del self._first[:place]
            del self._times[:place]

    def plain(self) -> list[list[Any]]:
        """The log as lists."""
        return [self._first, [at if isinstance(at, int) else at.tolist() for at in self._times]]


def sample_of(rows: Sequence[Rows]) -> list[int]:
    """The rows of a few results, spread over all of them."""
    count = len(rows[0])
    samples = min(count, SAMPLES)
    return [int(own[sample * count // samples]) for sample in range(samples) for own in rows]


class ResponseHistogram:
    """Responses in nanoseconds, by their logarithm."""

    __slots__ = ("_bins", "_count", "_longest_ns", "_sum_ns")

    def __init__(self, plain: dict[str, Any] | None = None) -> None:
        plain = plain or {"bins": [], "count": 0, "sum": 0.0, "longest": 0}
        self._bins: dict[int, float] = {int(place): float(weight) for place, weight in plain["bins"]}
        self._count: int = plain["count"]
        self._sum_ns: float = plain["sum"]
        self._longest_ns: int = plain["longest"]

    def add(self, count: int, sampled: Sequence[int], arrivals: Sequence[ArrivalLog], now_ns: int) -> None:
        """So many results were released now; some are known by their rows, those of a result side by side.

        A result's response counts from the arrival of its last row.
        """
        streams = len(arrivals)
        weight = count * streams / len(sampled)
        for first in range(0, len(sampled), streams):
            last = _NEVER
            for stream, log in enumerate(arrivals):
                came = log.of(sampled[first + stream])
                if came is not None and came > last:
                    last = came
            waited = now_ns - last if _NEVER < last < now_ns else 0
            level = _level(waited)
            self._bins[level] = self._bins.get(level, 0.0) + weight
            self._sum_ns += weight * waited
            if waited > self._longest_ns:
                self._longest_ns = waited
        self._count += count

    def times(self) -> ResponseTimes:
        """What there is to know about them."""
        if not self._count:
            return ResponseTimes()
        median, p95, p99 = (self._quantile(share) / 1e9 for share in (0.5, 0.95, 0.99))
        return ResponseTimes(
            self._count, self._sum_ns / self._count / 1e9, median, p95, p99, self._longest_ns / 1e9
        )

    def plain(self) -> dict[str, Any]:
        """The histogram as lists and numbers."""
        bins = [list(item) for item in sorted(self._bins.items())]
        return {"bins": bins, "count": self._count, "sum": self._sum_ns, "longest": self._longest_ns}

    def _quantile(self, share: float) -> float:
        reached = 0.0
        for level, weight in sorted(self._bins.items()):
            reached += weight
            if reached >= share * self._count * (1.0 - 1e-9):
                return min(_upper_edge(level), float(self._longest_ns))
        return float(self._longest_ns)


def _level(waited_ns: int) -> int:
    return 0 if waited_ns <= 0 else 1 + math.floor(math.log2(waited_ns) * _LEVELS)


def _upper_edge(level: int) -> float:
    return 0.0 if level == 0 else float(2.0 ** (level / _LEVELS))
