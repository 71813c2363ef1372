"""The engine against the simulator: what a row takes on rings of one and two slices.

    python bench/figures/psp/engine.py [--rows 300] [--repeats 3] [--save]

Unit costs are measured first, by the part of wm.cost.calibrate() that is about slices: each is a difference
of two small runs, none of which has the windows, streams or selectivities of the runs that are predicted.
Then images of 15,000 bytes are joined, two and three ways, and simulated with those costs. Exit code 1 when
simulator and engine differ by more than 15 % anywhere, or two slices are not faster than one. --save keeps
the costs for the figures, in costs.json.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import typer  # noqa: E402

from bench import machine  # noqa: E402
from bench.figures.psp.settings import COSTS  # noqa: E402

PIXEL_BYTES = 15_000
INTERLEAVE = 16
AGREE = 0.15


@dataclass(frozen=True, slots=True)
class Setting:
    """One join: streams in a chain, rows per window, and the share of pairs that are near."""

    streams: int
    window: int
    selectivity: float


SETTINGS = (Setting(2, 300, 0.02), Setting(2, 500, 0.02), Setting(3, 200, 0.01), Setting(3, 300, 0.02))


def main(rows: int = 300, repeats: int = 3, save: bool = False) -> None:
    """Measure, simulate, compare."""
    from watersmeet.cost import Calibration
    from watersmeet.join.calibration.slices import slice_costs
    from watersmeet.ring import RingLoad, UnitCosts
    from watersmeet.ring.simulation import simulate_ring

    measured = slice_costs(repeats=repeats)
    print("  ".join(f"{name} {value:.4g} ns" for name, value in measured.items()), flush=True)
    costs = UnitCosts.measured(Calibration((), {}, {}, measured), vector_bytes=PIXEL_BYTES)
    if save:
        COSTS.write_text(
            json.dumps({"machine": machine.card(), "slices": measured}, indent=1, default=str) + "\n"
        )
    fine = True
    for setting in SETTINGS:
        bound, kept = _bound(setting.selectivity)
        load = RingLoad.of(
            (50.0,) * setting.streams, setting.window / 50.0, selectivity=kept, row_bytes=PIXEL_BYTES
        )
        took = {}
        for slices in (1, 2):
            best = min(_row_s(setting, bound, slices, rows) for _ in range(repeats))
            # One slice sends to itself, which is no hop.
            unit = costs if slices > 1 else replace(costs, hop_s=0.0, send_s=0.0)
            simulated = simulate_ring(
                load, unit, slices, interleave=INTERLEAVE, cycles=40 * setting.streams, seed=1
            ).cycle_s
            took[slices] = best
            off = simulated / best - 1
            fine = fine and abs(off) <= AGREE
            print(
                f"{setting.streams}-way, {setting.window} rows, S={kept:.3f}, {slices} slices: "
                f"engine {best * 1e6:8.1f} us per row, simulator {simulated * 1e6:8.1f}, off by {off:+.1%}",
                flush=True,
            )
        print(f"    two slices: {took[1] / took[2]:.2f} x one")
        fine = fine and took[2] < took[1]
    if not fine:
        raise SystemExit(1)


def _images(rows: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (rows, PIXEL_BYTES), dtype=np.uint8)


def _bound(selectivity: float) -> tuple[float, float]:
    """The mean difference below which about this share of random pairs lies, and the share that does."""
    one, two = _images(300, 11), _images(300, 12)
    means = np.concatenate([(np.maximum(one, row) - np.minimum(one, row)).mean(axis=1) for row in two])
    bound = float(np.quantile(means, selectivity))
    return bound, float((means <= bound).mean())


def _row_s(setting: Setting, bound: float, slices: int, rows: int) -> float:
    import watersmeet as wm

    names = "ABC"[: setting.streams]
    count = setting.window + rows
    tables = []
    for seed in range(setting.streams):
        column = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(PIXEL_BYTES), count, [None, pa.py_buffer(_images(count, seed))]
        )
        tables.append(pa.table({"ts": np.arange(count), "image": column, "row": np.arange(count)}))
    near = wm.distance("image", metric="mean-abs", at_most=bound)
    chain = dict.fromkeys(pairwise(names), near)
    join = wm.RingJoin(
        [wm.Stream(name, time="ts", window=f"{setting.window}i") for name in names],
        on=chain,
        slices=slices,
        interleave=INTERLEAVE,
        topology="ring",
        orderings={"A": ("B", "C"), "B": ("A", "C"), "C": ("B", "A")} if setting.streams == 3 else None,
    )
    with join:
        _push(join, names, tables, 0, setting.window)
        began = time.perf_counter()
        _push(join, names, tables, setting.window, count)
        return (time.perf_counter() - began) / (rows * setting.streams)


def _push(join: Any, names: str, tables: list[pa.Table], first: int, last: int) -> None:
    for start in range(first, last, 64):
        for name, table in zip(names, tables, strict=True):
            join.push(name, table.slice(start, min(64, last - start)))


if __name__ == "__main__":
    typer.run(main)
