"""Curves from the named values of a figure: everything before the last word is the curve, x follows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["curves", "draw"]

_PANELS = {
    "fig8a": (("P-Fig8a", "latency", "N", "s"), ("P-Fig8b", "state", "N", "rows")),
    "fig8c": (("P-Fig8c", "latency", "N", "s"), ("P-Fig8d", "state", "N", "rows")),
    "fig8e": (("P-Fig8e", "latency", "N", "s"), ("P-Fig8f", "state", "N", "rows")),
    "fig8g": (("P-Fig8g", "adaptive", "t", "s"), ("P-Fig8h", "fixed", "t", "s")),
    "ways": (("one partner per step", "latency", "N", "s"),),
    "fitted": (("S = 0.5, by the cost of a pixel", "latency", "N", "s"),),
    "scale": (("S = 0.1 and 0.5", "", "N", "s"),),
}


def curves(values: Mapping[str, float], start: str, axis: str) -> dict[str, list[tuple[float, float]]]:
    """The points of every curve whose name begins like this, by name."""
    found: dict[str, list[tuple[float, float]]] = {}
    for key, value in values.items():
        name, _, point = key.rpartition(" ")
        if name.startswith(start) and point.startswith(f"{axis}=") and " off by" not in name:
            found.setdefault(name, []).append((float(point.split("=")[1]), value))
    return found


def draw(figure: str, values: Mapping[str, float], path: Path) -> None:
    """One picture with the panels of a figure; nothing for a table of numbers."""
    if figure not in _PANELS:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels = _PANELS[figure]
    drawing, places = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4), squeeze=False)
    for axes, (title, start, axis, unit) in zip(places[0], panels, strict=True):
        for name, points in curves(values, start, axis).items():
            axes.plot(*zip(*sorted(points), strict=True), marker=".", label=name)
        axes.set(title=title, xlabel={"N": "nodes", "t": "time (s)"}[axis], ylabel=unit)
        if unit == "s":
            axes.set_yscale("log")
        if figure == "scale":
            axes.set_xscale("log")
        axes.legend(fontsize=7)
    drawing.tight_layout()
    drawing.savefig(path, dpi=110)
    plt.close(drawing)
