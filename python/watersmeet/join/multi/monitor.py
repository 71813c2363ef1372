"""Monitoring a tree of joins: from the core's counters to the counts of a period, and to what its cells
hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from watersmeet.control.decision import CellCounts
from watersmeet.control.density import estimated_densities
from watersmeet.join.multi.config import MultiConfig
from watersmeet.plan import EVEN, CellCurve, Period, Tree, cell_curve

__all__ = [
    "CELLS",
    "Counted",
    "Ranked",
    "Reading",
    "cells_since",
    "curves_of",
    "faded_cells",
    "observed",
    "orders_of",
    "ranked_cells",
    "read_core",
]

CELLS: Final = 16  # of a state; as in the core
_SURE: Final = 3.0  # standard deviations by which cells must differ to be told apart
_PRIOR: Final = 16.0  # matches that a cell's neighbours count as in the estimate of its density
_TOLD: Final = 64.0  # matches that tell what cells hold
_REMEMBERED: Final = 2  # times that this was told
_SCATTER: Final = 2.0  # how much wider than by chance bunches of matches scatter: like keys come together
Counted = Mapping[str, float]
Ranked: TypeAlias = tuple[CellCounts, ...]
FloatArray: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reading:
    """The core's counters at one moment, by half-way join."""

    counts: Mapping[str, Counted]
    cells: Mapping[str, CellCounts]
    bunches: Mapping[str, float]  # how many matches come together, as a match sees it


def read_core(core: Any, tree: Tree) -> Reading:
    """What the core has counted since its tree came into force."""
    names = tree.half_joins
    counts = dict(zip(names, core.statistics()["half_joins"], strict=True))
    cells = {
        name: CellCounts(np.array([compared], float), np.array([matches], float))
        for name, (compared, matches, _) in zip(names, core.cells(), strict=True)
    }
    bunches = {
        name: squares / max(1, sum(matches)) * _rows_together(name, counts)
        for name, (_, matches, squares) in zip(names, core.cells(), strict=True)
    }
    return Reading(counts, cells, bunches)


def _rows_together(half_join: str, counts: Mapping[str, Counted]) -> float:
    """Rows that come together: those that one row of a stream has become below. They have keys in common."""
    rows = sum(counts[stream]["probes"] for stream in half_join.split("+"))
    return max(1.0, counts[half_join]["probes"] / max(1.0, rows))


def cells_since(now: Reading, before: Reading | None) -> dict[str, CellCounts]:
    """What the cells were counted since the last reading."""
    if before is None:
        return dict(now.cells)
    return {
        name: CellCounts(
            cells.comparisons - before.cells[name].comparisons, cells.matches - before.cells[name].matches
        )
        for name, cells in now.cells.items()
    }


def faded_cells(
    before: Mapping[str, CellCounts], now: Mapping[str, CellCounts], memory: float
) -> dict[str, CellCounts]:
    """A windowed average, as of the other counts."""
    return {
        name: before[name].faded(memory).plus(cells) if name in before else cells
        for name, cells in now.items()
    }


def orders_of(cells: Mapping[str, CellCounts]) -> dict[str, list[int]]:
    """The cells of every half-way join from the densest to the emptiest, for all that is known."""
    return {
        name: np.argsort(-_densities(each), kind="stable").tolist()
        for name, each in cells.items()
        if each.matches.sum() > 0.0
    }


def ranked_cells(
    before: Mapping[str, Ranked], orders: Mapping[str, Sequence[int]], now: Mapping[str, CellCounts]
) -> dict[str, Ranked]:
    """What was found by the ranks that cells had before: one period more. Periods with few matches are taken
    together.
    """
    return {
        name: _with_one_more(
            before.get(name, ()), CellCounts(now[name].comparisons[:, order], now[name].matches[:, order])
        )
        for name, order in orders.items()
    }


def _with_one_more(ranked: Ranked, now: CellCounts) -> Ranked:
    if ranked and ranked[-1].matches.sum() < _TOLD:
        return (*ranked[:-1], ranked[-1].plus(now))
    return (*ranked, now)[-_REMEMBERED:]


