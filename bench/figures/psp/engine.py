"""The engine against the simulator: throughput and response time on rings of one slice, two, and too many.

    python bench/figures/psp/engine.py [--rows 300] [--repeats 3] [--save]

Unit costs are measured first, by the part of wm.cost.calibrate() that is about slices: each is a
difference of two small runs, none of which has the windows, streams or selectivities of the runs that are
predicted. Then images of 15,000 bytes are joined, two and three ways, and simulated with those costs: in
batches of 64 rows for throughput, a row per call for the response time. More slices than cores share the
cores, so the number that is predicted to be the fastest is the number of cores. Exit code 1 when
simulator and engine differ by more than 15 % with as many slices or with one, or response times do not
fall up to the predicted number. --save keeps the costs for the figures, in costs.json.
"""

from __future__ import annotations

import json
import os
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
INTERLEAVE = 64
BATCH = 64
AGREE = 0.15


@dataclass(frozen=True, slots=True)
class Setting:
    """One join: streams in a chain, rows per window, and the share of pairs that are near."""

    streams: int
    window: int
    selectivity: float


SETTINGS = (Setting(2, 300, 0.02), Setting(2, 500, 0.02), Setting(3, 200, 0.01), Setting(3, 300, 0.02))


def main(rows: int = 320, calls: int = 80, repeats: int = 3, save: bool = False) -> None:
    """Measure, simulate, compare."""
    from watersmeet.join.calibration.slices import slice_costs

    measured = slice_costs(repeats=repeats)
    print("  ".join(f"{name} {value:.4g}" for name, value in measured.items()), flush=True)
    if save:
        COSTS.write_text(
            json.dumps({"machine": machine.card(), "slices": measured}, indent=1, default=str) + "\n"
        )
    cores = len(os.sched_getaffinity(0))
    compared = [
        _compared(setting, measured, what, batch=batch, rows=count, repeats=repeats, cores=cores)
        for setting in SETTINGS
        for what, batch, count in (("throughput", BATCH, rows), ("response", 1, calls))
    ]
    if not all(compared):
        raise SystemExit(1)


def _compared(
    setting: Setting,
    measured: dict[str, float],
    what: str,
    *,
    batch: int,
    rows: int,
    repeats: int,
    cores: int,
) -> bool:
    """Whether the simulator is near enough, and more slices are faster as far as it says."""
    bound, kept = _bound(setting.selectivity)
    took = {}
    fine = True
    for slices in (1, cores, cores + 1):
        took[slices] = min(_row_s(setting, bound, slices, rows, batch=batch) for _ in range(repeats))
        about = f"{setting.streams}-way, {setting.window} rows, S={kept:.3f}, {slices} slices, {what}"
        engine_us = took[slices] * 1e6
        if slices > cores:
            print(f"{about}: engine {engine_us:8.1f} us per row, more slices than cores", flush=True)
            continue
        simulated = _simulated_s(setting, kept, measured, slices, batch=batch)
        off = simulated / took[slices] - 1
        fine = fine and abs(off) <= AGREE
        print(
            f"{about}: engine {engine_us:8.1f} us per row, simulator {simulated * 1e6:8.1f},"
            f" off by {off:+.1%}",
            flush=True,
        )
    print(f"    {cores} slices: {took[1] / took[cores]:.2f} x one", flush=True)
    return fine and took[cores] < took[1]


def _simulated_s(
    setting: Setting, kept: float, measured: dict[str, float], slices: int, *, batch: int
) -> float:
    from watersmeet.cost import Calibration
    from watersmeet.ring import RingLoad, UnitCosts
    from watersmeet.ring.simulation import simulate_ring

    costs = UnitCosts.measured(
        Calibration((), {}, {}, measured),
        vector_bytes=PIXEL_BYTES,
        streams=setting.streams,
        crowded=slices > 1,
    )
    if slices == 1:  # it sends to itself, which is no hop
        costs = replace(costs, hop_s=0.0, send_s=0.0)
    load = RingLoad.of(
        (50.0,) * setting.streams, setting.window / 50.0, selectivity=kept, row_bytes=PIXEL_BYTES
    )
    cycles = max(BATCH, batch) * setting.streams
    return simulate_ring(
        load,
        costs,
        slices,
        interleave=INTERLEAVE,
        batch=batch * setting.streams if batch > 1 else 1,
        cycles=cycles,
        seed=1,
    ).cycle_s


def _images(rows: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (rows, PIXEL_BYTES), dtype=np.uint8)


def _bound(selectivity: float) -> tuple[float, float]:
    """The mean difference below which about this share of random pairs lies, and the share that does."""
    one, two = _images(300, 11), _images(300, 12)
    means = np.concatenate([(np.maximum(one, row) - np.minimum(one, row)).mean(axis=1) for row in two])
    bound = float(np.quantile(means, selectivity))
    return bound, float((means <= bound).mean())


def _row_s(setting: Setting, bound: float, slices: int, rows: int, *, batch: int) -> float:
    """What a row takes, in batches of so many of each stream in turn."""
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
        _push(join, names, tables, 0, setting.window, BATCH)
        began = time.perf_counter()
        _push(join, names, tables, setting.window, count, batch)
        return (time.perf_counter() - began) / (rows * setting.streams)


def _push(join: Any, names: str, tables: list[pa.Table], first: int, last: int, batch: int) -> None:
    for start in range(first, last, batch):
        for name, table in zip(names, tables, strict=True):
            join.push(name, table.slice(start, min(batch, last - start)))


if __name__ == "__main__":
    typer.run(main)
