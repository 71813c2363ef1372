"""Is `metrics.recall` right? Its error and how often its interval holds the truth, policy by policy.

    python bench/shedding/recall.py [--runs 20] [--kappas .6 .8] [--overloads 2 5 10] [--minutes 7]

Shape: that of table.py, 120 s, seeds 100 and up. Target: within 0.03 of the truth, covered in 90 % of runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from bench.shedding.store import Store  # noqa: E402  the checkout has to be on the path first
from bench.shedding.table import MODES, stored  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="errors of metrics.recall")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kappas", type=float, nargs="+", default=[0.6, 0.8])
    parser.add_argument("--overloads", type=float, nargs="+", default=[2.0, 5.0, 10.0])
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args(arguments)
    store = Store("recall", minutes=options.minutes)
    found: dict[tuple[str, float, float], list[dict[str, Any]]] = {}
    for kappa in options.kappas:
        for seed in range(100, 100 + options.runs):
            for mode in options.modes:
                for overload in options.overloads:
                    outcome = stored(store, seed, kappa, mode, 1.0 / overload)
                    if outcome is not None:
                        found.setdefault((mode, kappa, overload), []).append(outcome)
    print("mode         kappa  overload   bias    s.d.     max  within .03  covered  runs  met")
    verdicts = [report(*cell, outcomes) for cell, outcomes in found.items()]
    for mode in options.modes:  # 20 runs of a true 95 % interval cover less than 90 % in one row of thirteen
        runs = [outcome for cell, outcomes in found.items() if cell[0] == mode for outcome in outcomes]
        print(f"{mode:12} all rows: {np.mean([run['covered'] for run in runs]):.3f} of {len(runs)} covered")
    print(f"{sum(verdicts)} of {len(verdicts)} rows met; {store.closing()}")
    return 0 if all(verdicts) and store.left == 0 else 1


def report(mode: str, kappa: float, overload: float, outcomes: list[dict[str, Any]]) -> bool:
    errors = np.array([float(outcome["recall_error"]) for outcome in outcomes])
    covered = float(np.mean([outcome["covered"] for outcome in outcomes]))
    is_met = bool(np.abs(errors).max() <= 0.03 and covered >= 0.9)
    print(
        f"{mode:12} {kappa:5.2f} {overload:8.0f}x {errors.mean():+.4f} {errors.std():7.4f}"
        f" {np.abs(errors).max():7.3f} {np.mean(np.abs(errors) <= 0.03):10.2f} {covered:9.2f}"
        f" {errors.size:5d}  {'yes' if is_met else 'NO'}",
        flush=True,
    )
    return is_met


if __name__ == "__main__":
    sys.exit(main())