def curves_of(
    cells: Mapping[str, CellCounts], ranked: Mapping[str, Ranked], bunches: Mapping[str, float]
) -> dict[str, CellCurve]:
    """What the best cells hold, of half-way joins whose cells are known to differ.

    How much the best ones hold is not read off the counts that say which are best: these flatter them, and
    where matches come in bursts the best cells of one period are the worst of the next. It is the least that
    the cells of each rank held in any of the last periods after they were ranked.
    """
    found = {
        name: _curve(each, ranked[name], _SCATTER * max(1.0, bunches[name]))
        for name, each in cells.items()
        if name in ranked
    }
    return {name: curve for name, curve in found.items() if not curve.is_even}


def _curve(cells: CellCounts, ranked: Ranked, scatter: float) -> CellCurve:
    compared, matches = cells.comparisons[0], cells.matches[0]
    if compared.sum() == 0.0 or matches.sum() == 0.0:
        return EVEN
    # Cells that nobody visits for a while keep their counts, which fade; those never seen are like the rest.
    due = compared * matches.sum() / compared.sum()
    seen = due > 0.0
    misfit = float(np.sum((matches[seen] - due[seen]) ** 2 / due[seen])) / scatter
    free = int(seen.sum()) - 1
    if free < 1 or misfit < free + _SURE * math.sqrt(2.0 * free):
        return EVEN
    told = [each for each in ranked if each.matches.sum() >= _TOLD]
    if not told:
        return EVEN
    found = np.min([np.cumsum(_shares(each)) for each in told], axis=0)
    # Ranks that came out alike keep their order.
    by_rank = np.diff(found, prepend=0.0) * (1.0 - 1e-9 * np.arange(CELLS))
    densities = np.empty(CELLS)
    densities[np.argsort(-_densities(cells), kind="stable")] = by_rank
    return cell_curve([float(each) for each in densities])


def _shares(ranked: CellCounts) -> FloatArray:
    densities = _descending(ranked)
    return np.asarray(densities / densities.sum(), dtype=np.float64)


def _densities(cells: CellCounts) -> FloatArray:
    return np.asarray(estimated_densities(cells, prior_matches=_PRIOR)[0], dtype=np.float64)


def _descending(ranked: CellCounts) -> FloatArray:
    """The densities by rank; ranks that are in the wrong order share what they have (isotonic regression)."""
    blocks: list[tuple[float, int]] = []
    for density in _densities(ranked):
        total, ranks = float(density), 1
        while blocks and blocks[-1][0] * ranks < total * blocks[-1][1]:
            more, wider = blocks.pop()
            total, ranks = total + more, ranks + wider
        blocks.append((total, ranks))
    return np.array([total / ranks for total, ranks in blocks for _ in range(ranks)])


def observed(
    config: MultiConfig,
    tree: Tree,
    now: Reading,
    before: Reading | None,
    orders: Mapping[str, Sequence[int]],
    ranked: Mapping[str, Ranked],
    seconds: float,
) -> Period:
    """The counts since the last reading, and the windows that follow from the streams' rates. `orders` are
    the ranks of the cells before the period, `ranked` what is known of the ranks with it.
    """
    earlier: Mapping[str, Counted] = {} if before is None else before.counts

    def since(what: str, name: str) -> float:
        return now.counts[name][what] - earlier.get(name, {}).get(what, 0.0)

    windows, rows = {}, {}
    for stream in config.streams:
        name, window = stream.name, stream.window
        assert window is not None  # checked
        rows[name] = since("rows", name)
        rate = rows[name] / seconds
        spans = [span.seconds for span in (window, stream.freshness) if span is not None and span.is_time]
        sizes = [rate * span for span in spans] + ([float(window.amount)] if window.is_rows else [])
        windows[name] = min([*sizes, now.counts[name]["rows"]])
    names = tree.half_joins
    worth = {
        name: _worth(cells.comparisons[0][orders[name]], ranked[name][-1]) if name in orders else 1.0
        for name, cells in cells_since(now, before).items()
    }
    return Period(
        seconds,
        rows=rows,
        windows=windows,
        probes={name: since("probes", name) * worth[name] for name in names},
        due={name: since("due", name) * worth[name] for name in names},
        made={name: since("made", name) for name in names},
    )


def _worth(compared: FloatArray, known: CellCounts) -> float:
    """How many times more matches the visited cells, by rank, hold than as many of a whole probe."""
    densities = _descending(known)
    if compared.sum() == 0.0 or densities.mean() == 0.0:
        return 1.0
    return float((compared * densities).sum() / (compared.sum() * densities.mean()))
