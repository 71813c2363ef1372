from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.control import ContentState, ScoreLevels, TokenBucket, adapt_threshold, threshold_for_budget


def test_threshold_is_the_score_at_which_the_budget_is_used_up() -> None:
    levels = ScoreLevels([0.1, 0.9, 0.5, 0.7], [10, 10, 10, 10])
    assert threshold_for_budget(levels, 25) == 0.5
    assert threshold_for_budget(levels, 40) == 0.0
    assert threshold_for_budget(levels, 0) == 0.9


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_cells_strictly_above_the_threshold_are_affordable(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    levels = ScoreLevels(rng.random(50), rng.integers(1, 20, 50))
    budget = share * float(levels.costs.sum())
    threshold = threshold_for_budget(levels, budget)
    assert levels.costs[levels.scores > threshold].sum() <= budget
    assert levels.costs[levels.scores >= threshold].sum() >= min(budget, float(levels.costs.sum()))


def test_threshold_is_smoothed_but_plenty_takes_effect_at_once() -> None:
    levels = ScoreLevels([0.2, 0.4, 0.8], [1, 1, 1])
    state, first = adapt_threshold(ContentState(), levels, budget=1)
    assert first == 0.4
    state, second = adapt_threshold(state, levels, budget=0)
    assert second == pytest.approx(0.7 * 0.8 + 0.3 * 0.4)
    _, third = adapt_threshold(state, levels, budget=3)
    assert third == 0.0


def test_period_without_candidates_keeps_the_threshold() -> None:
    assert adapt_threshold(ContentState(0.3), ScoreLevels([], []), budget=1)[1] == 0.3


def test_threshold_follows_a_change_of_scores_and_spends_the_budget() -> None:
    rng, state, spent = np.random.default_rng(1), ContentState(), []
    threshold = 0.0
    for second in range(60):
        scores = rng.exponential(1.0 if second < 30 else 3.0, 2000)
        spent.append(float((scores >= threshold).mean()))
        state, threshold = adapt_threshold(state, ScoreLevels(scores, np.ones(2000)), budget=200)
    assert np.mean(spent[5:30]) == pytest.approx(0.1, abs=0.005)
    assert np.mean(spent[34:]) == pytest.approx(0.1, abs=0.005)


def test_bucket_never_grants_more_than_it_holds_and_fills_to_its_brim() -> None:
    bucket = TokenBucket(tokens=5, capacity=10, rate_per_s=4)
    bucket, granted = bucket.spend(8)
    assert (granted, bucket.tokens) == (5, 0)
    assert bucket.after(1).tokens == 4
    assert bucket.after(100).tokens == 10


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 500)), max_size=40))
def test_bucket_bounds_spending_by_rate_times_time_plus_a_second(steps: list[tuple[float, float]]) -> None:
    bucket, spent, elapsed = TokenBucket(tokens=100, capacity=100, rate_per_s=100), 0.0, 0.0
    for seconds, units in steps:
        bucket, granted = bucket.after(seconds).spend(units)
        spent, elapsed = spent + granted, elapsed + seconds
        assert spent <= 100 + 100 * elapsed + 1e-6
