from __future__ import annotations

import numpy as np
import pytest

from watersmeet.errors import ConfigError
from watersmeet.plan import (
    Workload,
    allocate,
    choose_tree,
    every_tree,
    flow,
    parse_tree,
    probes_per_s,
    saturation,
    settle,
    steady_state,
)


def random_workload(rng: np.random.Generator, streams: int) -> Workload:
    names = "ABCDEFGH"[:streams]
    pairs = [(one, other) for at, one in enumerate(names) for other in names[at + 1 :]]
    chosen = [pair for pair in pairs if rng.random() < 0.6] or pairs[:1]
    return Workload(
        rates={name: rng.uniform(1, 100) for name in names},
        windows={name: rng.uniform(10, 500) for name in names},
        selectivity={pair: float(10 ** rng.uniform(-3, -1)) for pair in chosen},
    )


def test_states_between_joins_are_the_living_combinations() -> None:
    work = Workload(
        rates={"A": 10, "B": 20, "C": 30},
        windows={"A": 100, "B": 200, "C": 300},
        selectivity={("A", "B"): 0.01, ("C", "B"): 0.02},
    )
    plan = work.plan((("A", "B"), "C"))
    assert plan.states["A+B"] == pytest.approx(200)
    assert plan.selectivity["A+B+C"] == pytest.approx((0.02, 0.02))
    assert work.made_per_s("AB") == pytest.approx(10 * 0.01 * 200 + 20 * 0.01 * 100)
    assert saturation(plan).throughput == pytest.approx(work.made_per_s("ABC"))


def test_saturation_throughput_does_not_depend_on_the_tree() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        work = random_workload(rng, 4)
        for tree in every_tree("ABCD"):
            plan = work.plan(tree)
            assert saturation(plan).throughput == pytest.approx(work.made_per_s("ABCD"))
            assert saturation(plan).budget == pytest.approx(probes_per_s(work, parse_tree(tree)))


@pytest.mark.parametrize("streams", [3, 4, 5, 6])
def test_dynamic_programming_finds_the_cheapest_of_all_trees(streams: int) -> None:
    rng = np.random.default_rng(streams)
    for _ in range(3):
        work = random_workload(rng, streams)
        cheapest = min(probes_per_s(work, parse_tree(tree)) for tree in every_tree(work.streams))
        assert choose_tree(work).probes_per_s == pytest.approx(cheapest)


def test_with_a_budget_the_tree_with_the_highest_throughput_is_chosen() -> None:
    rng = np.random.default_rng(9)
    for _ in range(5):
        work = random_workload(rng, 4)
        budget = 0.3 * choose_tree(work).probes_per_s
        found = choose_tree(work, budget=budget, policy="grepp")
        others = [
            steady_state(work, tree, budget=budget, policy="grepp").allocation.throughput
            for tree in every_tree("ABCD")
        ]
        assert found.throughput == pytest.approx(max(others))


def test_beyond_eight_streams_auto_is_refused() -> None:
    names = "ABCDEFGHI"
    work = Workload(rates=dict.fromkeys(names, 1), windows=dict.fromkeys(names, 1), selectivity={})
    with pytest.raises(ConfigError, match="9 streams; expected at most 8"):
        choose_tree(work)


def test_steady_state_is_a_fixed_point_of_states_and_allocation() -> None:
    rng = np.random.default_rng(3)
    settled = 0
    for _ in range(60):
        work = random_workload(rng, int(rng.integers(3, 6)))
        tree = next(every_tree(work.streams))
        budget = rng.uniform(0.1, 0.9) * saturation(work.plan(tree)).budget
        found = steady_state(work, tree, budget=budget, policy="global-ratio")
        own = settle(work, found.plan, found.allocation.probes)
        assert own.states == pytest.approx(dict(found.plan.states))
        settled += found.settled
        if found.settled:
            again = allocate(found.plan, budget=budget, policy="global-ratio")
            assert again.probes == pytest.approx(dict(found.allocation.probes), rel=1e-6)
    assert settled >= 30


