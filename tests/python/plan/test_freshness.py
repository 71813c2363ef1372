from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from tests.python.plan.plans import paper_plan, random_plan

from watersmeet.plan import (
    Plan,
    allocate,
    cover,
    flow,
    greedy_cover,
    minimum_cover,
    refresh_rates,
    saturation,
)


@pytest.mark.parametrize(("windows", "rate", "cost"), [(1.5, 560, 672), (3, 140, 168), (5, 70, 84)])
def test_refresh_rate_and_cheapest_cover_of_the_papers_plan(windows: float, rate: float, cost: float) -> None:
    plan = paper_plan().with_freshness(windows=windows)
    assert refresh_rates(plan) == pytest.approx({"A+B": rate})
    needed = cover(plan, 1000)
    assert needed is not None
    assert needed.cost == pytest.approx(cost)
    assert needed.paths == pytest.approx({"A": 0, "B": cost, "C": 0})


def test_infeasible_freshness_says_what_budget_or_freshness_would_do() -> None:
    plan = paper_plan().with_freshness(windows=1.5)
    found = allocate(plan, budget=300)
    assert found.cover is not None
    assert not found.cover.feasible
    assert found.cover.needed_budget == pytest.approx(672)
    assert found.cover.problem is not None
    assert "a budget of 672 probes per second" in found.cover.problem
    assert found.cover.paths == pytest.approx({"A": 0, "B": 300, "C": 0})  # as fresh as can be

    relaxed = Plan(
        plan.tree,
        rates=plan.rates,
        states=plan.states,
        selectivity=plan.selectivity,
        freshness={name: seconds * (1 + 1e-9) for name, seconds in found.cover.needed_freshness.items()},
    )
    again = cover(relaxed, 300)
    assert again is not None
    assert again.feasible
    assert again.cost == pytest.approx(300)
    enough = cover(plan, found.cover.needed_budget)
    assert enough is not None
    assert enough.feasible
    assert enough.problem is None


def test_freshness_that_no_budget_can_keep_says_so() -> None:
    plan = Plan(
        (("A", "B"), "C"),
        rates={"A": 10, "B": 10, "C": 10},
        states={"A": 10, "B": 10, "C": 10, "A+B": 1000},
        selectivity={"A+B": 0.1, "A+B+C": 0.1},
        freshness={"A": 1.1},
    )
    needed = cover(plan, 1e9)
    assert needed is not None
    assert needed.needed_budget == math.inf
    assert needed.problem is not None
    assert "any budget" in needed.problem
    assert needed.needed_freshness["A"] == pytest.approx(51.0)  # 1000 rows at 20 rows/s, and its own window


def test_freshness_within_the_window_leaves_no_time_between_the_joins() -> None:
    plan = paper_plan().with_freshness(windows=1.0)
    assert refresh_rates(plan) == {"A+B": math.inf}
    needed = cover(plan, 1e9)
    assert needed is not None
    assert not needed.feasible


def test_a_stream_that_enters_at_the_root_needs_no_refreshing() -> None:
    plan = paper_plan()
    fresh = Plan(
        plan.tree, rates=plan.rates, states=plan.states, selectivity=plan.selectivity, freshness={"C": 0.001}
    )
    assert refresh_rates(fresh) == {}
    assert cover(fresh, 10) is None


def test_the_greedy_cover_of_spec_j7_is_optimal_there() -> None:
    plan = Plan(
        ((("A", "B"), "C"), "D"),
        rates=dict.fromkeys("ABCD", 1000),
        states={"A": 2000, "B": 500, "C": 3000, "D": 1000, "A+B": 4000, "A+B+C": 1000},
        selectivity={"A+B": 0.001, "A+B+C": 0.001, "A+B+C+D": 0.001},
    )
    assert [plan.productivities[name] for name in ("A", "B", "A+B", "C")] == pytest.approx([0.5, 2, 3, 4])
    wanted = {"A+B": 60.0, "A+B+C": 200.0}
    for found in (minimum_cover(plan, wanted), greedy_cover(plan, wanted)):
        assert found == pytest.approx({"A": 0, "B": 270, "C": 25, "D": 0})


