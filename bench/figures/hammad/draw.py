"""Two panels a figure: mean responses, and what Filter-Order saves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["draw"]

_AXES = {
    "fig5": ("c (us)", "H-Fig5", "log"),
    "fig6": ("λ1 (rows/s)", "H-Fig6", "log"),
    "fig7": ("c (ms)", "H-Fig7, H-Fig8", "log"),
    "fig9": ("λ1 (rows/s)", "H-Fig9, H-Fig10", "log"),
}


def draw(figure: str, values: Mapping[str, float], path: Path) -> None:
    """One picture of a figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    label, title, scale = _AXES[figure]
    drawing, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for curve in ("sync-filter", "filter-order", "adaptive", "sooner"):
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
