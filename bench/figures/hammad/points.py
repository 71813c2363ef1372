"""The numbers behind each figure: a flat mapping from a name to a value, which claims.toml speaks about."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.figures.hammad.simulate import Outcome, Workload, simulate
from watersmeet.control.ordering import (
    AdaptiveRule,
    filter_order_response,
    order_load,
    relative_improvement,
    sync_filter_response,
)

__all__ = ["FIGURES", "Values", "figure_5", "figure_6", "figure_7", "figure_9"]

Values = Mapping[str, float]
_DAY_S = 86_400.0
_SEEDS = range(4, 12)
_ALPHA = 0.3


def figure_5() -> Values:
    """H-Fig5: response against the cost of a comparison, 1 and 10 rows per second, a window of a day."""
    values: dict[str, float] = {}
    for doubling in range(8):
        cost_us = 0.01 * 2**doubling
        values |= _analytic(f"c={cost_us:g}us", cost_us * 1e-6, rates=(1.0, 10.0), window_s=_DAY_S)
    return values


def figure_6() -> Values:
    """H-Fig6: response against the slow stream's rate, the fast one at 1 row/s, a window of a day."""
    values: dict[str, float] = {}
    for slow in (0.0001, 0.001, 0.01, 0.05, 0.1):
        values |= _analytic(f"l1={slow:g}", 1e-4, rates=(slow, 1.0), window_s=_DAY_S)
    return values


def figure_7() -> Values:
    """H-Fig7 and 8: simulated response against the cost of a comparison, 1 and 10 rows per second, 60 s."""
    values: dict[str, float] = {}
    for cost_ms in (0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0):
        values |= _simulated(f"c={cost_ms:g}ms", cost_ms * 1e-3, rates=(1.0, 10.0))
    return values


def figure_9() -> Values:
    """H-Fig9 and 10: simulated response against the slow stream's rate, the fast one at 10 rows per second,
    60 s.
    """
    values: dict[str, float] = {}
    for slow in (0.01, 0.05, 0.1, 0.5, 1.0):
        values |= _simulated(f"l1={slow:g}", 5e-4, rates=(slow, 10.0))
    return values


FIGURES: Mapping[str, Callable[[], Values]] = {
    "fig5": figure_5,
    "fig6": figure_6,
    "fig7": figure_7,
    "fig9": figure_9,
}


def _analytic(
    point: str, comparison_s: float, *, rates: tuple[float, float], window_s: float
) -> dict[str, float]:
    load = order_load(comparison_s, windows_s=(window_s, window_s), rates_per_s=rates)
    return {
        f"sync-filter {point}": sync_filter_response(comparison_s, window_s=window_s, rates_per_s=rates),
        f"filter-order {point}": filter_order_response(rates),
        f"gain {point}": relative_improvement(load),
    }


def _simulated(point: str, comparison_s: float, *, rates: tuple[float, float]) -> dict[str, float]:
    published = AdaptiveRule((60.0, 60.0), alpha=_ALPHA)
    own = AdaptiveRule((60.0, 60.0))
    runs = [Workload(rates, comparison_s, seed=seed) for seed in _SEEDS]
    sync = _mean([simulate(run, "sync-filter") for run in runs])
    early = _mean([simulate(run, "filter-order") for run in runs])
    chosen = [simulate(run, published) for run in runs]
    sooner = [simulate(run, own) for run in runs]
    load = order_load(comparison_s, windows_s=(60.0, 60.0), rates_per_s=rates)
    return {
        f"sync-filter {point}": sync,
        f"filter-order {point}": early,
        f"adaptive {point}": _mean(chosen),
        f"sooner {point}": _mean(sooner),
        f"switches {point}": float(max(run.switches for run in chosen)),
        f"sooner switches {point}": float(max(run.switches for run in sooner)),
        f"gain {point}": 1.0 - early / sync,
        f"analytic gain {point}": relative_improvement(load),
    }


def _mean(runs: list[Outcome]) -> float:
    return sum(run.response_s for run in runs) / len(runs)
