"""Upper bounds for joins that shed, in hindsight: what any policy could have reached with a budget.

Probe p against cell j of the other window has n(p, j) rows and m(p, j) matches. `best_by_cell` (O-cell)
fills every second's budget with the best cells of that second: no policy that decides by whole cells, or by
content-blind parts of them, does better without moving budget between seconds. `best_by_lag` (O-lag) may
choose by direction and age alone, once for the whole run. A policy that picks inside cells, by an index, may
exceed both. Cells are basic windows on the grid of multiples of their length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import ConfigError

__all__ = ["CellTrace", "best_by_cell", "best_by_lag", "cell_trace", "full_answer", "result_seconds"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CellTrace:
    """Cells that hold matches, one entry each, and the rows of all cells by second, direction and cell."""

    second: Integers
    direction: Integers  # the stream whose row probes
    cell: Integers
    rows: Integers
    matches: Integers
    due: Floats  # (seconds, 2, cells)


def result_seconds(left: pa.Table, right: pa.Table, pairs: pa.Table, *, time: str = "ts") -> Floats:
    """When each result came to be: the later of its members' times, in seconds."""
    one, two = _seconds(left, time), _seconds(right, time)
    return np.maximum(one[_rows(pairs, "left_row")], two[_rows(pairs, "right_row")])


def cell_trace(
    left: pa.Table,
    right: pa.Table,
    *,
    pairs: pa.Table,
    windows_s: tuple[float, float],
    basic_window_s: float,
    time: str = "ts",
) -> CellTrace:
    """The trace of two streams, `pairs` being the rows of their exact join (output="rows").

    `windows_s` are those of the left and the right stream. Times are Arrow timestamps.
    """
    if basic_window_s <= 0:
        raise ConfigError(f"basic_window_s={basic_window_s!r}: expected a number above 0")
    times = (_seconds(left, time), _seconds(right, time))
    rows = (_rows(pairs, "left_row"), _rows(pairs, "right_row"))
    # The later member probes; of equal times the right one, since the left stream goes first.
    by_right = times[1][rows[1]] >= times[0][rows[0]]
    cells = 1 + int(np.ceil(round(max(windows_s) / basic_window_s, 9)))
    seconds = 1 + int(max((part.max() for part in times if part.size), default=0.0))
    due = np.zeros((seconds, 2, cells))
    parts = []
    for direction in (0, 1):
        own, other = times[direction], times[1 - direction]
        counts = _cell_rows(own, other, windows_s[1 - direction], basic_window_s, cells, direction)
        np.add.at(due[:, direction, :], own.astype(np.int64), counts)
        chosen = by_right if direction == 1 else ~by_right
        parts.append(
            _matched_cells(
                own, other, rows[direction][chosen], rows[1 - direction][chosen], basic_window_s, counts
            )
        )
    second, cell, held, matches = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    direction_of = np.repeat([0, 1], [parts[0][0].size, parts[1][0].size])
    return CellTrace(second, direction_of, cell, held, matches, due)


def full_answer(trace: CellTrace, *, start_s: int = 0, stop_s: int | None = None) -> float:
    """All results between two seconds."""
    return float(trace.matches[_between(trace, start_s, stop_s)].sum())


def best_by_cell(
    trace: CellTrace, budget_per_s: float, *, start_s: int = 0, stop_s: int | None = None
) -> float:
    """O-cell: per second a fractional knapsack over all (probe, cell), value matches, volume rows."""
    chosen = np.flatnonzero(_between(trace, start_s, stop_s))
    density = trace.matches[chosen] / trace.rows[chosen]
    chosen = chosen[np.lexsort((-density, trace.second[chosen]))]
    total = 0.0
    for entries in np.split(chosen, np.flatnonzero(np.diff(trace.second[chosen])) + 1):
        total += _filled(trace.matches[entries], trace.rows[entries], budget_per_s)
    return total


def best_by_lag(
    trace: CellTrace, budget_per_s: float, *, start_s: int = 0, stop_s: int | None = None
) -> float:
    """O-lag: one fractional knapsack over (direction, cell) totals in hindsight."""
    chosen = _between(trace, start_s, stop_s)
    due = trace.due[start_s:stop_s]
    matches = np.zeros(due.shape[1:])
    np.add.at(matches, (trace.direction[chosen], trace.cell[chosen]), trace.matches[chosen])
    volumes, values = due.sum(axis=0).ravel(), matches.ravel()
    order = np.argsort(-values / np.maximum(volumes, 1.0), kind="stable")
    return _filled(values[order], volumes[order], budget_per_s * due.shape[0])


def _filled(values: Any, volumes: Any, budget: float) -> float:
    before = np.cumsum(volumes) - volumes
    taken = np.clip(budget - before, 0.0, volumes)
    return float(np.sum(values * taken / np.maximum(volumes, 1)))


def _between(trace: CellTrace, start_s: int, stop_s: int | None) -> npt.NDArray[np.bool_]:
    inside = trace.second >= start_s
    return inside if stop_s is None else inside & (trace.second < stop_s)


def _cell_rows(
    own: Floats, other: Floats, window_s: float, basic_s: float, cells: int, direction: int
) -> Integers:
    """n(p, j): rows of the other stream by cell, for every row of the own one."""
    now = np.floor(own / basic_s)
    last = np.searchsorted(other, own, side="left" if direction == 0 else "right")
    oldest = np.searchsorted(other, own - window_s, side="left")
    counts = np.zeros((own.size, cells), np.int64)
    for cell in range(cells):
        low = np.maximum(np.searchsorted(other, (now - cell) * basic_s, side="left"), oldest)
        high = np.minimum(np.searchsorted(other, (now - cell + 1) * basic_s, side="left"), last)
        counts[:, cell] = np.maximum(0, high - low)
    return counts


def _matched_cells(
    own: Floats, other: Floats, own_rows: Integers, other_rows: Integers, basic_s: float, counts: Integers
) -> tuple[Integers, Integers, Integers, Integers]:
    """Second, cell, rows and matches of every (probe, cell) with a match."""
    cells = counts.shape[1]
    age = np.floor(own[own_rows] / basic_s) - np.floor(other[other_rows] / basic_s)
    keys, matches = np.unique(own_rows * cells + age.astype(np.int64), return_counts=True)
    rows, cell = keys // cells, keys % cells
    return own[rows].astype(np.int64), cell, np.maximum(1, counts[rows, cell]), matches


def _rows(pairs: pa.Table, name: str) -> Integers:
    return np.asarray(pairs.column(name), dtype=np.int64)


def _seconds(table: pa.Table, time: str) -> Floats:
    column = table.column(time).combine_chunks()
    if not pa.types.is_timestamp(column.type):
        raise ConfigError(f"column {time!r} has type {column.type}: expected a timestamp")
    return np.asarray(column.cast(pa.timestamp("ns")).cast(pa.int64()), dtype=np.float64) / 1e9