def test_the_steady_throughput_is_never_below_that_of_a_heuristic() -> None:
    rng = np.random.default_rng(5)
    gains = []
    for _ in range(40):
        work = random_workload(rng, int(rng.integers(3, 6)))
        tree = list(every_tree(work.streams))[int(rng.integers(3))]
        budget = rng.uniform(0.2, 0.6) * saturation(work.plan(tree)).budget
        best = steady_state(work, tree, budget=budget, policy="grepp").allocation
        heuristics = [
            steady_state(work, tree, budget=budget, policy=policy).allocation.throughput
            for policy in ("equal", "global-ratio", "equal-best", "selectivity-best")
        ]
        assert best.spent <= budget * (1 + 1e-6)
        assert best.throughput >= max(heuristics) * (1 - 1e-9)
        gains.append(best.throughput / max(heuristics))
    assert float(np.mean(gains)) > 1.5


def test_withdrawing_finds_what_a_general_optimiser_finds_from_many_starts() -> None:
    from scipy.optimize import minimize

    from watersmeet.plan.withdraw import _Model, withdraw

    rng = np.random.default_rng(6)
    for _ in range(6):
        work = random_workload(rng, 4)
        tree = parse_tree(list(every_tree("ABCD"))[int(rng.integers(15))])
        budget = rng.uniform(0.2, 0.6) * saturation(work.plan(tree)).budget
        probes = withdraw(work, tree, budget)
        own = flow(settle(work, work.plan(tree), probes), probes).throughput
        model = _Model.living(work, tree)
        for _ in range(6):
            found = minimize(
                lambda shares, model=model, own=own: -model.at(list(shares)).throughput / own,
                rng.random(6),
                jac=lambda shares, model=model, own=own: -np.array(model.at(list(shares)).gains) / own,
                bounds=[(0, 1)] * 6,
                constraints=[
                    {
                        "type": "ineq",
                        "fun": lambda shares, model=model, most=budget: (
                            1 - model.at(list(shares)).cost / most
                        ),
                        "jac": lambda shares, model=model, most=budget: (
                            -np.array(model.at(list(shares)).costs) / most
                        ),
                    }
                ],
                method="SLSQP",
            )
            if model.at(list(np.clip(found.x, 0, 1))).cost <= budget * 1.001:
                assert -found.fun <= 1.02


def test_with_the_whole_budget_the_steady_state_is_the_full_join() -> None:
    work = random_workload(np.random.default_rng(4), 4)
    tree = (("A", "B"), ("C", "D"))
    found = steady_state(work, tree, budget=saturation(work.plan(tree)).budget * 1.01, policy="grepp")
    assert found.settled
    assert found.allocation.throughput == pytest.approx(work.made_per_s("ABCD"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rates": {"A": 1}}, "two streams or more"),
        ({"selectivity": {("A", "A"): 0.1}}, "a pair of different streams"),
        ({"selectivity": {("A", "Z"): 0.1}}, "of 'A', 'B'"),
        ({"selectivity": {"AB": 0.1}}, "a pair of different streams"),
        ({"selectivity": {("A", "B"): 0.1, ("B", "A"): 0.1}}, "given twice"),
        ({"selectivity": 3}, "a mapping from pairs"),
        ({"windows": {"A": 1}}, "windows: 'B' missing"),
    ],
)
def test_a_bad_workload_is_refused_with_its_reason(arguments: dict[str, object], words: str) -> None:
    good: dict[str, object] = {"rates": {"A": 1, "B": 1}, "windows": {"A": 1, "B": 1}, "selectivity": {}}
    with pytest.raises(ConfigError, match=words):
        Workload(**{**good, **arguments})  # type: ignore[arg-type]


def test_a_tree_over_other_streams_is_refused() -> None:
    work = Workload(rates={"A": 1, "B": 1}, windows={"A": 1, "B": 1}, selectivity={})
    with pytest.raises(ConfigError, match="expected the streams 'A', 'B', each once"):
        work.plan((("A", "B"), "C"))