def _least_cost(plan: Plan, rates: Mapping[str, float]) -> float:
    """A cost that no cover can undercut: what its rows are worth at prices that make no path a bargain."""
    from scipy.optimize import linprog

    paths = list(plan.paths.values())
    brought = np.array(
        [
            [dict(zip(path.hops[1:], path.cardinalities, strict=False)).get(state, 0.0) for path in paths]
            for state in rates
        ]
    )
    costs = np.array([path.probes_per_row for path in paths])
    limits = np.array([path.rate for path in paths])
    demand = np.array(list(rates.values()))
    found = linprog(
        np.concatenate([-demand, limits]),
        A_ub=np.hstack([brought.T, -np.eye(len(paths))]),
        b_ub=costs,
        bounds=[(0, None)] * (len(demand) + len(paths)),
    )
    prices = np.maximum(found.x, 0.0)
    for_rows, for_limits = prices[: len(demand)], prices[len(demand) :]
    worth = brought.T @ for_rows - for_limits
    assert (worth <= costs * (1.0 + 1e-7) + 1e-9).all(), "the prices prove nothing"
    return float(demand @ for_rows - limits @ for_limits)


def test_the_cover_equals_the_optimum_on_1000_plans() -> None:
    """Every cover comes with a proof: prices of the refresh rates and of the streams' limits under which no
    cover can cost less (weak duality). The prices are checked here, not believed. Three streams have one
    state to renew: its optimum needs no linear program at all.
    """
    rng = np.random.default_rng(5)
    gaps = []
    for _ in range(1000):
        streams = int(rng.integers(3, 7))
        plan = random_plan(rng, streams=streams).with_freshness(windows=float(rng.uniform(1.5, 5)))
        rates = refresh_rates(plan)
        best, greedy = minimum_cover(plan, rates), greedy_cover(plan, rates)
        if best is None:
            assert greedy is None
            continue
        _covers(plan, best, rates)
        assert sum(best.values()) == pytest.approx(_least_cost(plan, rates), rel=1e-6)
        if streams == 3:
            assert sum(best.values()) == pytest.approx(_one_state(plan, rates), rel=1e-7)
        if greedy is not None:
            _covers(plan, greedy, rates)
            gaps.append(sum(greedy.values()) / sum(best.values()) - 1.0)
    assert min(gaps) >= -1e-7
    assert float(np.mean(gaps)) < 0.02


def test_a_feasible_allocation_keeps_every_refresh_rate_on_top_of_which_it_fills_up() -> None:
    rng = np.random.default_rng(6)
    feasible = 0
    for _ in range(200):
        plan = random_plan(rng, streams=int(rng.integers(3, 8))).with_freshness(windows=3)
        budget = 0.3 * saturation(plan).budget
        found = allocate(plan, budget=budget)
        assert found.spent <= budget * (1 + 1e-6)
        if found.cover is None or not found.cover.feasible:
            continue
        feasible += 1
        produced = flow(plan, found.probes).produced
        assert all(produced[name] >= rate * (1 - 1e-6) for name, rate in found.cover.rates.items())
        assert found.throughput >= flow(plan, _as_probes(plan, found.cover.paths)).throughput * (1 - 1e-9)
    assert feasible > 50


def _covers(plan: Plan, paths: dict[str, float], rates: object) -> None:
    produced = flow(plan, _as_probes(plan, paths)).produced
    assert isinstance(rates, dict)
    assert all(produced[state] >= rate * (1 - 1e-6) for state, rate in rates.items())


def _as_probes(plan: Plan, paths: object) -> dict[str, float]:
    assert hasattr(paths, "items")
    probes = dict.fromkeys(plan.tree.half_joins, 0.0)
    for stream, spent in paths.items():
        path = plan.paths[stream]
        for hop, per_row in zip(path.hops, path.probes_per_hop, strict=True):
            probes[hop] += spent / path.probes_per_row * per_row
    return probes


def _one_state(plan: Plan, rates: object) -> float:
    assert isinstance(rates, dict)
    ((state, left),) = rates.items()
    cost = 0.0
    paths = [path for path in plan.paths.values() if state in path.hops[1:]]
    for path in sorted(paths, key=lambda path: path.probes_per_row / path.cardinalities[0]):
        brought = min(left, path.rate * path.cardinalities[0])
        cost += brought / path.cardinalities[0] * path.probes_per_row
        left -= brought
    return cost
