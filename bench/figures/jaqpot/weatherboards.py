"""J-Fig8 and J-Fig9c in the engine: five groups of Intel Lab motes, joined on equal temperature.

The tree is the paper's, (((A B) (C D)) E), windows are 1000 rows. The join attribute, which the paper does
not give (SPEC J10), is the temperature in hundredths of a degree as the file has it: with coarser ones the
windows' exact answer runs to millions of rows per second. Readings, one per mote and 30 s, are replayed 600
times as fast. The data are in ../shared/data beside the checkout, or in the folder that WATERSMEET_DATA
names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import watersmeet as wm
from bench.figures.jaqpot.plans import HEURISTICS

__all__ = ["figure_8", "have_data"]

_ROOT = Path(__file__).resolve().parents[3]
_SPEED = 600
_SECONDS = 240
_NAMES = "ABCDE"
_TREE = ((("A", "B"), ("C", "D")), "E")
_FRESH_S = 7.5  # a window of 1000 rows lasts about 4.8 s


def have_data() -> bool:
    """Whether the readings are there."""
    return _file().is_file()


def figure_8() -> dict[str, float]:
    """Results by minute for budgets of 300, 600 and 900 probes per second, and the oldest row in a result."""
    batches = list(_batches())
    values: dict[str, float] = {}
    for budget in (300, 600, 900):
        for policy in (*HEURISTICS, "jaqpot"):
            values |= _run(batches, budget, policy)
        best = max(values[f"mu={budget} {policy} min=4"] for policy in HEURISTICS)
        values[f"mu={budget} best heuristic min=4"] = best
    return values


def _run(batches: list[tuple[int, str, pa.Table]], budget: int, policy: str) -> dict[str, float]:
    streams = [wm.Stream(name, window="1000i", time_unit="us", freshness=_FRESH_S) for name in _NAMES]
    on = {pair: wm.equal("temp") for pair in (("A", "B"), ("C", "D"), ("B", "C"), ("D", "E"))}
    join = wm.MultiJoin(
        streams,
        tree=_TREE,
        on=on,
        budget=budget,
        policy=policy,  # type: ignore[arg-type]
        monitor="5s",
        analysis="inline",
    )
    values: dict[str, float] = {}
    results = 0
    for second, name, batch in batches:
        results += join.push(name, batch).num_rows
        if (second + 1) % 60 == 0:
            values[f"mu={budget} {policy} min={(second + 1) // 60}"] = results
    probes = sum(each.probes for each in join.metrics.half_joins.values())
    oldest = max((each.largest_s for each in join.metrics.freshness.values()), default=0.0)
    return values | {
        f"mu={budget} {policy} oldest": oldest,
        f"mu={budget} {policy} stale": float(oldest > _FRESH_S),
        f"mu={budget} {policy} spent": probes / (budget * _SECONDS),
    }


def _batches() -> Iterator[tuple[int, str, pa.Table]]:
    """The groups' readings, second by second of the replay."""
    table = pq.read_table(_file(), columns=["ts", "moteid", "temp_c100"])
    times = table["ts"].to_numpy() * 1000 // _SPEED
    motes, temperatures = table["moteid"].to_numpy(), table["temp_c100"].to_numpy()
    groups = [np.isin(motes, part) for part in np.array_split(np.unique(motes), len(_NAMES))]
    for second in range(_SECONDS):
        inside = (times >= second * 1_000_000) & (times < (second + 1) * 1_000_000)
        for name, group in zip(_NAMES, groups, strict=True):
            rows = inside & group
            yield second, name, pa.table({"ts": times[rows], "temp": temperatures[rows]})


def _file() -> Path:
    folder = Path(os.environ.get("WATERSMEET_DATA", _ROOT.parent / "shared" / "data"))
    return folder / "intel_lab" / "readings.parquet"
