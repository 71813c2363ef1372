"""How to share memory between two windows that do not both fit.

Paper: [Kang] 4.3, eqs. 12-14. A row kept in a window is met by every row of the other stream, so a kept row
of the slower stream earns more. With fixed rates the slower stream's window gets all it can use (eq. 13);
where the rates are to be cut as well, one stream is stored and the other probes (eq. 14). Windows never
grow beyond what was asked for (SPEC K4).
"""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.cost import _check
from watersmeet.cost._check import Pair
from watersmeet.cost.regulate import regulate

__all__ = ["Shares", "split_memory", "split_memory_and_rates"]


@dataclass(frozen=True, slots=True)
class Shares:
    """The rates let in and the rows kept of each stream."""

    rates: Pair
    rows: Pair

    @property
    def comparisons_per_s(self) -> float:
        """Pairs that meet per second; the output is this times the selectivity."""
        return self.rates[1] * self.rows[0] + self.rates[0] * self.rows[1]


def split_memory(rates: Pair, rows: float, *, windows: Pair | None = None) -> Pair:
    """The rows to keep of each stream, `rows` together, that give the most results at fixed rates: eq. 13.

    windows   seconds asked for: a stream keeps no more than its rate times this; None sets no bound

    At equal rates every split gives the same; half each is returned.
    """
    rates = _check.pair(rates, argument="rates")
    rows = _check.at_least(rows, 0.0, argument="rows")
    caps = _caps(rates, rows, windows)
    if rates[0] == rates[1]:
        half = min(rows / 2.0, caps[0])
        second = min(rows - half, caps[1])
        return min(rows - second, caps[0]), second
    slow = 0 if rates[0] < rates[1] else 1
    kept = min(rows, caps[slow])
    rest = min(rows - kept, caps[1 - slow])
    return (kept, rest) if slow == 0 else (rest, kept)


def split_memory_and_rates(
    rows: float, capacity: float, *, rates: Pair | None = None, windows: Pair | None = None
) -> Shares:
    """The rates and rows that give the most results where both must be cut: eq. 14.

    capacity   rows per second that can be processed, both streams together
    rates      rows per second that arrive, None: as many as wanted
    windows    seconds asked for, None: as long as wanted

    Without bounds the best is a limit: one stream stored and stopped, the other only probing. With them, the
    output is quadratic in the share of the capacity on pieces, and its few possible maxima are compared.
    """
    rows = _check.at_least(rows, 0.0, argument="rows")
    capacity = _check.at_least(capacity, 0.0, argument="capacity")
    arriving = (capacity, capacity) if rates is None else _check.pair(rates, argument="rates")
    spans = None if windows is None else _check.pair(windows, argument="windows")
    if sum(arriving) <= capacity:
        return Shares(arriving, split_memory(arriving, rows, windows=spans))
    if capacity == 0.0:
        return Shares((0.0, 0.0), (0.0, 0.0))
    best = Shares(equal := regulate(arriving, capacity), split_memory(equal, rows, windows=spans))
    for share in _turning_points(rows, capacity, arriving, spans):
        let_in = share * capacity, (1.0 - share) * capacity
        shares = Shares(let_in, split_memory(let_in, rows, windows=spans))
        if shares.comparisons_per_s > best.comparisons_per_s * (1.0 + 1e-12):
            best = shares
    return best


def _caps(rates: Pair, rows: float, windows: Pair | None) -> Pair:
    if windows is None:
        return rows, rows
    spans = _check.pair(windows, argument="windows")
    return rates[0] * spans[0], rates[1] * spans[1]


def _turning_points(rows: float, capacity: float, arriving: Pair, spans: Pair | None) -> list[float]:
    """Shares of the capacity for the first stream at which the output may have its maximum."""
    lowest, highest = max(0.0, 1.0 - arriving[1] / capacity), min(1.0, arriving[0] / capacity)
    points = [lowest, highest, 0.5]
    for own, span in enumerate(spans or ()):
        filled = capacity * span
        if filled > 0.0:
            # Where the window reaches `rows`, and where it, short of that, earns most beside the other.
            points += [_mirrored(point, own) for point in (rows / filled, (filled + rows) / (4.0 * filled))]
    if spans is not None and spans[0] != spans[1]:
        # Where both windows together just fill the memory.
        points.append((rows / capacity - spans[1]) / (spans[0] - spans[1]))
    return [min(max(point, lowest), highest) for point in points]


def _mirrored(share: float, stream: int) -> float:
    return share if stream == 0 else 1.0 - share
