"""Draw H-Fig5 to H-Fig10 and check their claims.

    python bench/figures/hammad/run.py [fig5 fig6 fig7 fig9] [--out DIR] [--no-plots]

fig7 also draws H-Fig8 and fig9 also H-Fig10 (the same runs, relative to Sync-Filter). Exit code 1 when a
claim fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.hammad.claims import check  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.hammad.points import FIGURES  # noqa: E402

_AXES = {
    "fig5": ("c (us)", "H-Fig5", "log"),
    "fig6": ("λ1 (rows/s)", "H-Fig6", "log"),
    "fig7": ("c (ms)", "H-Fig7, H-Fig8", "log"),
    "fig9": ("λ1 (rows/s)", "H-Fig9, H-Fig10", "log"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="H-Fig5 to H-Fig10 with their claims")
    parser.add_argument("figures", nargs="*", default=[], metavar="FIGURE", help=f"of {', '.join(FIGURES)}")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "figures" / "hammad")
    parser.add_argument("--no-plots", action="store_true")
    options = parser.parse_args(arguments)
    unknown = set(options.figures) - set(FIGURES)
    if unknown:
        parser.error(f"unknown figure {', '.join(sorted(unknown))}: expected {', '.join(FIGURES)}")
    failed = 0
    for figure in options.figures or FIGURES:
        values = FIGURES[figure]()
        failed += _report(figure, values)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{figure}.json").write_text(json.dumps(values, indent=1))
        if not options.no_plots:
            _draw(figure, values, options.out / f"{figure}.png")
    return 1 if failed else 0


def _report(figure: str, values: Mapping[str, float]) -> int:
    failed = 0
    for claim, measured, holds in check(figure, values):
        failed += not holds
        print(f"{figure}  {'ok  ' if holds else 'FAIL'}  {measured:12.6g}  {claim.says} ({claim.source})")
    return failed


def _draw(figure: str, values: Mapping[str, float], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    label, title, scale = _AXES[figure]
    drawing, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for curve in ("sync-filter", "filter-order", "adaptive"):
        points = _curve(values, curve)
        if points:
            left.plot(*zip(*points, strict=True), marker="o", label=curve)
    for curve in ("gain", "analytic gain"):
        points = _curve(values, curve)
        if points:
            right.plot(*zip(*points, strict=True), marker="o", label=curve)
    for axes, name in ((left, "mean response (s)"), (right, "saved by filter-order, share of sync-filter")):
        axes.set(xlabel=label, ylabel=name, xscale=scale)
        axes.legend()
    left.set_yscale("log")
    drawing.suptitle(title)
    drawing.tight_layout()
    drawing.savefig(path, dpi=110)
    plt.close(drawing)


def _curve(values: Mapping[str, float], name: str) -> list[tuple[float, float]]:
    points = []
    for key, value in values.items():
        curve, _, point = key.rpartition(" ")
        if curve == name:
            points.append((float(point.split("=")[1].rstrip("mus")), value))
    return points


if __name__ == "__main__":
    raise SystemExit(main())
