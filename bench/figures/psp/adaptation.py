"""P-Fig8g/h: the rate doubles in mid-run; 8 slices of time, against slices of rows whose number may follow.

The paper gives no ring length for this experiment; both runs start with 8 of the 19 nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.figures.psp.settings import cluster, image_load
from watersmeet.ring import (
    ResizeRule,
    ResizeState,
    RingLoad,
    RingStatistics,
    SmoothingRule,
    SmoothingState,
    adapt_length,
    smooth,
    tune_load,
)
from watersmeet.ring.simulation import simulate_ring

__all__ = ["series"]

_BEFORE, _AFTER, _CHANGE_S, _WINDOW_S = 50.0, 100.0, 300.0, 10.0
_SELECTIVITY, _FIRST, _MOST = 0.1, 8, 19


def series(*, adapt: bool) -> dict[float, float]:
    """Latency (s) by time (s) of a run of 600 s, sampled more often while the window turns over."""
    run = _adapted() if adapt else _fixed()
    return dict(run)


def _moments() -> list[float]:
    return [float(t) for t in (*range(20, 295, 25), *range(295, 331), *range(335, 600, 20))]


def _fixed() -> Iterator[tuple[float, float]]:
    slices = _FIRST
    for now in _moments():
        edges = [_WINDOW_S * end / slices for end in range(slices + 1)]
        rows = [_rows_between(now, edges[place], edges[place + 1]) for place in range(slices)]
        yield now, _latency(rows)


def _adapted() -> Iterator[tuple[float, float]]:
    rule = ResizeRule(most=_MOST, patience=2)
    length = ResizeState(_FIRST)
    state = SmoothingState.start(length.slices)
    rows = [_BEFORE * _WINDOW_S / length.slices] * length.slices
    for now in _moments():
        total = _rows_between(now, 0.0, _WINDOW_S)
        load = _load(total)
        state, bounds = smooth(state, [round(held) for held in rows], SmoothingRule(memory=0.9))
        rows = _filled(total, bounds.rows if state.set_for else (None,) * length.slices)
        yield now, _latency(rows)
        busy = min(1.0, load.rate_per_s * load.ring_s(cluster(), length.slices) / length.slices)
        statistics = RingStatistics(
            1.0,
            busy * length.slices,
            waiting_rows=1,
            model_slices=tune_load(load, cluster(), most=_MOST).slices,
        )
        after, _ = adapt_length(length, statistics, rule)
        if after.slices != length.slices:
            state = SmoothingState.start(after.slices)
            rows = [total / after.slices] * after.slices
        length = after


def _filled(total: float, bounds: tuple[int | None, ...]) -> list[float]:
    """Slices filled up to their bounds from the head on; the tail takes the rest."""
    rows, left = [], total
    for bound in bounds:
        held = left if bound is None else min(left, float(bound))
        rows.append(held)
        left -= held
    return rows


def _rows_between(now: float, young: float, old: float) -> float:
    """Rows of one stream whose age lies between the two."""
    since_change = max(0.0, now - _CHANGE_S)
    fresh = max(0.0, min(old, since_change) - min(young, since_change))
    return fresh * _AFTER + (old - young - fresh) * _BEFORE


def _load(total: float) -> RingLoad:
    return image_load(_SELECTIVITY, rate=total / _WINDOW_S)


def _latency(rows: list[float]) -> float:
    total = sum(rows)
    held = [[max(part, 1e-9)] * 3 for part in rows]
    return simulate_ring(_load(total), cluster(), len(rows), slice_rows=held, cycles=3).latency_s
