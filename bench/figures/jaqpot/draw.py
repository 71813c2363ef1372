"""The figures' drawings: one panel per plan shape, one curve per policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.figures.jaqpot.plans import HEURISTICS, SHAPES

__all__ = ["draw"]

# Of each figure: title, how a point's name begins, what precedes its number, and the axes.
_PANELS = {
    "fig6": ("J-Fig6", "{shape} {policy} min=", "minutes", "results so far"),
    "fig7": (
        "J-Fig7, productivities near 1",
        "{shape}, near 1, {policy} mu=",
        "μ / saturation",
        "share of results",
    ),
    "fig9": ("J-Fig9a, b", "{shape} {policy} F=", "∮ / window", "share of stale results"),
    "fig7e": (
        "J-Fig7 in the engine, counted states",
        "{shape}, counted {policy} mu=",
        "μ / saturation",
        "share of results",
    ),
    "fig9d": ("J-Fig9d", "{shape} {policy} F=", "∮ / window", "Δμ / μ"),
}


def draw(figure: str, values: Mapping[str, float], path: Path) -> None:
    """Draw a figure; tables have nothing to draw."""
    if figure not in _PANELS:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    title, prefix, across, up = _PANELS[figure]
    drawing, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axes, shape in zip(panels, SHAPES, strict=True):
        for policy in (*HEURISTICS, "grepp", "jaqpot", "share"):
            start = prefix.format(shape=shape, policy=policy)
            points = [
                (float(name[len(start) :]), value) for name, value in values.items() if name.startswith(start)
            ]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", label=policy)
        axes.set(xlabel=across, ylabel=up, title=shape)
        axes.legend()
    drawing.suptitle(title)
    drawing.tight_layout()
    drawing.savefig(path, dpi=110)
    plt.close(drawing)
