"""How many rows of each window to keep where memory does not hold them all, and what giving up others costs.

Extends [Kang] 4.3: memory is bytes, rows of the two streams differ in size, and how likely a row of some age
is to match is measured while the join runs. What was not measured, since rows of that age were given up
before they were met, is taken to match like the oldest rows that were; where nothing at all was, like those
of the other window, which is [Kang]'s own assumption of one selectivity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from watersmeet.cost.density import results_by_density, split_memory_by_density
from watersmeet.vocabulary import Estimate

__all__ = ["AgeCounts", "WindowNeed", "lost_results", "rows_to_keep", "share_of_answer"]

_PRIOR: Final = 4.0  # matches that the common density counts for, beside those of a cell's own
_FEWEST: Final = 8.0  # sampled results of a cell, below which its density is not known
_DEVIATIONS: Final = 1.96
_WORTHWHILE: Final = 0.02  # share of the results that dividing memory anew must add
_NONE_OF: Final = 3.0  # matches expected at most, with 95 %, where none was found
_UNSEEN: Final = 2.0  # rows of an age never met are taken to match at most so much more, or less, often


@dataclass(frozen=True, slots=True)
class AgeCounts:
    """Pairs of one direction by cell of age, youngest first, as far as they were sampled."""

    met: tuple[float, ...] = ()  # decided
    absent: tuple[float, ...] = ()  # with rows that were given up
    matches: tuple[float, ...] = ()
    sampled: tuple[float, ...] = ()  # results that `matches` rests on
    clusters: tuple[float, ...] = ()  # sums over probing rows: of their results, and of the squares of these
    ends: tuple[float, ...] = ()  # of the cells, as shares of the window's span; none: they are equally long

    @property
    def density(self) -> float | None:
        """Matches per pair over all ages; None where no pair was met."""
        met = sum(self.met)
        return sum(self.matches) / met if met > 0.0 else None

    @property
    def cluster(self) -> float:
        """How many results share a row, on average over results: so many do not tell more than one."""
        results, squares = self.clusters or (0.0, 0.0)
        # A row of the window is met by many as well.
        return 2.0 * squares / results if results > 0.0 else 1.0

    def densities(self, otherwise: float) -> tuple[float, ...]:
        """Matches per pair by age; where few pairs were met, near the density of the next younger rows.

        Pairs met and matches are sampled apart, so that of a short cell one may be known without the other:
        such cells count together with those after them.
        """
        common = self.density
        mean = otherwise if common is None else common
        weight = _PRIOR / mean if mean > 0.0 else 1.0
        values: list[float] = []
        younger = mean
        found = met = 0.0
        waiting = 0  # cells that are not decided yet
        for matches, pairs in zip(self.matches, self.met, strict=True):
            found, met, waiting = found + matches, met + pairs, waiting + 1
            if met * mean < _PRIOR and not (found == 0.0 == met):
                continue
            younger = (found + weight * younger) / (met + weight)
            values += [younger] * waiting
            found, met, waiting = 0.0, 0.0, 0
        if waiting and met > 0.0:
            younger = (found + weight * younger) / (met + weight)
        return (*values, *[younger] * waiting)

    def spans(self, span_s: float) -> tuple[float, ...]:
        """How many seconds of age each cell spans, of a window of so many."""
        if not self.ends:
            return (span_s / max(1, len(self.met)),) * max(1, len(self.met))
        return tuple(span_s * (end - begin) for begin, end in zip((0.0, *self.ends), self.ends, strict=False))


@dataclass(frozen=True, slots=True)
class WindowNeed:
    """One window: rows per second of its stream, the seconds asked for, bytes of a row, and who meets it."""

    rate: float
    span_s: float
    row_bytes: float
    ages: AgeCounts

    @property
    def rows(self) -> float:
        """Rows of the full window."""
        return self.rate * self.span_s

    @property
    def cells(self) -> tuple[float, ...]:
        """How many seconds each cell of age spans."""
        return self.ages.spans(max(self.span_s, 1e-9))


def rows_to_keep(
    windows: tuple[WindowNeed, WindowNeed], memory: float, *, present: tuple[int, int] | None = None
) -> tuple[int, int]:
    """The rows of each window, within `memory` bytes together, that will give the most results.

    present   rows that are there: what one window lacks of its share, the other may keep meanwhile; and where
              dividing memory anew would hardly give more, all that is there shrinks alike, so that noise in
              the densities does not empty one window after the other
    """
    known = [each.ages.density for each in windows]
    first, second = (
        each.ages.densities(_first(known[side], known[1 - side])) or (_first(*known),)
        for side, each in enumerate(windows)
    )
    rates = windows[0].rate, windows[1].rate
    sizes = windows[0].row_bytes, windows[1].row_bytes
    cells = windows[0].cells, windows[1].cells
    shares = split_memory_by_density(
        rates, max(0.0, memory), densities=(first, second), cell=cells, row_sizes=sizes
    )
    best = max(0.0, shares.rows[0]), max(0.0, shares.rows[1])
    if present is None:
        return math.floor(best[0]), math.floor(best[1])
    alike = min(1.0, max(0.0, memory) / max(1.0, present[0] * sizes[0] + present[1] * sizes[1]))
    spans = [present[side] * alike / rates[side] if rates[side] else 0.0 for side in (0, 1)]
    earned = results_by_density(rates, (spans[0], spans[1]), densities=(first, second), cell=cells)
    if earned * (1.0 + _WORTHWHILE) >= shares.results_per_s:
        return math.floor(present[0] * alike), math.floor(present[1] * alike)
    kept = [min(best[side], float(present[side])) for side in (0, 1)]
    for side in (0, 1):
        free = memory - kept[1 - side] * sizes[1 - side]
        kept[side] = min(float(present[side]), max(kept[side], free / sizes[side]))
    return math.floor(kept[0]), math.floor(kept[1])


def lost_results(ages: AgeCounts, lost: float, *, otherwise: float | None = None) -> Estimate:
    """How many results the `lost` pairs of a direction would have been.

    otherwise   matches per pair, where the direction has met none; None: nothing is known at all
    """
    if lost <= 0.0:
        return Estimate.exactly(0.0)
    common = ages.density
    if common is None and otherwise is None:
        return Estimate(lost, 0.0, lost)
    if not (common or otherwise):  # pairs were met and none matched: so few might all the same
        return Estimate(0.0, 0.0, lost * min(1.0, _NONE_OF / max(sum(ages.met), 1.0)))
    otherwise = otherwise or 0.0
    densities = ages.densities(otherwise)
    absent = sum(ages.absent)
    if absent <= 0.0 or not densities:
        mean = _first(ages.density, otherwise)
        return Estimate(lost * mean, lost * mean / _UNSEEN, lost * mean * _UNSEEN)
    expected = low = high = 0.0
    for density, missing, seen in zip(densities, ages.absent, ages.sampled, strict=True):
        part = lost * missing / absent * density
        expected += part
        # Cells next to each other are met by the same rows: their errors add up.
        error = _DEVIATIONS * math.sqrt(ages.cluster / seen) if seen >= _FEWEST else math.inf
        low += part * max(1.0 / _UNSEEN, 1.0 - error)
        high += part * min(_UNSEEN, 1.0 + error)
    return Estimate(expected, low, high)


def share_of_answer(results: float, lost: Sequence[Estimate]) -> Estimate:
    """The share of the full answer that came out, results lost in each direction being known roughly."""
    if not any(each.high > 0.0 for each in lost):
        return Estimate.exactly(1.0)
    value, low, high = (sum(getattr(each, name) for each in lost) for name in ("value", "low", "high"))

    def share(missing: float) -> float:
        return results / (results + missing) if results + missing > 0.0 else 1.0

    return Estimate(share(value), share(high), share(low))


def _first(value: float | None, otherwise: float | None) -> float:
    return value if value is not None else 1.0 if otherwise is None else otherwise
