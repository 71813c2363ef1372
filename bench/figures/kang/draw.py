"""The drawings of K-Fig2 to K-Fig11, with the paper's axes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["curves", "draw"]

_AXES = {
    "fig2": ("λb (rows/s)", "cost per second", "K-Fig2: four joins, σ = 0.1"),
    "fig3": ("λb (rows/s)", "cost per second", "K-Fig3: four joins, σ = 0.05"),
    "fig4": ("λb (rows/s)", "cost per second", "K-Fig4: A to B"),
    "fig5": ("|B|", "λb / λa", "K-Fig5: where scanning takes over"),
    "fig6": ("λb (rows/s)", "CPU time of 60 s worth of rows (s)", "K-Fig6: four joins"),
    "fig7": ("λb (rows/s)", "results/s", "K-Fig7: output at a fixed capacity"),
    "fig8": ("", "results/s", "K-Fig8: which stream to thin"),
    "fig9": ("", "results/s", "K-Fig9: sharing memory, fixed rates"),
    "fig10": ("", "results/s", "K-Fig10: sharing memory and rates"),
    "fig11": ("x", "A (rows)", "K-Fig11: results/s over x and A"),
}


def draw(figure: str, values: Mapping[str, float], path: Path) -> None:
    """Draw one figure into a file."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    across, up, title = _AXES[figure.removesuffix("-engine")]
    drawing, axes = plt.subplots(figsize=(6.5, 4.5))
    if figure == "fig11":
        _surface(drawing, axes, values)
    elif across:
        _lines(axes, values)
    else:
        axes.barh(list(values), list(values.values()))
        across, up = up, ""
    if figure.endswith("-engine"):
        title, up = f"{title}, on this engine", up.replace("cost per second", "CPU time (s)")
    axes.set(xlabel=across, ylabel=up, title=title)
    drawing.tight_layout()
    drawing.savefig(path, dpi=110)
    plt.close(drawing)


def curves(values: Mapping[str, float]) -> dict[str, list[tuple[float, float]]]:
    """The curves among the values: names of the form `curve point=number`."""
    found: dict[str, list[tuple[float, float]]] = {}
    for key, value in values.items():
        name, _, point = key.rpartition(" ")
        if name and point.count("=") == 1:
            found.setdefault(name, []).append((float(point.split("=")[1]), value))
    return found


def _lines(axes: Any, values: Mapping[str, float]) -> None:
    for name, points in curves(values).items():
        axes.plot(*zip(*sorted(points), strict=True), marker="o", markersize=3, label=name)
    axes.legend()


def _surface(drawing: Any, axes: Any, values: Mapping[str, float]) -> None:
    points = [key.split() for key in values if key.startswith("x=")]
    shares = sorted({float(share[2:]) for share, _ in points})
    rows = sorted({float(kept[2:]) for _, kept in points})
    heights = [[values[f"x={share:g} A={kept:g}"] for share in shares] for kept in rows]
    drawing.colorbar(axes.contourf(shares, rows, heights, levels=10), label="results/s")
