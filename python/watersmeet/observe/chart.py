"""Line charts as SVG, drawn without any library, so that a report needs nothing but a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

__all__ = ["Chart", "Curve", "svg"]

_COLOURS: Final = ("#1f6fb2", "#d1495b", "#2a9d55", "#8d5fb0", "#c98a1b", "#4d4d4d")
_WIDTH, _HEIGHT = 640.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 34.0, 46.0
_TICKS: Final = 5


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
        *_axes(frame, chart),
    ]
    for place, curve in enumerate(chart.curves):
        parts += _curve(frame, curve, _COLOURS[place % len(_COLOURS)], place)
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
    for tick in range(_TICKS + 1):
        y_value = frame.y_high * tick / _TICKS
        x_value = frame.x_low + (frame.x_high - frame.x_low) * tick / _TICKS
        x, y = frame.x(x_value), frame.y(y_value)
        parts += [
            f'<line x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
            f'<text x="{_LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{y_value:,.4g}</text>',
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 15:g}" text-anchor="middle">{x_value:,.4g}</text>',
        ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle:g}" y="{_HEIGHT - 12:g}" text-anchor="middle">{escape(chart.x_label)}</text>'
    )
    parts.append(
        f'<text transform="translate(14 {_HEIGHT / 2:g}) rotate(-90)" text-anchor="middle">'
        f"{escape(chart.y_label)}</text>"
    )
    return parts


def _curve(frame: _Frame, curve: Curve, colour: str, place: int) -> list[str]:
    parts = []
    if curve.band:
        upper = [f"{frame.x(x):.1f},{frame.y(high):.1f}" for x, _, high in curve.band]
        lower = [f"{frame.x(x):.1f},{frame.y(low):.1f}" for x, low, _ in reversed(curve.band)]
        parts.append(f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.18"/>')
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in curve.points)
    parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
    x = _WIDTH - _RIGHT - 150
    y = _TOP + 14 * place
    parts.append(f'<line x1="{x}" x2="{x + 18}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>')
    parts.append(f'<text x="{x + 24}" y="{y + 4}">{escape(curve.name)}</text>')
    return parts
