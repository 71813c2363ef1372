from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from tests.python.plan.plans import LINEAR, paper_plan, random_plan

from watersmeet.errors import ConfigError
from watersmeet.plan import (
    POLICIES,
    Cycle,
    Plan,
    Policy,
    allocate,
    best_cycles,
    flow,
    from_probes,
    greedy_cycles,
    saturation,
    whole_cycle,
)

# J-Tab4: probes at a, b, ab, c, then what the two joins make.
TABLE_4 = {
    "equal": ((75, 75, 75, 75), 412.5, 450),
    "global-ratio": ((300 / 23, 3000 / 23, 3000 / 23, 600 / 23), 15150 / 23, 15600 / 23),
    "equal-best": ((0, 150, 150, 0), 750, 750),
    "selectivity-best": ((0, 50, 250, 0), 250, 1250),
    "grepp": ((0, 50, 250, 0), 250, 1250),
    "jaqpot": ((0, 50, 250, 0), 250, 1250),
    "discrete": ((0, 50, 250, 0), 250, 1250),
}


def test_path_productivities_of_the_papers_plan() -> None:
    paths = paper_plan().paths
    assert [paths[name].productivity for name in "ABC"] == pytest.approx([5 / 3, 25 / 6, 1.0], rel=1e-12)
    assert paths["A"].cardinalities == pytest.approx((0.5, 2.5))
    assert paths["B"].probes_per_hop == pytest.approx((1.0, 5.0))


@pytest.mark.parametrize("policy", TABLE_4)
def test_table_4_comes_out_exactly(policy: Policy) -> None:
    probes, first, root = TABLE_4[policy]
    found = allocate(paper_plan(), budget=300, policy=policy)
    assert list(found.probes) == ["A", "B", "A+B", "C"]
    assert list(found.probes.values()) == pytest.approx(probes, rel=1e-12)
    assert found.produced == pytest.approx({"A+B": first, "A+B+C": root}, rel=1e-12)
    assert found.throughput == pytest.approx(root, rel=1e-12)
    assert found.spent == pytest.approx(300)


def test_table_4_has_a_row_for_every_policy() -> None:
    assert set(TABLE_4) == set(POLICIES) == set(get_args(Policy))


def test_the_rounded_allowances_that_the_paper_prints_give_its_printed_output() -> None:
    rounded = {"A": 13, "B": 130, "A+B": 130, "C": 27}
    found = from_probes(paper_plan(), rounded, policy="global-ratio", budget=300)
    assert found.produced == pytest.approx({"A+B": 656.5, "A+B+C": 677})


def test_a_path_takes_no_more_than_its_stream_brings() -> None:
    found = allocate(paper_plan(), budget=5000, policy="grepp")
    assert found.probes == pytest.approx({"A": 500, "B": 700, "A+B": 3750, "C": 50})
    assert found.throughput == pytest.approx(18_800)
    everything = saturation(paper_plan())
    assert (everything.budget, everything.throughput) == (pytest.approx(5550), pytest.approx(19_350))


def test_a_single_join_gives_everything_to_its_better_half() -> None:
    plan = Plan(
        ("A", "B"),
        rates={"A": 500, "B": 700},
        states={"A": 5000, "B": 500},
        selectivity={"A+B": (0.005, 0.001)},
    )
    assert plan.productivities == pytest.approx({"A": 2.5, "B": 5.0})
    for policy in ("grepp", "equal-best", "discrete"):
        assert allocate(plan, budget=300, policy=policy).throughput == pytest.approx(1500)


def test_table_2_greedy_whole_rows_lose_to_dynamic_programming_and_that_to_fractions() -> None:
    plan = Plan(
        (("A", "B"), "C"),
        rates={"A": 30, "B": 30, "C": 30},
        states={"A": 500, "B": 400, "C": 1100, "A+B": 110},
        selectivity={"A+B": 1 / 1100, "A+B+C": 1 / 1100},
    )
    table = {name: whole_cycle(path, 30) for name, path in plan.paths.items()}
    assert table == {"A": Cycle((11, 4), 4, 2), "B": Cycle((11, 5), 5, 2), "C": Cycle((10,), 1, 3)}
    assert plan.paths["A"].productivity == pytest.approx(4 / 15)
    assert plan.paths["B"].productivity == pytest.approx(5 / 16)
    greedy = greedy_cycles(table, 30)  # type: ignore[arg-type]
    assert greedy == {"A": 0, "B": 1, "C": 1}
    assert best_cycles(table, 30) == {"A": 2, "B": 0, "C": 0}  # type: ignore[arg-type]
    assert allocate(plan, budget=30, policy="discrete").throughput == 8
    fractional = allocate(plan, budget=30, policy="grepp")
    assert (fractional.probes["B"], fractional.probes["A+B"]) == (pytest.approx(20.625), pytest.approx(9.375))
    assert fractional.throughput == pytest.approx(9.375)


def test_grepp_equals_the_optimum_of_the_fractional_knapsack_on_1000_plans() -> None:
    rng = np.random.default_rng(1)
    for _ in range(1000):
        plan = random_plan(rng, streams=int(rng.integers(2, 9)))
        budget = rng.uniform(0, 1.2) * saturation(plan).budget
        worth = np.array([path.productivity for path in plan.paths.values()])
        most = np.array([path.most for path in plan.paths.values()])
        order = np.argsort(-worth)
        room = np.clip(budget - np.concatenate([[0.0], np.cumsum(most[order])[:-1]]), 0.0, most[order])
        best = float(room @ worth[order])
        found = allocate(plan, budget=budget, policy="grepp")
        assert found.throughput == pytest.approx(best, rel=1e-9)
        assert found.spent <= budget * (1 + 1e-12)


