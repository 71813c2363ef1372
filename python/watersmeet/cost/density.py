"""Sharing memory by what will match: windows shortened where their rows find few partners.

Extends [Kang] 4.3, where every row of a window is as likely to match as any other. Here the likelihood is
measured per age ([Gedik] IV-B): a window may be productive at an age that a shorter one would never reach,
so the two lengths are chosen together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from watersmeet.cost import _check
from watersmeet.cost._check import Pair
from watersmeet.errors import ConfigError

__all__ = ["WindowShares", "results_by_density", "split_memory_by_density"]

Spans: TypeAlias = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class WindowShares:
    """How long to keep the rows of each stream, and the share of the full windows' results that remains."""

    windows: Pair
    rows: Pair
    results_per_s: float
    kept_share: float


@dataclass(frozen=True, slots=True)
class _Earnings:
    """What a window earns by its length: results per second, linear inside each cell of age."""

    rate: float  # of memory: rows per second times their size
    ends: tuple[float, ...]  # of the first n cells: seconds
    totals: tuple[float, ...]  # of the same: results per second

    @property
    def span(self) -> float:
        return self.ends[-1]

    def of(self, window: float) -> float:
        cell = min(max(bisect_right(self.ends, window), 1), len(self.ends) - 1)
        begin, end = self.ends[cell - 1], self.ends[cell]
        share = min(1.0, (window - begin) / (end - begin))
        return self.totals[cell - 1] + share * (self.totals[cell] - self.totals[cell - 1])

    def length(self, memory: float) -> float:
        """The window that fills so much memory, at most the one asked for."""
        return min(self.span, memory / self.rate) if self.rate else self.span


def split_memory_by_density(
    rates: Pair,
    rows: float,
    *,
    densities: tuple[Sequence[float], Sequence[float]],
    cell: float | Pair | Spans,
    row_sizes: Pair = (1.0, 1.0),
) -> WindowShares:
    """The windows, `rows` together, that give the most results, given how likely rows of each age match.

    rates       rows per second of each stream
    densities   per stream, matches per comparison in each cell of its window, youngest first; the number of
                cells is the window asked for
    cell        seconds of age that a cell spans: of both windows, of each, or cell by cell
    row_sizes   what a row of each stream takes of `rows`, which may so be bytes

    Along the memory bound the output is linear but where one of the windows ends at a cell's edge, so those
    windows are tried and nothing else. Equal outputs are decided for the windows nearest each other.
    """
    rates = _check.pair(rates, argument="rates")
    rows = _check.at_least(rows, 0.0, argument="rows")
    sizes = _check.pair(row_sizes, argument="row_sizes", above_zero=True)
    if len(densities) != 2:
        raise ConfigError(f"densities={densities!r}: expected two sequences, one per stream")
    first, second = _both_earnings(rates, densities, cell, sizes)
    full = first.of(first.span) + second.of(second.span)
    windows = max(
        _edges(first, second, rows),
        key=lambda each: (round(_earned(first, second, each), 9), -abs(each[0] - each[1])),
    )
    earned = _earned(first, second, windows)
    kept_rows = rates[0] * windows[0], rates[1] * windows[1]
    return WindowShares(windows, kept_rows, earned, earned / full if full else 1.0)


def results_by_density(
    rates: Pair,
    windows: Pair,
    *,
    densities: tuple[Sequence[float], Sequence[float]],
    cell: float | Pair | Spans,
) -> float:
    """Results per second of windows so many seconds long, given how likely rows of each age match."""
    first, second = _both_earnings(rates, densities, cell, (1.0, 1.0))
    return _earned(first, second, windows)


def _both_earnings(
    rates: Pair,
    densities: tuple[Sequence[float], Sequence[float]],
    cell: float | Pair | Spans,
    sizes: Pair,
) -> tuple[_Earnings, _Earnings]:
    cells = (cell, cell) if isinstance(cell, int | float) else cell
    first, second = (
        _earnings(rates, densities[stream], stream=stream, cell=cells[stream], size=sizes[stream])
        for stream in (0, 1)
    )
    return first, second


def _earnings(
    rates: Pair, densities: Sequence[float], *, stream: int, cell: float | Sequence[float], size: float
) -> _Earnings:
    matches = _check.numbers(densities, argument=f"densities[{stream}]")
    spans = [cell] * len(matches) if isinstance(cell, int | float) else list(cell)
    if len(spans) != len(matches):
        raise ConfigError(f"cell[{stream}]: expected {len(matches)} spans, as many as densities")
    for span in spans:
        _check.positive(span, argument="cell")
    earned = (rates[0] * rates[1] * span * density for span, density in zip(spans, matches, strict=True))
    return _Earnings(rates[stream] * size, (0.0, *accumulate(spans)), (0.0, *accumulate(earned)))


def _edges(first: _Earnings, second: _Earnings, memory: float) -> list[Pair]:
    """Every pair of windows on the memory bound of which one ends at a cell's edge."""
    windows: list[Pair] = []
    for end in first.ends:
        window = first.length(min(memory, first.rate * end)) if first.rate else first.span
        windows.append((window, second.length(memory - first.rate * window)))
    for end in second.ends:
        window = second.length(min(memory, second.rate * end)) if second.rate else second.span
        windows.append((first.length(memory - second.rate * window), window))
    return windows


def _earned(first: _Earnings, second: _Earnings, windows: Pair) -> float:
    return first.of(windows[0]) + second.of(windows[1])
