from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from watersmeet.control import (
    CellCounts,
    DensityRule,
    DensityState,
    WindowPlan,
    WindowStatistics,
    adapt_density,
    estimated_densities,
    fill_knapsack,
)
from watersmeet.errors import ConfigError

CELLS = 5


def statistics(matches: list[float], comparisons: float = 1000.0, sampled: float = 10.0) -> WindowStatistics:
    seen = CellCounts([comparisons] * CELLS, matches)
    return WindowStatistics(seen, CellCounts([sampled] * CELLS, [0.0] * CELLS), np.full(CELLS, 1000.0))


FLAT = statistics([10.0] * CELLS)
PEAKED = statistics([10.0, 10.0, 100.0, 50.0, 10.0])


def unknown() -> DensityState:
    return DensityState.unknown((CELLS, CELLS))


@given(st.integers(0, 100_000), st.floats(0, 1))
def test_oracle_knapsack_is_the_optimum_of_the_linear_program(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    densities = (rng.random((2, 3)), rng.random((1, 4)))
    due = (rng.random((2, 3)) * 10, rng.random((1, 4)) * 10)
    budget = share * (due[0].sum() + due[1].sum())
    shares = fill_knapsack(densities, due, budget)
    reached = sum(float((s * d * v).sum()) for s, d, v in zip(shares, densities, due, strict=True))
    value = np.concatenate([(d * v).ravel() for d, v in zip(densities, due, strict=True)])
    volume = np.concatenate([v.ravel() for v in due])
    best = linprog(-value, A_ub=[volume], b_ub=[budget], bounds=(0, 1)).fun
    assert reached == pytest.approx(-best, rel=1e-6, abs=1e-9)
    assert sum(float((s * v).sum()) for s, v in zip(shares, due, strict=True)) <= budget + 1e-9


def test_budget_goes_to_the_best_cells_of_either_window() -> None:
    _, (first, second) = adapt_density(unknown(), (PEAKED, FLAT), budget_per_s=2000.0, period_s=1.0)
    assert first.order[:2] == (2, 3)
    assert first.fraction > 0.3
    assert second.fraction == 0.0


def test_both_windows_share_the_budget_when_both_have_a_peak() -> None:
    _, (first, second) = adapt_density(unknown(), (PEAKED, PEAKED), budget_per_s=2000.0, period_s=1.0)
    assert first.order == second.order
    assert min(first.fraction, second.fraction) > 0.15  # the better cell of each, before the second of either


@pytest.mark.parametrize("share", [0.001, 0.02, 0.1, 0.5, 0.99])
def test_planned_and_full_probes_together_cost_the_budget(share: float) -> None:
    budget = share * 10_000.0
    _, plans = adapt_density(unknown(), (PEAKED, FLAT), budget_per_s=budget, period_s=1.0)
    cost = sum(5000.0 * (p.full_probe_share + (1 - p.full_probe_share) * p.fraction) for p in plans)
    assert cost == pytest.approx(budget, rel=1e-9)


def test_plenty_visits_everything_and_samples_nothing() -> None:
    _, plans = adapt_density(unknown(), (PEAKED, FLAT), budget_per_s=10_000.0, period_s=1.0)
    assert all(plan.fractions == (1.0,) and plan.full_probe_share == 0.0 for plan in plans)


def test_exploration_never_stops() -> None:
    state = unknown()
    for _ in range(500):
        state, plans = adapt_density(state, (PEAKED, FLAT), budget_per_s=100.0, period_s=1.0)
    assert state.exploration == pytest.approx(DensityRule().exploration, rel=1e-6)
    assert min(plan.full_probe_share for plan in plans) > 0.0


def test_cell_that_goes_unseen_is_sampled_with_rising_urgency_until_it_is_seen() -> None:
    looked_at = np.full(CELLS, 10.0)
    looked_at[2] = 0.0
    counts = CellCounts(looked_at, np.zeros(CELLS))
    blind = WindowStatistics(counts, counts, np.full(CELLS, 100.0))
    state = unknown()
    shares = []
    for _ in range(2000):
        state, plans = adapt_density(state, (PEAKED, blind), budget_per_s=1.0, period_s=1.0)
        shares.append(plans[1].full_probe_share)
    assert shares[-1] == 1.0
    state, plans = adapt_density(state, (PEAKED, FLAT), budget_per_s=1.0, period_s=1.0)
    assert plans[1].full_probe_share < 0.01


def test_change_is_detected_at_once_and_exploration_rises_then_falls() -> None:
    rule, rng = DensityRule(), np.random.default_rng(5)
    before, after = np.full(CELLS, 0.01), np.full(CELLS, 0.01)
    before[1], after[3] = 0.05, 0.05
    state, raised = unknown(), []
    for period in range(120):
        density = before if period < 60 else after
        drawn = statistics(rng.poisson(10_000 * density).tolist(), comparisons=10_000.0)
        state, plans = adapt_density(state, (drawn, FLAT), budget_per_s=1000.0, period_s=1.0, rule=rule)
        raised.append(state.exploration)
        if period == 59:
            assert state.changes == 0
            assert plans[0].order[0] == 1
        if period == 61:
            assert plans[0].order[0] == 3
            detected = state.changes
    assert 1 <= detected <= 2  # once more while the old densities fade
    assert state.changes == detected
    assert raised[60] == rule.alarmed_exploration
    assert raised[59] < 1.01 * rule.exploration
    assert raised[-1] < 1.01 * rule.exploration


def test_scatter_beyond_chance_becomes_usual_and_raises_no_alarm() -> None:
    rng, state = np.random.default_rng(6), unknown()
    changes = []
    for _ in range(300):
        clustered = (rng.poisson(10, CELLS) * 12).tolist()  # matches come in dozens
        drawn = statistics(clustered, comparisons=10_000.0)
        state, _ = adapt_density(state, (drawn, drawn), budget_per_s=1000.0, period_s=1.0)
        changes.append(state.changes)
    assert changes[-1] == changes[50]


def test_cell_that_goes_barren_is_given_up_in_the_next_period_and_the_others_are_not() -> None:
    rule, rng, state = DensityRule(), np.random.default_rng(7), unknown()
    before = np.array([0.01, 0.05, 0.01, 0.04, 0.01])
    after = np.where(before == 0.05, 0.01, before)
    for period in range(61):
        density = before if period < 60 else after
        matches = 10.0 * rng.poisson(1000 * density)  # they come in tens, so that all cells together are calm
        drawn = statistics(matches.tolist(), comparisons=10_000.0)
        other = statistics((10.0 * rng.poisson(10, CELLS)).tolist(), comparisons=10_000.0)
        state, plans = adapt_density(state, (drawn, other), budget_per_s=1000.0, period_s=1.0, rule=rule)
        if period == 59:
            assert plans[0].order[:2] == (1, 3)
            known, changes = state.counts[0].comparisons[0], state.changes
    assert plans[0].order[0] == 3
    assert estimated_densities(state.counts[0])[0, 1] < before[3]
    assert state.counts[0].comparisons[0, 1] < 0.3 * known[1]
    assert state.counts[0].comparisons[0, 3] > 0.9 * known[3]
    assert state.changes == changes


def test_unknown_cell_borrows_from_its_neighbours_and_a_known_one_does_not() -> None:
    counts = CellCounts([1e6, 0, 1e6, 1e6, 1e6], [1e5, 0, 1e5, 1e3, 1e3])
    density = estimated_densities(counts)[0]
    assert density[1] == pytest.approx(0.1, rel=0.05)
    assert density[2] == pytest.approx(0.1, rel=0.01)
    assert density[3] == pytest.approx(0.001, rel=0.05)


def test_optimism_lifts_the_little_known_cell_only() -> None:
    counts = CellCounts([1e6, 100, 1e6], [1e4, 1, 1e4])
    plain, hopeful = (estimated_densities(counts, optimism=x)[0] for x in (0.0, 1.0))
    assert hopeful[1] / plain[1] > 1.3
    assert hopeful[0] / plain[0] < 1.02


def test_types_get_fractions_of_their_own() -> None:
    seen = CellCounts(np.full((2, 3), 1e4), np.array([[1000.0] * 3, [10.0] * 3]))
    window = WindowStatistics(seen, seen, np.full((2, 3), 100.0))
    _, (first, _) = adapt_density(
        DensityState.unknown((3, 3), types=2), (window, window), budget_per_s=600.0, period_s=1.0
    )
    assert first.fractions[0] > 0.9
    assert first.fractions[1] < 0.1


def test_state_is_a_value_that_a_step_does_not_change() -> None:
    state = unknown()
    counts = state.counts[0].comparisons.copy()
    adapt_density(state, (PEAKED, FLAT), budget_per_s=100.0, period_s=1.0)
    assert (state.counts[0].comparisons == counts).all()
    with pytest.raises(ValueError, match="read-only"):
        state.counts[0].comparisons[0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.exploration = 0.0  # type: ignore[misc]


def test_bad_settings_and_plans_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"exploration=0\.0"):
        DensityRule(exploration=0.0)
    with pytest.raises(ConfigError, match="order"):
        WindowPlan((0, 0), (0.5,))
    with pytest.raises(ConfigError, match="one shape"):
        CellCounts([1.0, 2.0], [1.0])
    with pytest.raises(ConfigError, match="finite"):
        CellCounts([float("nan")], [1.0])
