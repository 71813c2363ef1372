"""The unit-time cost model: what a window join costs per second, by algorithm and direction.

Paper: [Kang] 3, eqs. 1-6. A direction is everything that touches one window: the other stream's rows probe
it, its own rows are inserted and invalidated (eq. 1). A scanned window is read whole by a probe, a hashed one
a bucket at a time; the unit is one row touched, weighed by the algorithm's cost of touching it. `HNJ` is
("hash", "scan"): the first stream's window hashed, the second's scanned (SPEC K1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from watersmeet.cost import _check
from watersmeet.cost._check import Pair

__all__ = ["ALGORITHMS", "Algorithm", "Invalidation", "Model", "output_rate"]

Algorithm: TypeAlias = Literal["hash", "scan"]
Invalidation: TypeAlias = Literal["active", "lazy"]
ALGORITHMS: Final[tuple[Algorithm, Algorithm]] = ("hash", "scan")
_INVALIDATIONS: Final = ("active", "lazy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Two streams under the cost model.

    rates         rows per second of each stream
    windows       seconds that rows of each stream stay matchable
    buckets       hash buckets of each window: the number of different keys in it
    scan_cost     of touching one row in a scan
    hash_cost     of touching one row in a bucket; by default 1.3 of a scan's, as the paper measured
    invalidation  "active": on every insertion; "lazy": when the window is probed
    """

    rates: Pair
    windows: Pair
    buckets: Pair = (1000.0, 1000.0)
    scan_cost: float = 1.0  # C_n
    hash_cost: float = 1.3  # C_h
    invalidation: Invalidation = "active"

    def __post_init__(self) -> None:
        values: dict[str, object] = {
            "rates": _check.pair(self.rates, argument="rates"),
            "windows": _check.pair(self.windows, argument="windows"),
            "buckets": _check.pair(self.buckets, argument="buckets", above_zero=True),
            "scan_cost": _check.positive(self.scan_cost, argument="scan_cost"),
            "hash_cost": _check.positive(self.hash_cost, argument="hash_cost"),
        }
        _check.one_of(self.invalidation, _INVALIDATIONS, argument="invalidation")
        for field, value in values.items():
            object.__setattr__(self, field, value)

    @property
    def window_rows(self) -> Pair:
        """Rows in each window once it is full."""
        return self.rates[0] * self.windows[0], self.rates[1] * self.windows[1]

    def direction_cost(self, window: int, algorithm: Algorithm) -> float:
        """Cost per second of all that touches `window` (0 or 1), kept for `algorithm`: eqs. 2 and 3."""
        _check.one_of(algorithm, ALGORITHMS, argument="algorithm")
        own, other = self.rates[1 - window], self.rates[window]
        rows = self.window_rows[window]
        if algorithm == "scan":
            touched = rows
            removal = _lazy_search(own, other) if self.invalidation == "lazy" else 1.0
            unit = self.scan_cost
        else:
            touched = rows / self.buckets[window]
            # Departs from [Kang]: no formula is given for lazy invalidation in a hashed window. Between two
            # probes of one bucket as many of its rows expire as arrive, other / own; each is touched once.
            removal = (other / own if own else 0.0) if self.invalidation == "lazy" else touched
            unit = self.hash_cost
        removers = own if self.invalidation == "lazy" else other
        return (own * touched + removers * removal + other) * unit

    def cost(self, first: Algorithm, second: Algorithm) -> float:
        """Cost per second with the first stream's window kept for `first` and the second's for `second`."""
        return self.direction_cost(0, first) + self.direction_cost(1, second)

    def costs(self) -> dict[tuple[Algorithm, Algorithm], float]:
        """The cost of every combination, cheapest first."""
        combinations = [(first, second) for first in ALGORITHMS for second in ALGORITHMS]
        return {each: self.cost(*each) for each in sorted(combinations, key=lambda each: self.cost(*each))}

    def choose(self) -> tuple[Algorithm, Algorithm]:
        """The cheapest algorithm for each window; the two directions do not depend on each other."""
        first, second = (
            min(ALGORITHMS, key=lambda algorithm: self.direction_cost(window, algorithm)) for window in (0, 1)
        )
        return first, second

    def output_rate(self) -> float:
        """Results per second if every comparison is made, keys being uniform: eq. 9."""
        selectivities = (1.0 / self.buckets[0], 1.0 / self.buckets[1])
        return output_rate(self.rates, self.window_rows, selectivities=selectivities)


def output_rate(rates: Pair, rows: Pair, *, selectivities: Pair) -> float:
    """Results per second of two windows of so many rows, each probed at the other stream's rate.

    Paper: [Kang] eqs. 9, 10; the join's selectivity is the smaller of the two windows' (SPEC K3).
    """
    rates, rows = _check.pair(rates, argument="rates"), _check.pair(rows, argument="rows")
    selectivity = min(_check.pair(selectivities, argument="selectivities"))
    return selectivity * (rates[1] * rows[0] + rates[0] * rows[1])


def _lazy_search(own: float, other: float) -> float:
    """Rows touched by a binary search over those that expired since the last probe ([Kang] 3.1, SPEC K8)."""
    if own == 0.0 or other == 0.0:
        return 1.0
    return math.floor(math.log2(math.ceil(other / own)) + 1.0)
