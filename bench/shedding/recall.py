"""Is `metrics.recall` right? Its error and how often its interval holds the truth, policy by policy.

    python bench/shedding/recall.py [--runs 20] [--kappas .6 .8] [--overloads 2 5 10]

Shape: that of table.py, 120 s, seeds 100 and up. Target: within 0.03 of the truth, covered in 90 % of runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from bench.shedding.table import MODES, make_case, run  # noqa: E402  the checkout has to be on the path first


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="errors of metrics.recall")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kappas", type=float, nargs="+", default=[0.6, 0.8])
    parser.add_argument("--overloads", type=float, nargs="+", default=[2.0, 5.0, 10.0])
    options = parser.parse_args(arguments)
    print("mode         kappa  overload   bias    s.d.     max  within .03  covered")
    for kappa in options.kappas:
        found: dict[tuple[str, float], list[tuple[float, bool]]] = {}
        for seed in range(100, 100 + options.runs):
            case = make_case(seed, kappa)
            for mode in MODES:
                for overload in options.overloads:
                    outcome = run(case, mode, 1.0 / overload, seed)
                    found.setdefault((mode, overload), []).append((outcome.recall_error, outcome.covered))
        for (mode, overload), outcomes in found.items():
            errors = np.array([error for error, _ in outcomes])
            print(
                f"{mode:12} {kappa:5.2f} {overload:8.0f}x {errors.mean():+.4f} {errors.std():7.4f}"
                f" {np.abs(errors).max():7.3f} {np.mean(np.abs(errors) <= 0.03):10.2f}"
                f" {np.mean([covered for _, covered in outcomes]):9.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
