"""One plot per figure: every name "curve x=number" is a point of a curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

__all__ = ["draw"]

_AXES = {
    "fig5": ("b / w", "φ", "log"), "fig6": ("age (s)", "matches per 10⁴ comparisons", "linear"),
    "fig7": ("w (s)", "share of rows dropped", "linear"), "fig8": ("time (s)", "r", "linear"),
    "fig9": ("time (s)", "results/s", "linear"), "fig10": ("κ", "gain over random drop", "linear"),
    "fig11": ("time (s)", "r₁, r₂", "linear"), "fig12": ("κ", "share of the full answer", "linear"),
    "fig13": ("κ", "results/s", "linear"), "fig14": ("b (s)", "share of the full answer", "log"),
    "fig15": ("rate (rows/s)", "gain over random drop", "linear"),
    "fig16": ("k", "gain in utility", "linear"),
    "fig17": ("|Z|", "gain in utility", "log"),
}  # fmt: skip


def draw(figure: str, values: Mapping[str, float], path: Path) -> None:
    """Write the figure as an image."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    label, name, scale = _AXES[figure]
    drawing, axes = plt.subplots(figsize=(7, 4.5))
    for curve, points in _curves(values).items():
        if len(points) > 1:
            axes.plot(*zip(*sorted(points), strict=True), marker=".", label=curve)
    axes.set(xlabel=label, ylabel=name, xscale=scale, title=figure.replace("fig", "G-Fig"))
    axes.legend(fontsize=7)
    drawing.tight_layout()
    drawing.savefig(path, dpi=110)
    plt.close(drawing)


def _curves(values: Mapping[str, float]) -> dict[str, list[tuple[float, float]]]:
    curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for key, value in values.items():
        curve, _, point = key.rpartition(" ")
        number = point.partition("=")[2]
        if number:
            curves[curve].append((float(number), value))
    return curves
