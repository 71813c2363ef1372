"""Line charts as SVG, drawn without any library, so that a report needs nothing but a browser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

__all__ = ["Chart", "Curve", "svg"]

_COLOURS: Final = ("#1f6fb2", "#d1495b", "#2a9d55", "#8d5fb0", "#c98a1b", "#4d4d4d")
_WIDTH, _HEIGHT = 640.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 34.0, 46.0
_TICKS: Final = 5
_LETTER: Final = 6.0  # width


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (x, y) in order of x; `band` adds (x, low, high) as a shaded interval."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over common axes."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    y_top: float | None = None  # the highest value shown; None: what the curves need


def svg(chart: Chart) -> str:
    """The chart as an SVG element."""
    xs = [x for curve in chart.curves for x, _ in curve.points]
    ys = [y for curve in chart.curves for _, y in curve.points]
    ys += [high for curve in chart.curves for _, _, high in curve.band]
    frame = _Frame(min(xs, default=0.0), max(xs, default=1.0), chart.y_top or max(ys, default=1.0) or 1.0)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(chart.title)}"'
        ' xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11">',
        f'<text x="{_LEFT:g}" y="16" font-size="13" font-weight="bold">{escape(chart.title)}</text>',
        *_legend(chart),
        *_axes(frame, chart),
    ]
    for place, curve in enumerate(chart.curves):
        parts += _curve(frame, curve, _COLOURS[place % len(_COLOURS)])
    return "\n".join([*parts, "</svg>"])


@dataclass(frozen=True, slots=True)
class _Frame:
    x_low: float
    x_high: float
    y_high: float

    def x(self, value: float) -> float:
        share = (value - self.x_low) / ((self.x_high - self.x_low) or 1.0)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = min(1.0, max(0.0, value / self.y_high))
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _axes(frame: _Frame, chart: Chart) -> list[str]:
    parts = []
    for value in _ticks(0.0, frame.y_high):
        y = frame.y(value)
        parts += [
            f'<line x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
            f'<text x="{_LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{value:,.10g}</text>',
        ]
    for value in _ticks(frame.x_low, frame.x_high):
        x = frame.x(value)
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 15:g}" text-anchor="middle">{value:,.10g}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle:g}" y="{_HEIGHT - 12:g}" text-anchor="middle">{escape(chart.x_label)}</text>'
    )
    parts.append(
        f'<text transform="translate(14 {_HEIGHT / 2:g}) rotate(-90)" text-anchor="middle">'
        f"{escape(chart.y_label)}</text>"
    )
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Round values from low to high, some five of them."""
    least = (high - low) / _TICKS
    if not least > 0.0:
        return [low]
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 12) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _legend(chart: Chart) -> list[str]:
    """The names of the curves, on the title's line, from the right."""
    parts = []
    x = _WIDTH - _RIGHT
    for place, curve in reversed(list(enumerate(chart.curves))):
        colour = _COLOURS[place % len(_COLOURS)]
        x -= _LETTER * len(curve.name)
        parts.append(f'<text x="{x:g}" y="16">{escape(curve.name)}</text>')
        parts.append(
            f'<line x1="{x - 24:g}" x2="{x - 6:g}" y1="12" y2="12" stroke="{colour}" stroke-width="3"/>'
        )
        x -= 40
    return parts


def _curve(frame: _Frame, curve: Curve, colour: str) -> list[str]:
    parts = []
    if curve.band:
        upper = [f"{frame.x(x):.1f},{frame.y(high):.1f}" for x, _, high in curve.band]
        lower = [f"{frame.x(x):.1f},{frame.y(low):.1f}" for x, low, _ in reversed(curve.band)]
        parts.append(f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.18"/>')
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in curve.points)
    parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
    return parts