def test_grepp_equals_a_linear_program_over_half_way_joins() -> None:
    """An oracle that knows nothing of paths: half-way joins, limited by what the join below makes."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(2)
    for _ in range(50):
        plan = random_plan(rng, streams=int(rng.integers(2, 7)))
        budget = rng.uniform(0.05, 0.9) * saturation(plan).budget
        names = plan.tree.half_joins
        limits = [(0.0, plan.rates.get(name)) for name in names]
        table, bounds = [np.ones(len(names))], [budget]
        for join in plan.tree.joins[:-1]:
            row = np.zeros(len(names))
            row[names.index(join.name)] = 1.0
            for node in join.inputs or ():
                row[names.index(node.name)] -= plan.productivities[node.name]
            table.append(row)
            bounds.append(0.0)
        gains = np.zeros(len(names))
        for node in plan.tree.root.inputs or ():
            gains[names.index(node.name)] = -plan.productivities[node.name]
        oracle = linprog(gains, A_ub=np.array(table), b_ub=bounds, bounds=limits, method="highs")
        found = allocate(plan, budget=budget, policy="grepp")
        assert found.throughput == pytest.approx(-oracle.fun, rel=1e-6)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_beats_grepp_spends_more_than_its_budget_or_promises_what_does_not_flow(
    policy: Policy,
) -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        plan = random_plan(rng, streams=int(rng.integers(2, 7)), most_selectivity=0.001)
        budget = float(int(rng.uniform(0.01, 0.9) * min(saturation(plan).budget, 20_000)))
        found = allocate(plan, budget=budget, policy=policy)
        assert found.spent <= budget + 1e-6
        assert found.throughput <= allocate(plan, budget=budget, policy="grepp").throughput * (1 + 1e-9)
        again = flow(plan, found.probes)
        if policy != "discrete":  # whole rows may leave a fraction of a row unused
            assert again.throughput == pytest.approx(found.throughput, rel=1e-9)
            assert again.probes == pytest.approx(dict(found.probes), rel=1e-9)


def test_the_dynamic_programme_equals_trying_everything() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        sizes = rng.integers(1, 9, size=(3, 2))
        table = {n: Cycle((int(r),), int(o), int(rng.integers(0, 5))) for n, (r, o) in zip("ABC", sizes)}  # noqa: B905
        budget = int(rng.integers(0, 30))
        best = max(
            sum(runs * table[name].output for name, runs in zip("ABC", counts, strict=True))
            for counts in np.ndindex(*(table[name].most + 1 for name in "ABC"))
            if sum(r * table[n].resources for n, r in zip("ABC", counts, strict=True)) <= budget
        )
        found = best_cycles(table, budget)
        assert sum(found[name] * table[name].output for name in "ABC") == best
        assert sum(found[name] * table[name].resources for name in "ABC") <= budget
        assert all(found[name] <= table[name].most for name in "ABC")


def test_nothing_is_allocated_where_nothing_can_come_of_it() -> None:
    plan = Plan(
        LINEAR,
        rates=dict.fromkeys("ABCD", 10),
        states=dict.fromkeys(["A", "B", "C", "D", "A+B", "A+B+C"], 0),
        selectivity={"A+B": 0, "A+B+C": 0, "A+B+C+D": 0},
    )
    for policy in POLICIES:
        assert allocate(plan, budget=100, policy=policy).throughput == 0
    assert allocate(plan, budget=100, policy="grepp").spent == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rates": {"A": 1, "B": 2}}, r"rates: 'C' missing; expected 'A', 'B', 'C'"),
        ({"rates": {"A": 1, "B": 2, "C": 3, "D": 4}}, r"rates: 'D' unknown"),
        ({"rates": {"A": -1, "B": 2, "C": 3}}, r"rates\['A'\]=-1: expected a finite number, at least 0"),
        ({"rates": {"A": True, "B": 2, "C": 3}}, r"rates\['A'\]=True"),
        ({"rates": [1, 2, 3]}, r"rates=\[1, 2, 3\]: expected a mapping"),
        ({"states": {"A": 1, "B": 1, "C": 1}}, r"states: 'A\+B' missing"),
        (
            {"selectivity": {"A+B": 1.5, "A+B+C": 0}},
            r"selectivity\['A\+B'\]=1.5: expected a number from 0 to 1",
        ),
        ({"selectivity": {"A+B": (0.1, 0.1, 0.1), "A+B+C": 0}}, "a number, or one for each input"),
        ({"selectivity": 0.1}, "expected a mapping"),
        ({"freshness": {"Z": 3}}, "freshness: 'Z' unknown; expected streams of the tree, of 'A', 'B', 'C'"),
        ({"freshness": 3}, "from streams to seconds"),
    ],
)
def test_a_bad_plan_is_refused_with_its_reason(change: dict[str, object], words: str) -> None:
    good: dict[str, object] = {
        "rates": {"A": 1, "B": 1, "C": 1},
        "states": {"A": 1, "B": 1, "C": 1, "A+B": 1},
        "selectivity": {"A+B": 0.1, "A+B+C": 0.1},
    }
    with pytest.raises(ConfigError, match=words):
        Plan((("A", "B"), "C"), **{**good, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": -1}, "budget=-1"),
        ({"budget": float("nan")}, "budget=nan"),
        ({"budget": 1, "policy": "best"}, "policy='best': expected one of 'jaqpot'"),
        ({"budget": 2e7, "policy": "discrete"}, "'discrete' takes at most 10000000"),
    ],
)
def test_a_bad_allocation_is_refused_with_its_reason(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        allocate(paper_plan(), **arguments)  # type: ignore[arg-type]
