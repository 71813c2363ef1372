"""What to process: which cells of a window are worth visiting first ([Gedik] V-A, Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from watersmeet.control._check import FloatArray, above, at_least, frozen_array, share
from watersmeet.control.decision import CellCounts
from watersmeet.errors import ConfigError

__all__ = [
    "CellVisit",
    "TimeState",
    "adapt_time_correlation",
    "basic_window_optimality",
    "cell_count",
    "cell_densities",
    "cells_to_visit",
    "published_densities",
    "visiting_order",
]


def cell_count(window_s: float, basic_window_s: float) -> int:
    """n_i = 1 + ceil(w_i / b): one more than the window needs, because the first cell is still filling."""
    above(basic_window_s, 0.0, argument="basic_window_s")
    above(window_s, 0.0, argument="window_s")
    return 1 + int(np.ceil(round(window_s / basic_window_s, 9)))


def published_densities(
    sampled_matches: npt.ArrayLike,
    *,
    sampling: float,
    fraction: float,
    basic_window_s: float,
    rates_per_s: tuple[float, float],
    period_s: float,
) -> FloatArray:
    """o_ij as printed in [Gedik] Algorithm 2 line 5: matches over the *expected* number of sampled
    comparisons.

    Kept for the figures. The first and last cells are half full on average, so it understates them by two,
    and it has no value where the fraction is 0 (SPEC G7, G8); cell_densities has neither fault.
    """
    expected = sampling * fraction * basic_window_s * rates_per_s[0] * rates_per_s[1] * period_s
    above(expected, 0.0, argument="sampling * fraction * basic_window_s * rates_per_s * period_s")
    return frozen_array(sampled_matches, argument="sampled_matches") / expected


def cell_densities(counts: CellCounts, *, previous: npt.ArrayLike | None = None) -> FloatArray:
    """Matches per comparison in each cell, types taken together.

    Departs from [Gedik]: divides by the comparisons really made (SPEC G7). A cell that nobody looked at
    keeps its `previous` density, 0 without one.
    """
    together = counts.by_cell()
    comparisons, matches = together.comparisons[0], together.matches[0]
    fallback = np.zeros_like(comparisons) if previous is None else np.asarray(previous, dtype=np.float64)
    if fallback.shape != comparisons.shape:
        raise ConfigError(f"previous: expected {comparisons.size} cells, got {fallback.size}")
    looked_at = comparisons > 0.0
    return np.where(looked_at, matches / np.where(looked_at, comparisons, 1.0), fallback)


def visiting_order(densities: npt.ArrayLike) -> tuple[int, ...]:
    """Cells by falling density; equal ones newest first."""
    return tuple(int(cell) for cell in np.argsort(-np.asarray(densities, dtype=np.float64), kind="stable"))


@dataclass(frozen=True, slots=True)
class TimeState:
    """The densities of both windows at the last adaptation, and the visiting orders they give."""

    densities: tuple[tuple[float, ...], tuple[float, ...]]
    orders: tuple[tuple[int, ...], tuple[int, ...]]

    @classmethod
    def unknown(cls, cells: tuple[int, int]) -> TimeState:
        """Before the first adaptation: nothing is known, newest cells first."""
        first, second = cells
        return cls(((0.0,) * first, (0.0,) * second), (tuple(range(first)), tuple(range(second))))


def adapt_time_correlation(
    state: TimeState, sampled: tuple[CellCounts, CellCounts]
) -> tuple[TimeState, tuple[tuple[int, ...], tuple[int, ...]]]:
    """[Gedik] Algorithm 2: full probes of the last period in, visiting orders of both windows out.

    A period without a single full probe of a window leaves that window's order as it was.
    """
    first, second = (
        cell_densities(counts, previous=known) for counts, known in zip(sampled, state.densities, strict=True)
    )
    orders = (visiting_order(first), visiting_order(second))
    return TimeState((tuple(first.tolist()), tuple(second.tolist())), orders), orders


@dataclass(frozen=True, slots=True)
class CellVisit:
    """`rows` rows of a cell from `first_row` on, wrapping round at the cell's end."""

    cell: int
    first_row: int
    rows: int


def cells_to_visit(
    order: Sequence[int], cell_rows: Sequence[int], *, fraction: float, rotation: int = 0
) -> tuple[CellVisit, ...]:
    """[Gedik] Algorithm 3 lines 7-15: whole cells in order until the allowance is used up, then part of
    one.

    SPEC G12: empty cells are skipped; the partial cell gives a contiguous slice whose start moves with
    `rotation` (add the returned slice's rows to it after each probe), so that no row of the cell is left
    out for ever.
    """
    share(fraction, argument="fraction")
    allowance = round(fraction * sum(cell_rows))
    visits = []
    for cell in order:
        rows = cell_rows[cell]
        if allowance <= 0:
            break
        if rows == 0:
            continue
        taken = min(rows, allowance)
        visits.append(CellVisit(cell, rotation % rows if taken < rows else 0, taken))
        allowance -= taken
    return tuple(visits)


def basic_window_optimality(
    lag_density: npt.ArrayLike, *, basic_window_share: float, fraction: float
) -> float:
    """Phi of [Gedik] V-A.1: output with basic windows of this size over output with infinitely fine ones.

    `lag_density` samples the match density on equal steps of age from 0 to the window's end;
    `basic_window_share` is b / w, `fraction` is r' and may pass 1, where phi is 1 by definition (SPEC G4c).
    """
    density = frozen_array(lag_density, argument="lag_density")
    above(basic_window_share, 0.0, argument="basic_window_share")
    above(fraction, 0.0, argument="fraction")
    if fraction >= 1.0:
        return 1.0
    shares = np.sort(_mean_cell_shares(density, basic_window_share))[::-1]
    whole_cells = int(np.floor(fraction / basic_window_share + 1e-9))
    used = float(shares[:whole_cells].sum())
    if whole_cells < shares.size:
        used += (fraction / basic_window_share - whole_cells) * float(shares[whole_cells])
    return used / _largest_area(density, fraction)


def _mean_cell_shares(density: FloatArray, basic_window_share: float) -> FloatArray:
    """p_ij: the match probability in each cell, averaged over how full the first cell is."""
    ages = np.linspace(0.0, 1.0, density.size + 1)
    cumulated = np.concatenate(([0.0], np.cumsum(density))) / density.sum()
    cells = cell_count(1.0, basic_window_share)
    fill = (np.arange(200) + 0.5) / 200
    upper = (fill[:, None] + np.arange(cells)[None, :]) * basic_window_share
    lower = upper - basic_window_share
    area = np.interp(np.clip(upper, 0, 1), ages, cumulated) - np.interp(np.clip(lower, 0, 1), ages, cumulated)
    return np.asarray(area.mean(axis=0), dtype=np.float64)


def _largest_area(density: FloatArray, extent: float) -> float:
    """g(f, a): the most probability that a set of ages of total length `extent` can hold."""
    at_least(extent, 0.0, argument="extent")
    heights = np.sort(density)[::-1] / density.sum()
    steps = extent * density.size
    whole = int(np.floor(steps + 1e-9))
    rest = (steps - whole) * float(heights[whole]) if whole < heights.size else 0.0
    return float(heights[:whole].sum()) + rest
