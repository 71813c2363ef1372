"""The picture of the README: results per second against input rate, on one fixed budget.

    python bench/keeping_up.py [--out docs/keeping_up.svg]

Two streams of keyword sets, [Gedik]'s generator , overlap >= 3, windows of 20 s, scanned; the budget
pays for the full join at 50 rows per second and stream. Stream time, so the numbers do not depend on the
machine. Every policy's results are counted against the exact join's, which they may not exceed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import watersmeet as wm
from watersmeet.testing import gedik_streams

ROOT = Path(__file__).resolve().parents[1]
RATES = (25, 50, 75, 100, 150, 200, 300)
POLICIES = {
    "all comparisons": None,
    "content": "watersmeet, by content",
    "density": "watersmeet, any predicate",
    "gedik": "published algorithms",
    "random-drop": "dropping tuples",
}
SECONDS, WINDOW_S, BUDGET = 80, 20, 2 * 50 * 50 * 20
SEED, KAPPA = 7, 0.8


def results_per_second(rate: int, policy: str) -> float:
    """What a join gives per second of stream time, once its windows are full."""
    shed = None if policy == "all comparisons" else wm.Shed(wm.comparisons(BUDGET), policy=policy)
    join = wm.WindowJoin(
        wm.Stream("cnn", window=f"{WINDOW_S}s"),
        wm.Stream("reuters", window=f"{WINDOW_S}s"),
        on=wm.overlap("items", at_least=3),
        basic_window="1s",
        index="inverted" if shed is None else "scan",
        shed=shed,
        output="rows",
    )
    cnn, reuters = gedik_streams(SEED, kappa=KAPPA, rate=rate, seconds=SECONDS)
    tables = [join.push("cnn", cnn), join.push("reuters", reuters), join.finish()]
    newest = [np.maximum(table.column(0).to_numpy(), table.column(1).to_numpy()) for table in tables if table]
    warm = rate * 2 * WINDOW_S  # rows are evenly spaced, so a row's number tells its time
    return sum(int((rows >= warm).sum()) for rows in newest) / (SECONDS - 2 * WINDOW_S)


def main() -> int:
    parser = argparse.ArgumentParser(description="results per second against input rate, by policy")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "keeping_up.svg")
    options = parser.parse_args()
    curves: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for rate in RATES:
        for policy, curve in curves.items():
            curve.append(results_per_second(rate, policy))
        print(
            f"{rate:4} rows/s", *(f"{policy} {curve[-1]:.1f}" for policy, curve in curves.items()), sep="   "
        )
        most = curves["all comparisons"][-1]
        if any(curve[-1] > most for curve in curves.values()):
            print("a policy gave more than the full answer", file=sys.stderr)
            return 1
    draw(curves, options.out)
    return 0


def draw(curves: dict[str, list[float]], path: Path) -> None:
    """One curve per policy; what lies beyond the capacity of a full join is shaded."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "watersmeet"
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(figsize=(7, 3.4))
    for policy, curve in curves.items():
        label = POLICIES[policy] or "unlimited CPU"
        style = (
            {"color": "0.6", "linestyle": ":"}
            if POLICIES[policy] is None
            else {"marker": "o", "markersize": 4}
        )
        axes.plot(RATES, curve, label=label, **style)
    axes.axvspan(50, max(RATES), color="0.95", zorder=0)
    axes.set(
        xlabel="input, rows per second and stream (shaded: more than the CPU can join in full)",
        ylabel="results per second",
        yscale="log",
    )
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    drawing.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, metadata={"Date": None})
    plt.close(drawing)


if __name__ == "__main__":
    raise SystemExit(main())
