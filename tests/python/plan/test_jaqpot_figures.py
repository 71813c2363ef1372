from __future__ import annotations

import numpy as np
import pytest
from bench.figures.claims import check, read_claims
from bench.figures.jaqpot.engine import engine_plans, run_engine
from bench.figures.jaqpot.plans import fig2b, per_cycle
from bench.figures.jaqpot.points import FIGURES
from bench.figures.jaqpot.simulate import Simulation

from watersmeet.plan import Policy, allocate, saturation

_LONG = {"fig7e", "fig8", "fig8f", "fig8u", "fig9", "fig9c"}  # minutes: `watersmeet figures jaqpot` runs them


@pytest.mark.parametrize("figure", [name for name in FIGURES if name not in _LONG])
def test_every_claim_of_the_figure_holds(figure: str) -> None:
    failed = [
        (claim.says, measured)
        for claim, measured, holds in check("jaqpot", figure, FIGURES[figure]())
        if not holds
    ]
    assert failed == []
    assert len(read_claims("jaqpot", figure)) >= 10


def test_claim_can_fail() -> None:
    claim = read_claims("jaqpot", "tab4")[0]
    assert not claim.holds({claim.value: -1.0})


@pytest.mark.parametrize("policy", ["grepp", "equal", "global-ratio"])
def test_the_simulated_plan_makes_what_the_model_says(policy: Policy) -> None:
    plan = per_cycle(fig2b(), cycles_per_s=10)
    allocation = allocate(plan, budget=30, policy=policy)
    simulation = Simulation(plan, seed=3)
    cycles = [simulation.cycle(plan, allocation.probes) for _ in range(600)]
    made = float(np.mean([cycle.results for cycle in cycles]))
    spent = float(np.mean([sum(cycle.probes.values()) for cycle in cycles]))
    assert made == pytest.approx(allocation.throughput, rel=0.05)
    assert spent <= 30.0 + 0.1


def test_simulation_is_a_function_of_its_seed() -> None:
    plan = per_cycle(fig2b(), cycles_per_s=10)
    probes = allocate(plan, budget=30, policy="equal").probes

    def results(seed: int) -> list[int]:
        simulation = Simulation(plan, seed)
        return [simulation.cycle(plan, probes).results for _ in range(20)]

    assert results(1) == results(1) != results(2)


@pytest.mark.parametrize(
    ("shape", "share", "place"), [("linear", 0.2, 8), ("bushy", 0.6, 14), ("bushy", 0.6, 19)]
)
def test_engine_spends_its_budget_and_makes_what_the_formula_and_it_itself_say(
    shape: str, share: float, place: int
) -> None:
    """The last of these has a state that takes half a minute to fill, whatever is spent on it."""
    plan = engine_plans(shape, count=place + 1, selectivity=(0.0001, 0.001), counted=True)[place]
    budget = share * saturation(plan.plan()).budget
    run = run_engine(plan, budget=budget, policy="jaqpot", seconds=60)
    assert 0.985 <= run.spent <= 1.01
    assert run.results_per_s >= 0.95 * plan.promised(budget)
    assert run.results_per_s == pytest.approx(run.predicted, rel=0.05)
