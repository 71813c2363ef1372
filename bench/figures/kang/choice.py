"""Does the cost model pick the fastest of HHJ, HNJ, NHJ and NNJ on this machine?

    python bench/figures/kang/choice.py [--repeats 4] [--rows 200000] [--quick] [--stop-after 100]

Grid: rates 1:1 to 1:100, windows of 1,000 to 64,000 rows of the faster stream, 10 to 100,000 keys. Each cell
is run with all four combinations of index=; a run's time is the least of its repeats, which take turns. The
choice is that of `wm.cost.choose_index` from rates, windows and key counts alone, with this machine's
calibration (measured first if there is none). Exit code 1 unless the fastest is picked in at least 90 % of
the cells and the pick is never more than 1.15 times slower than the fastest.

Two numbers are given: cells where the pick is the fastest as measured, and cells where it cannot be told from
it. The error of a cell is how far the least times of its even and of its odd repeats are apart, for the pick
or the fastest, whichever is further; two that differ by less are not told apart. The first number decides.

It can be run in pieces: cells that --out holds already, of the same calibration and size, are not run again;
with --stop-after it ends with 2 while there are more.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.kang.streams import COMBINATIONS, Cell, run  # noqa: E402  the root has to be on the path
from bench.machine import card  # noqa: E402
from watersmeet import cost  # noqa: E402
from watersmeet.join.calibration.cache import read_calibration  # noqa: E402
from watersmeet.join.calibration.calibrate import calibrate  # noqa: E402

_RATIOS = (1, 3, 10, 30, 100)
_WINDOW_ROWS = (1_000, 4_000, 16_000, 64_000)
_KEYS = (10, 100, 10_000, 100_000)
_FAST_RATE = 10_000.0
_LEAST_HITS, _WORST_RATIO = 0.90, 1.15
_MOST_COMPARISONS = 4e9  # of a scanned run: longer ones are made shorter
_MOST_PAIRS = 2e7


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell: seconds of each combination, and the pick."""

    cell: Cell
    times: dict[str, list[float]]
    picked: str

    @property
    def seconds(self) -> dict[str, float]:
        return {name: min(times) for name, times in self.times.items()}

    @property
    def error(self) -> float:
        """How far repeats of the pick, or of the fastest, are apart, as a share."""
        halves = [
            (min(self.times[name][::2]), min(self.times[name][1::2])) for name in (self.picked, self.fastest)
        ]
        return max(max(pair) / min(pair) - 1.0 for pair in halves)

    @property
    def is_tie(self) -> bool:
        """Whether the pick cannot be told from the fastest."""
        return self.ratio <= 1.0 + self.error

    @property
    def fastest(self) -> str:
        return min(self.seconds, key=lambda name: self.seconds[name])

    @property
    def ratio(self) -> float:
        """Time of the pick over the time of the fastest."""
        return self.seconds[self.picked] / self.seconds[self.fastest]


def cells(rows: int) -> list[Cell]:
    """The grid; cells whose answer would be too large are left out."""
    found = []
    for ratio, window_rows, keys in itertools.product(_RATIOS, _WINDOW_ROWS, _KEYS):
        rates = (_FAST_RATE / ratio, _FAST_RATE)
        window = window_rows / _FAST_RATE
        compared = rates[0] * 2 * window * _FAST_RATE / sum(rates)  # per row, if windows are scanned
        count = min(rows, _MOST_COMPARISONS / compared, _MOST_PAIRS * keys / compared)
        if count * _FAST_RATE / sum(rates) >= 1.5 * window_rows and count >= rows / 20:
            found.append(Cell(rates, (window, window), keys, int(count)))
    return found


def pick(cell: Cell, unit_costs: cost.UnitCosts) -> str:
    """The combination that the model chooses."""
    loads = cost.estimate_loads(
        "equal", rates=cell.rates, window_rows=cell.window_rows, keys=(cell.keys, cell.keys)
    )
    return ",".join(choice.index for choice in cost.choose_index(loads, unit_costs=unit_costs))


def measure(cell: Cell, repeats: int, unit_costs: cost.UnitCosts) -> Outcome:
    times: dict[str, list[float]] = {",".join(combination): [] for combination in COMBINATIONS}
    for _ in range(repeats):
        for combination in COMBINATIONS:
            times[",".join(combination)].append(run(cell, combination))
    return Outcome(cell, times, pick(cell, unit_costs))


def measured_before(path: Path, unit_costs: cost.UnitCosts) -> dict[Cell, Outcome]:
    """The cells that a file holds; picks are made again, since they cost nothing."""
    if not path.exists():
        return {}
    found = {}
    for each in json.loads(path.read_text())["cells"]:
        parts = each["cell"]
        cell = Cell(
            tuple(parts["rates"]), tuple(parts["windows"]), parts["keys"], parts["rows"], parts["seed"]
        )
        found[cell] = Outcome(cell, each["times"], pick(cell, unit_costs))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the model's picks against the truth")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--quick", action="store_true", help="every fifth cell")
    parser.add_argument("--fresh", action="store_true", help="measure all cells again")
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "figures" / "kang")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    unit_costs = (read_calibration() or calibrate()).unit_costs
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "choice.json"
    before = {} if options.fresh else measured_before(path, unit_costs)
    outcomes: list[Outcome] = []
    grid = cells(options.rows)[:: 5 if options.quick else 1]
    for cell in grid:
        if cell not in before and time.monotonic() - begin > options.stop_after:
            break
        outcomes.append(before.get(cell) or measure(cell, options.repeats, unit_costs))
        print(_line(outcomes[-1]), flush=True)
    kept = {"machine": card(), "cells": [asdict(each) for each in outcomes]}
    path.write_text(json.dumps(kept, indent=1))
    if len(outcomes) < len(grid):
        print(f"{len(outcomes)} of {len(grid)} cells are measured: run it again")
        return 2
    return _verdict(outcomes)


def _line(outcome: Outcome) -> str:
    cell = outcome.cell
    times = "  ".join(f"{name} {seconds * 1e3:8.2f}" for name, seconds in outcome.seconds.items())
    mark = "ok  " if outcome.picked == outcome.fastest else f"{outcome.ratio:4.2f}"
    mark += f" ± {outcome.error:.0%}"
    ratio = cell.rates[1] / cell.rates[0]
    return (
        f"1:{ratio:<4g} {cell.window_rows[1]:>7,.0f} rows {cell.keys:>7,} keys   {times} ms"
        f"   {mark} picked {outcome.picked}"
    )


def _verdict(outcomes: Sequence[Outcome]) -> int:
    hits = sum(each.picked == each.fastest for each in outcomes) / len(outcomes)
    worst = max(each.ratio for each in outcomes)
    near = sum(each.ratio <= 1.02 for each in outcomes) / len(outcomes)
    fixed = {
        name: max(e.seconds[name] / e.seconds[e.fastest] for e in outcomes) for name in outcomes[0].seconds
    }
    ties = sum(each.is_tie for each in outcomes) / len(outcomes)
    print(f"picked the fastest in {hits:.1%} of {len(outcomes)} cells (within 2 % of it in {near:.1%});")
    print(f"the fastest, or one that repeats do not tell from it, in {ties:.1%}")
    print(f"worst pick {worst:.3f} times the fastest; always the same: ", end="")
    print(", ".join(f"{name} {ratio:.3g}" for name, ratio in fixed.items()))
    return 0 if hits >= _LEAST_HITS and worst <= _WORST_RATIO else 1


if __name__ == "__main__":
    raise SystemExit(main())
