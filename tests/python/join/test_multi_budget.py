"""The budget of a tree of joins in the engine: what the model promises, and what comes out."""

from __future__ import annotations

import json
from functools import cache
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bench.figures.jaqpot.stale import run as stale_run
from bench.figures.jaqpot.steps import recovered

import watersmeet as wm
from watersmeet.plan import POLICIES, Workload, allocate, saturation, steady_state

RATES = {"A": 150, "B": 120, "C": 160, "D": 100}
KEYS = {"A": ("ab",), "B": ("ab", "bc"), "C": ("bc", "cd"), "D": ("cd",)}
VALUES = {"ab": 600, "bc": 500, "cd": 400}
ON = {("A", "B"): wm.equal("ab"), ("B", "C"): wm.equal("bc"), ("C", "D"): wm.equal("cd")}
WINDOW_S = 6
LINEAR = ((("A", "B"), "C"), "D")
BUSHY = (("A", "B"), ("C", "D"))


def workload(**values: int) -> Workload:
    drawn = {**VALUES, **values}
    return Workload(
        rates=RATES,
        windows={name: rate * WINDOW_S for name, rate in RATES.items()},
        selectivity={pair: 1.0 / drawn[pair[0].lower() + pair[1].lower()] for pair in ON},
    )


@cache
def tables(seconds: int, seed: int, step: tuple[tuple[str, int], ...] = ()) -> dict[str, list[pa.Table]]:
    """Poisson arrivals second by second; from the middle on, keys are drawn from other numbers of values."""
    rng = np.random.default_rng(seed)
    out: dict[str, list[pa.Table]] = {name: [] for name in RATES}
    for second in range(seconds):
        values = {**VALUES, **(dict(step) if second >= seconds // 2 else {})}
        for name, rate in RATES.items():
            count = int(rng.poisson(rate))
            times = np.sort(rng.integers(0, 1_000_000, count)) + second * 1_000_000
            keys = {key: rng.integers(0, values[key], count) for key in KEYS[name]}
            out[name].append(pa.table({"ts": pa.array(times, pa.timestamp("us")), **keys}))
    return out


def run(join: wm.MultiJoin, given: dict[str, list[pa.Table]]) -> list[int]:
    """Results by the second in which they came out."""
    seconds = len(next(iter(given.values())))
    return [sum(join.push(name, given[name][at]).num_rows for name in given) for at in range(seconds)]


def multi_join(tree: Any, **options: Any) -> wm.MultiJoin:
    streams = [wm.Stream(name, window=f"{WINDOW_S}s") for name in RATES]
    return wm.MultiJoin(streams, tree=tree, on=ON, **{"analysis": "inline", "monitor": "5s", **options})


@pytest.mark.parametrize("tree", [LINEAR, BUSHY], ids=["linear", "bushy"])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_measured_throughput_is_within_five_percent_of_the_prediction(tree: Any, share: float) -> None:
    budget = share * saturation(workload().plan(tree)).budget
    join = multi_join(tree, budget=budget, cells=False)  # the model of the states knows whole probes
    given = tables(60, seed=1)
    predicted, measured = [], []
    for second in range(60):
        for name in given:
            join.push(name, given[name][second])
        if second >= 25 and second % 5 == 1:
            told = join.explain()
            predicted.append(told.predicted)
            measured.append(told.measured)
    assert np.mean(measured) == pytest.approx(np.mean(predicted), rel=0.05)
    expected = steady_state(workload(), tree, budget=budget * 0.98).allocation.throughput
    assert np.mean(measured) == pytest.approx(expected, rel=0.12)  # one draw of the keys
    probes = sum(each.probes for each in join.metrics.half_joins.values())
    assert probes <= budget * 60 * 1.05


def test_jaqpot_makes_the_most_of_every_share_of_the_budget() -> None:
    given = tables(40, seed=2)
    gains = []
    for tree in (LINEAR, BUSHY):
        everything = saturation(workload().plan(tree)).budget
        for share in (0.2, 0.4):
            made = {
                policy: sum(run(multi_join(tree, budget=share * everything, policy=policy), given)[15:])
                for policy in POLICIES
                if policy not in ("grepp", "discrete")
            }
            best = max(count for policy, count in made.items() if policy != "jaqpot")
            assert made["jaqpot"] > best, made
            gains.append(made["jaqpot"] / best)
    assert float(np.mean(gains)) > 1.3


def test_after_a_step_of_the_selectivities_the_optimum_is_reached_within_two_periods() -> None:
    step = {"ab": 1800, "bc": 170, "cd": 130}
    budget = 0.3 * saturation(workload().plan(LINEAR)).budget
    join = multi_join(LINEAR, budget=budget)
    results = run(join, tables(90, seed=3, step=tuple(step.items())))
    known = multi_join(LINEAR, budget=budget, analyse_above=1e9)
    optimum = steady_state(workload(**step), LINEAR, budget=budget * 0.98).allocation
    assert sum(results[45 + WINDOW_S + 10 :]) / (45 - WINDOW_S - 10) > 0.9 * optimum.throughput
    assert any(each.kind == "actuated" and each.at_s > 45 for each in join.metrics.decisions)
    assert known.metrics.decisions == ()


def test_statistics_that_stand_still_are_not_acted_upon() -> None:
    join = multi_join(BUSHY, budget=0.4 * saturation(workload().plan(BUSHY)).budget, analyse_above=0.5)
    run(join, tables(40, seed=4))
    kinds = [each.kind for each in join.metrics.decisions]
    assert kinds[0] == "actuated"
    assert set(kinds[3:]) == {"kept"}


def test_analysis_in_its_own_thread_decides_as_well() -> None:
    join = multi_join(LINEAR, budget=300, analysis="thread")
    run(join, tables(40, seed=5))
    join.finish()
    assert any(each.kind == "actuated" for each in join.metrics.decisions)


def test_an_analysis_that_takes_long_holds_up_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    from watersmeet.join.multi import control

    may_end, decide = Event(), control._decide

    def slowly(*arguments: Any) -> Any:
        assert may_end.wait(60)
        return decide(*arguments)

    monkeypatch.setattr(control, "_decide", slowly)
    join = multi_join(LINEAR, budget=500, analysis="thread")
    assert sum(run(join, tables(30, seed=5))) > 0, "rows were joined while the analysis was stuck"
    assert join.metrics.decisions == ()
    may_end.set()
    join.finish()
    assert [each.kind for each in join.metrics.decisions] == ["actuated"]


def test_with_a_budget_the_answer_does_not_depend_on_batches() -> None:
    given = tables(20, seed=6)
    whole = {name: [pa.concat_tables(parts)] for name, parts in given.items()}
    budget = 400.0
    by_seconds, at_once = multi_join(LINEAR, budget=budget), multi_join(LINEAR, budget=budget)
    run(by_seconds, given)
    run(at_once, whole)
    by_seconds.finish()
    at_once.finish()
    assert by_seconds.metrics.results == at_once.metrics.results > 0
    assert [each.kind for each in by_seconds.metrics.decisions] == [
        each.kind for each in at_once.metrics.decisions
    ]


def test_a_budget_of_next_to_nothing_gives_nothing_and_keeps_every_row() -> None:
    join = multi_join(LINEAR, budget=1e-9)
    assert sum(run(join, tables(10, seed=7))) == 0
    assert join.metrics.stream("A").window_rows > 0


def test_explain_shows_tree_rates_allowances_and_throughput() -> None:
    streams = [wm.Stream(name, window=f"{WINDOW_S}s", freshness="8s") for name in RATES]
    join = wm.MultiJoin(streams, tree=LINEAR, on=ON, budget=500, analysis="inline", monitor="5s")
    run(join, tables(20, seed=8))
    text = str(join.explain())
    for words in ("tree (((A B) C) D)", "budget 500", "may probe", "per probe", "saturation", "measured"):
        assert words in text
    assert max(each.largest_s for each in join.metrics.freshness.values()) <= WINDOW_S
    assert join.explain(format="text") == text
    told = json.loads(join.explain(format="json"))
    assert told["tree"] == [[["A", "B"], "C"], "D"]
    assert set(told["half_joins"]) == {"A", "B", "A+B", "C", "A+B+C", "D"}
    assert sum(each["allowance"] for each in told["half_joins"].values()) <= 500
    assert told["predicted"] > 0 < told["measured"]
    with pytest.raises(wm.ConfigError, match="expected 'text' or 'json'"):
        join.explain(format="html")  # type: ignore[call-overload]


def test_a_tree_left_free_is_changed_for_a_cheaper_one_and_the_answer_stays() -> None:
    given = tables(9, seed=9)
    streams = [wm.Stream(name, window=f"{WINDOW_S}s") for name in RATES]
    fixed = wm.MultiJoin(streams, tree=(("A", "D"), ("B", "C")), on=ON)
    free = wm.MultiJoin(streams, on=ON, monitor="2s", actuate_above=0.0)
    assert sum(run(fixed, given)) == sum(run(free, given)) > 0
    probes = {join: sum(each.probes for each in join.metrics.half_joins.values()) for join in (fixed, free)}
    assert probes[free] < probes[fixed]


def test_a_plan_of_the_paper_is_reached_by_the_engines_own_measurement() -> None:
    """What the engine measured, planned with the published policy, spends the budget where the model does."""
    budget = 0.3 * saturation(workload().plan(LINEAR)).budget
    join = multi_join(LINEAR, budget=budget)
    run(join, tables(30, seed=10))
    plan = join.explain().plan
    assert plan is not None
    own = allocate(plan, budget=budget, policy="grepp")
    assert own.spent == pytest.approx(budget)


def correlated(seconds: int, seed: int, lag_s: float | None) -> dict[str, list[pa.Table]]:
    """Keys of A and B, and of B and C, agree at a lag: partners are of one age; without it by chance."""
    rng = np.random.default_rng(seed)
    out: dict[str, list[pa.Table]] = {name: [] for name in "ABC"}
    for second in range(seconds):
        for at, name in enumerate("ABC"):
            times = np.sort(rng.uniform(0, 1, int(rng.poisson(150)))) + second
            near = np.floor((times - at * (lag_s or 0.0)) * 60).astype(np.int64) % 600
            alike = rng.random(len(times)) < (0.0 if lag_s is None else 0.7)
            key = np.where(alike, near, rng.integers(0, 600, len(times)))
            stamps = pa.array((times * 1e6).astype(np.int64), pa.timestamp("us"))
            out[name].append(pa.table({"ts": stamps, "key": key}))
    return out


@pytest.mark.parametrize(("lag_s", "least", "most"), [(3.0, 1.5, 99.0), (0.0, 1.5, 99.0), (None, 0.95, 1.6)])
def test_cells_make_more_of_a_budget_where_ages_tell_and_lose_nothing_where_not(
    lag_s: float | None, least: float, most: float
) -> None:
    given = correlated(50, seed=3, lag_s=lag_s)
    made = {}
    for cells in (True, False):
        streams = [wm.Stream(name, window="8s") for name in "ABC"]
        join = wm.MultiJoin(
            streams,
            tree=(("A", "B"), "C"),
            on={("A", "B"): wm.equal("key"), ("B", "C"): wm.equal("key")},
            budget=150,
            monitor="5s",
            analysis="inline",
            cells=cells,
        )
        made[cells] = sum(run(join, given)[20:])
        assert sum(each.probes for each in join.metrics.half_joins.values()) <= 150 * 51
    assert least < made[True] / made[False] < most, made


@pytest.mark.parametrize("policy", POLICIES)
def test_no_result_is_stale_though_combinations_outlive_windows(policy: str) -> None:
    """A small run of bench/figures/jaqpot/stale.py, which makes a million for every policy and shape."""
    outlived = 0
    for shape in ("bushy", "J-Fig5d"):
        seen, stale, beyond, oldest = stale_run(shape, policy, results=12_000)
        assert seen >= 12_000
        assert stale == 0
        assert oldest <= 4.5
        outlived += beyond
    assert outlived > 0


def test_steps_of_the_selectivities_are_made_up_for_within_two_periods() -> None:
    """J-Fig6; bench/figures/jaqpot/steps.py does every shape, policy and seed."""
    for shape in ("linear", "bushy"):
        assert min(recovered(shape, "jaqpot")) > 0.95


def test_where_results_lie_within_windows_freshness_takes_nothing_of_the_budget() -> None:
    """Windows end where freshness does, and rows that are too old leave the states: nothing is to be paid."""
    for fresh in ("3s", "9s"):
        streams = [wm.Stream(name, window=f"{WINDOW_S}s", freshness=fresh) for name in RATES]
        join = wm.MultiJoin(streams, tree=BUSHY, on=ON, budget=200, analysis="inline", monitor="5s")
        assert sum(run(join, tables(20, seed=8))) > 0
        assert max(each.largest_s for each in join.metrics.freshness.values()) <= min(int(fresh[0]), WINDOW_S)
        assert not [each.problem for each in join.metrics.decisions if each.problem]
        assert json.loads(join.explain(format="json"))["freshness_cover"] is None


def test_freshness_that_cannot_be_kept_is_reported_with_what_would_help() -> None:
    streams = [wm.Stream(name, window="4s", freshness="5s") for name in RATES]
    join = wm.MultiJoin(
        streams,
        tree=LINEAR,
        on=ON,
        budget=40,
        states={"A+B": 3000, "A+B+C": 3000},
        analysis="inline",
        monitor="5s",
    )
    run(join, tables(60, seed=8))
    problems = [each.problem for each in join.metrics.decisions if each.problem]
    assert problems
    assert "freshness needs a budget of" in problems[-1] or "with any budget" in problems[-1]
    assert "s instead" in problems[-1]
    assert problems[-1] in join.explain(format="text")
