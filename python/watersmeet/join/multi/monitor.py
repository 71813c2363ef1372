"""Monitoring a tree of joins: from the core's counters to the counts of a period, and to what its cells
hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from watersmeet.control.decision import CellCounts
from watersmeet.control.density import estimated_densities
from watersmeet.join.multi.config import MultiConfig
from watersmeet.plan import EVEN, CellCurve, Period, Tree, cell_curve

__all__ = ["CELLS", "Counted", "Reading", "curves_of", "observed", "read_core"]

CELLS: Final = 16  # of a state; as in the core
_SURE: Final = 3.0  # standard deviations by which cells must differ to be told apart
_SCATTER: Final = 2.0  # how much wider than by chance bunches of matches scatter: like keys come together
Counted = Mapping[str, float]


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


def curves_of(cells: Mapping[str, CellCounts], bunches: Mapping[str, float]) -> dict[str, CellCurve]:
    """What the best cells hold, of half-way joins whose cells are known to differ."""
    found = {name: _curve(each, _SCATTER * max(1.0, bunches[name])) for name, each in cells.items()}
    return {name: curve for name, curve in found.items() if not curve.is_even}


def _curve(cells: CellCounts, scatter: float) -> CellCurve:
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
    return cell_curve([float(each) for each in estimated_densities(cells, prior_matches=16.0)[0]])


def observed(
    config: MultiConfig,
    tree: Tree,
    now: Reading,
    before: Reading | None,
    curves: Mapping[str, CellCurve],
    densities: Mapping[str, CellCounts],
    seconds: float,
) -> Period:
    """The counts since the last reading, and the windows that follow from the streams' rates."""
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
        name: _worth(cells, densities[name]) if name in curves else 1.0
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


def _worth(visited: CellCounts, known: CellCounts) -> float:
    """How many times more matches the visited cells hold than as many of a whole probe."""
    compared = visited.comparisons[0]
    densities = estimated_densities(known, prior_matches=16.0)[0]
    if compared.sum() == 0.0 or densities.mean() == 0.0:
        return 1.0
    return float((compared * densities).sum() / (compared.sum() * densities.mean()))
