from __future__ import annotations

import math

import pytest
from tests.python.plan.plans import paper_plan

from watersmeet.errors import ConfigError
from watersmeet.plan import AdaptRule, Plan, allocate, analyse, from_probes, largest_move, should_analyse


def changed(plan: Plan, *, selectivity: dict[str, float] | None = None, rate_a: float = 500) -> Plan:
    return Plan(
        plan.tree,
        rates={**plan.rates, "A": rate_a},
        states=plan.states,
        selectivity={**plan.selectivity, **(selectivity or {})},
        freshness=plan.freshness,
    )


def test_a_small_move_is_kept_without_planning() -> None:
    plan = paper_plan()
    now = changed(plan, rate_a=520)
    in_force = allocate(plan, budget=300)
    assert largest_move(plan, now) == pytest.approx(20 / 520)
    assert not should_analyse(plan, now)
    decision = analyse(plan, now, in_force, at_s=1.0, budget=300)
    assert decision.kind == "kept"
    assert decision.allocation is in_force
    assert "moved 3.8%" in str(decision)


def test_a_move_that_gains_nothing_is_analysed_and_kept() -> None:
    plan = paper_plan()
    decision = analyse(plan, changed(plan, rate_a=900), allocate(plan, budget=300), at_s=1.0, budget=300)
    assert decision.kind == "analysed"
    assert decision.gain == pytest.approx(0.0)


def test_a_move_that_pays_is_actuated_with_the_promise_in_the_log() -> None:
    plan = paper_plan()
    now = changed(plan, selectivity={"A+B": 0.0, "A+B+C": 0.1})
    decision = analyse(plan, now, allocate(plan, budget=300), at_s=2.5, budget=300)
    assert decision.kind == "actuated"
    assert decision.expected == 0.0
    assert decision.promised == pytest.approx(300 * 0.1 * 200)
    assert decision.gain == math.inf
    assert str(decision).startswith("2.500 s  actuated: 0 -> 6000 results/s")


def test_thresholds_are_adjustable() -> None:
    plan = paper_plan()
    now = changed(plan, rate_a=520)
    assert should_analyse(plan, now, AdaptRule(analyse_above=0.01))
    in_force = from_probes(plan, {"A": 0, "B": 49, "A+B": 251, "C": 0}, policy="grepp", budget=300)
    eager = AdaptRule(analyse_above=0.01, actuate_above=0.01)
    assert analyse(plan, now, in_force, at_s=0, budget=300, rule=eager).kind == "actuated"
    with pytest.raises(ConfigError, match="analyse_above=-1"):
        AdaptRule(analyse_above=-1)


def test_a_changed_budget_is_planned_for_whatever_the_statistics() -> None:
    plan = paper_plan()
    assert analyse(plan, plan, allocate(plan, budget=300), at_s=0, budget=600).kind == "actuated"
    assert analyse(plan, plan, allocate(plan, budget=300), at_s=0, budget=100).kind == "actuated"


def test_freshness_that_can_be_kept_and_is_not_is_actuated_whatever_it_costs() -> None:
    fresh = paper_plan().with_freshness(windows=5)
    starving = from_probes(fresh, {"A": 0, "B": 0, "A+B": 0, "C": 300}, policy="equal", budget=300)
    now = changed(fresh, selectivity={"A+B+C": 0.9})
    decision = analyse(fresh, now, starving, at_s=0, budget=300)
    assert decision.kind == "actuated"
    assert decision.problem is None


def test_an_infeasible_freshness_is_in_the_log() -> None:
    plan = paper_plan().with_freshness(windows=1.5)
    decision = analyse(plan, changed(plan, rate_a=700), allocate(plan, budget=300), at_s=0, budget=300)
    assert decision.problem is not None
    assert "needs a budget of" in str(decision)
