from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.control import SlackRule, SlackState, adapt_slack, late_share_for_recall
from watersmeet.control.slack import _bin, _upper_edge, delays_of


def run(times: np.ndarray, rule: SlackRule, batch: int = 500) -> tuple[float, list[int]]:
    """Share of rows late by the bound in force at their batch, after a warm-up of a fifth, and the bounds."""
    state, late, counted, bounds, newest = SlackState.unknown(), 0, 0, [], None
    for start in range(0, times.size, batch):
        rows = times[start : start + batch]
        if start >= times.size // 5:
            late += int((delays_of(rows, newest=newest) > state.lateness).sum())
            counted += rows.size
        newest = int(rows.max() if newest is None else max(newest, rows.max()))
        state, bound = adapt_slack(state, rows, rule)
        bounds.append(bound)
    return late / counted, bounds


def arrivals(seed: int, rows: int, mean_delay: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    times = np.arange(rows) * 1000
    return times[np.argsort(times + rng.exponential(mean_delay, rows), kind="stable")]


def test_ordered_rows_need_no_slack() -> None:
    assert run(np.arange(10_000) * 10, SlackRule())[1] == [0] * 20


@pytest.mark.parametrize("target", [0.05, 0.01, 0.002])
@pytest.mark.parametrize("mean_delay", [5_000.0, 500_000.0])
def test_late_share_stays_under_its_target_with_a_bound_that_is_hardly_larger_than_needed(
    target: float, mean_delay: float
) -> None:
    times = arrivals(3, 100_000, mean_delay)
    late, bounds = run(times, SlackRule(late_share=target))
    needed = float(np.quantile(delays_of(times), 1 - target))
    assert late <= 1.25 * target
    assert bounds[-1] <= 1.3 * needed


def test_bound_follows_growing_and_shrinking_delays() -> None:
    calm, rough = arrivals(1, 50_000, 2_000.0), arrivals(2, 50_000, 100_000.0)
    shifted = rough + calm.max() + 1
    again = calm + shifted.max() + 1
    _, bounds = run(np.concatenate([calm, shifted, again]), SlackRule(half_life_rows=3000))
    assert bounds[195] > 10 * bounds[95]
    assert bounds[-1] < 2 * bounds[95]


def test_empty_batch_changes_nothing() -> None:
    state = SlackState.unknown()
    assert adapt_slack(state, [])[0] is state


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=50))
def test_bin_edge_is_not_below_the_delay_and_within_a_thirtieth_above(delays: list[int]) -> None:
    for delay, index in zip(delays, _bin(np.array(delays, dtype=np.int64)), strict=True):
        edge = _upper_edge(int(index))
        assert float(delay) * (1 - 1e-12) <= edge <= delay * (1 + 1 / 30) + 1


def test_recall_target_is_split_over_the_streams() -> None:
    assert (1 - late_share_for_recall(0.9)) ** 2 == pytest.approx(0.9)
    assert late_share_for_recall(0.9, streams=1) == pytest.approx(0.1)
