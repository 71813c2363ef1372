"""J-Fig8 and J-Fig9c in the engine: five groups of sensors joined on equal temperature.

The tree is the paper's, (((A B) (C D)) E), windows are 1000 rows, and so are, in the published model, the
states between joins. The join attribute, which the paper does not give (SPEC J10), is the temperature
rounded to a degree. A second figure joins on hundredths of a degree, as the files have them, in MultiJoin's
own model, where results lie within the windows. Nothing was tuned for the degrees; the settings of the
hundredths were chosen on these very readings. Intel's readings, one per mote and 30 s, are replayed 600
times as fast; the library's, one per node and minute, 3000 times. The data are in ../shared/data beside the
checkout, or in the folder that WATERSMEET_DATA names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import watersmeet as wm
from bench.figures.jaqpot.plans import HEURISTICS

__all__ = ["figure_8", "figure_8_fine", "figure_8_library", "figure_9c", "have_data"]

_ROOT = Path(__file__).resolve().parents[3]
_NAMES = "ABCDE"
_TREE = ((("A", "B"), ("C", "D")), "E")
_STATES = {"A+B": 1000, "C+D": 1000, "A+B+C+D": 1000}
_WINDOWS = (1.5, 3.0, 5.0)
_MONITORS = ("4s", "5s", "6s")
_FRESH_S = 7.5  # a window of 1000 rows lasts about 4.8 s


@dataclass(frozen=True, slots=True)
class _Readings:
    """Where readings are, which sensors they have, and how fast and how long they are replayed."""

    file: str
    sensor: str
    speed: int
    seconds: int

    def path(self) -> Path:
        return Path(os.environ.get("WATERSMEET_DATA", _ROOT.parent / "shared" / "data")) / self.file


_LAB = _Readings("intel_lab/readings.parquet", "moteid", speed=600, seconds=240)
_LIBRARY = _Readings("ulb_library_wsn/readings.parquet", "node", speed=3000, seconds=30)


def have_data() -> bool:
    """Whether the readings are there."""
    return _LAB.path().is_file() and _LIBRARY.path().is_file()


def figure_8() -> dict[str, float]:
    """Results by minute for budgets of 300, 600 and 900 probes per second, and the oldest row in a result."""
    return _figure(_LAB, (300, 600, 900), is_rounded=True)


def figure_8_library() -> dict[str, float]:
    """The same for the library, whose readings end after half a minute of replay."""
    return _figure(_LIBRARY, (300, 600), is_rounded=True)


def figure_8_fine() -> dict[str, float]:
    """On hundredths of a degree, within the streams' windows; of both files. Matches come in bursts: a run
    turns on what was believed when one began, so that cells are compared with whole probes over several runs.
    """
    values: dict[str, float] = {}
    for name, readings, budgets in (("lab", _LAB, (300, 600, 900)), ("library", _LIBRARY, (300, 600))):
        found = _figure(readings, budgets, is_rounded=False)
        found["cells over whole probes"] = _cells_over_whole(readings, budgets)
        values |= {f"{name} {what}": value for what, value in found.items()}
    return values


def _cells_over_whole(readings: _Readings, budgets: tuple[int, ...]) -> float:
    """The geometric mean, over budgets and monitoring periods, of results with cells over those without."""
    batches = list(_batches(readings, step=1))
    gains = []
    for budget in budgets:
        for monitor in _MONITORS:
            with_cells, without = (
                _results(batches, _join(budget, "jaqpot", cells=cells, monitor=monitor))
                for cells in (True, False)
            )
            gains.append(np.log(with_cells / without))
    return float(np.exp(np.mean(gains)))


def _results(batches: list[tuple[int, str, pa.Table]], join: wm.MultiJoin) -> int:
    return sum(join.push(name, batch).num_rows for _, name, batch in batches)


def figure_9c() -> dict[str, float]:
    """The share of stale results at 300 probes per second where nothing is done for freshness: results with a
    row older than so many of its stream's windows.
    """
    batches = list(_batches(_LAB, step=100))
    values: dict[str, float] = {}
    for policy in (*HEURISTICS, "grepp"):
        shares = _stale_shares(batches, policy)
        values |= {f"lab {policy} F={windows:g}": share for windows, share in shares.items()}
        for fewer, more in pairwise(_WINDOWS):
            values[f"lab {policy} fewer at F={more:g}"] = shares[fewer] - shares[more]
    for windows in _WINDOWS:
        values[f"lab worst heuristic F={windows:g}"] = max(
            values[f"lab {policy} F={windows:g}"] for policy in HEURISTICS
        )
    return values


def _stale_shares(batches: list[tuple[int, str, pa.Table]], policy: str) -> dict[float, float]:
    join = _join(300, policy, states=_STATES, freshness=None, output="columns")
    rows = {name: sum(batch.num_rows for _, own, batch in batches if own == name) for name in _NAMES}
    spans = {name: 1000 * _LAB.seconds / count for name, count in rows.items()}
    results, stale = 0, dict.fromkeys(_WINDOWS, 0)
    for _, name, batch in batches:
        found = join.push(name, batch)
        if not found.num_rows:
            continue
        times = {own: found[f"{own}.ts"].to_numpy() for own in _NAMES}
        newest = np.max([*times.values()], axis=0)
        oldest = np.max([(newest - times[own]) / (spans[own] * 1e6) for own in _NAMES], axis=0)
        results += found.num_rows
        for windows in _WINDOWS:
            stale[windows] += int((oldest > windows).sum())
    return {windows: count / max(results, 1) for windows, count in stale.items()}


def _figure(readings: _Readings, budgets: tuple[int, ...], *, is_rounded: bool) -> dict[str, float]:
    batches = list(_batches(readings, step=100 if is_rounded else 1))
    values: dict[str, float] = {}
    for budget in budgets:
        for policy in (*HEURISTICS, "jaqpot"):
            values |= _run(batches, readings, budget, policy, states=_STATES if is_rounded else None)
        best = max(values[f"mu={budget} {policy} total"] for policy in HEURISTICS)
        values[f"mu={budget} best heuristic total"] = best
    return values


def _run(
    batches: list[tuple[int, str, pa.Table]],
    readings: _Readings,
    budget: int,
    policy: str,
    states: dict[str, int] | None,
) -> dict[str, float]:
    join = _join(budget, policy, states=states, freshness=_FRESH_S, output="rows")
    values: dict[str, float] = {}
    results = 0
    for second, name, batch in batches:
        results += join.push(name, batch).num_rows
        if (second + 1) % 60 == 0:
            values[f"mu={budget} {policy} min={(second + 1) // 60}"] = results
    probes = sum(each.probes for each in join.metrics.half_joins.values())
    oldest = max((each.largest_s for each in join.metrics.freshness.values()), default=0.0)
    return values | {
        f"mu={budget} {policy} total": results,
        f"mu={budget} {policy} oldest": oldest,
        f"mu={budget} {policy} stale": float(oldest > _FRESH_S),
        f"mu={budget} {policy} spent": probes / (budget * readings.seconds),
    }


def _join(
    budget: int,
    policy: str,
    *,
    states: dict[str, int] | None = None,
    freshness: float | None = _FRESH_S,
    output: Literal["rows", "columns"] = "rows",
    cells: bool = True,
    monitor: str = "5s",
) -> wm.MultiJoin:
    return wm.MultiJoin(
        [wm.Stream(name, window="1000i", time_unit="us", freshness=freshness) for name in _NAMES],
        tree=_TREE,
        on={pair: wm.equal("temp") for pair in (("A", "B"), ("C", "D"), ("B", "C"), ("D", "E"))},
        budget=budget,
        policy=policy,  # type: ignore[arg-type]
        monitor=monitor,
        analysis="inline",
        output=output,
        states=states,
        cells=cells,
    )


def _batches(readings: _Readings, *, step: int) -> Iterator[tuple[int, str, pa.Table]]:
    """The groups' readings, second by second of the replay, rounded to `step` hundredths of a degree."""
    table = pq.read_table(readings.path(), columns=["ts", readings.sensor, "temp_c100"])
    times = table["ts"].to_numpy()
    times = (times - times[0]) * 1000 // readings.speed
    sensors, temperatures = (
        table[readings.sensor].to_numpy(),
        (table["temp_c100"].to_numpy() + step // 2) // step,
    )
    groups = [np.isin(sensors, part) for part in np.array_split(np.unique(sensors), len(_NAMES))]
    for second in range(readings.seconds):
        inside = (times >= second * 1_000_000) & (times < (second + 1) * 1_000_000)
        for name, group in zip(_NAMES, groups, strict=True):
            rows = inside & group
            yield second, name, pa.table({"ts": times[rows], "temp": temperatures[rows]})
