from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.counted import counted_rows
from tests.reference.multi import (
    MultiCase,
    draw_multi_case,
    expected_rows,
    pushed_table,
    random_tree,
    rows_of,
    run_multi,
)

import watersmeet as wm
from watersmeet.plan import every_tree, parse_tree


def check(seed: int, **options: Any) -> int:
    case = draw_multi_case(seed)
    found = run_multi(case, **options)
    expected = expected_rows(case)
    assert len(found) == len(set(found)), f"seed {seed}: a result came out twice"
    assert set(found) == expected, f"seed {seed}: {case.on}, {case.tree}"
    return len(expected)


@pytest.mark.parametrize("block", range(4))
def test_oracle_any_tree_equals_the_definition(block: int) -> None:
    results = [check(seed) for seed in range(100 * block, 100 * block + 40)]
    assert sum(count > 0 for count in results) > 10


def test_oracle_row_numbers_count_what_was_pushed() -> None:
    for seed in range(5000, 5025):
        check(seed, output="rows")


def test_differential_every_tree_gives_the_same_answer() -> None:
    for seed in range(1000, 1012):
        case = draw_multi_case(seed)
        rng = np.random.default_rng(seed)
        names = [stream.name for stream in case.streams]
        answers = {frozenset(run_multi(case, tree=random_tree(rng, names))) for _ in range(4)}
        assert len(answers) == 1


def test_oracle_a_tree_that_is_chosen_again_and_again_loses_and_repeats_nothing() -> None:
    for seed in range(2000, 2030):
        check(seed, tree="auto", monitor="500ms", actuate_above=0.0)


def test_oracle_a_budget_large_enough_is_exact() -> None:
    for seed in range(3000, 3025):
        check(seed, budget=1e6, explore=0.5, analysis="inline", monitor="1s", policy="equal")


def test_oracle_with_a_budget_results_are_a_part_of_the_answer() -> None:
    lost = 0
    for seed in range(4000, 4030):
        case = draw_multi_case(seed)
        found = run_multi(case, budget=3, analysis="inline", monitor="1s")
        expected = expected_rows(case)
        assert len(found) == len(set(found))
        assert set(found) <= expected
        lost += len(expected) - len(found)
    assert lost > 0


def test_oracle_eight_streams_equal_the_definition() -> None:
    found = 0
    names = "ABCDEFGH"
    for seed in range(6000, 6012):
        rng = np.random.default_rng(seed)
        kinds = [rng.random() < 0.4 for _ in names]
        windows = [f"{rng.integers(2, 5)}i" if rows else f"{rng.integers(3, 9)}s" for rows in kinds]
        tables = tuple(
            pa.table(
                {
                    "ts": pa.array(np.sort(rng.integers(0, 9, 5)), pa.timestamp("s")),
                    "row": np.arange(5),
                    "key": rng.integers(0, 2, 5),
                }
            )
            for _ in names
        )
        on = {(names[int(rng.integers(at))], names[at]): wm.equal("key") for at in range(1, 8)}
        streams = tuple(wm.Stream(name, window=each) for name, each in zip(names, windows, strict=True))
        pushes = tuple((name, first, min(5, first + 2)) for first in (0, 2, 4) for name in names)
        case = MultiCase(streams, tables, on, random_tree(rng, list(names)), pushes)
        got, expected = run_multi(case), expected_rows(case)
        assert len(got) == len(set(got))
        assert set(got) == expected, f"seed {seed}"
        found += len(expected)
    assert found > 1000


@pytest.mark.parametrize("analysis", ["inline", "thread"])
def test_oracle_trees_forced_at_random_moments_lose_and_repeat_nothing(analysis: str) -> None:
    """Any tree may be decided for at any time, with users' functions among the predicates as well."""
    changes = 0
    for seed in range(7000, 7030):
        case = draw_multi_case(seed)
        rng = np.random.default_rng(seed)
        names = [stream.name for stream in case.streams]
        join = wm.MultiJoin(list(case.streams), on=case.on, analysis=analysis)  # type: ignore[arg-type]
        tables = []
        for step in case.pushes:
            tables.append(join.push(step[0], pushed_table(case, *step)))
            control = join._engine.running.control if join._engine.running else None
            if control is not None and rng.random() < 0.6:
                control.decide_for(parse_tree(random_tree(rng, names)))
                changes += 1
        tables.append(join.finish())
        found = [row for table in tables for row in rows_of(case, table)]
        assert len(found) == len(set(found)), f"seed {seed}"
        assert set(found) == expected_rows(case), f"seed {seed}"
    assert changes > 50


def test_oracle_counted_states_equal_the_published_model_row_by_row() -> None:
    beyond = total = 0
    for seed in range(8000, 8080):
        case = draw_multi_case(seed)
        rng = np.random.default_rng(seed)
        if rng.random() < 0.5:
            spans = [f"{int(rng.integers(1, 12))}s" for _ in case.streams]
            streams = [
                wm.Stream(each.name, window=each.window, freshness=span)
                for each, span in zip(case.streams, spans, strict=True)
            ]
            case = type(case)(tuple(streams), case.tables, case.on, case.tree, case.pushes)
        states = {name: int(rng.integers(1, 9)) for name in parse_tree(case.tree).susceptible}
        found = run_multi(case, states=states)
        assert sorted(found) == sorted(counted_rows(case, case.tree, states)), f"seed {seed}"
        beyond += len(set(found) - expected_rows(case))
        total += len(found)
    assert total > 200
    assert beyond > 0, "some results reach beyond the windows: that is what the model is about"


def test_one_table_under_several_names_joins_with_itself() -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"ts": np.arange(30), "row": np.arange(30), "key": rng.integers(0, 4, 30)})
    streams = [wm.Stream(name, window="6us") for name in "ABC"]
    on = {("A", "B"): wm.equal("key"), ("A", "C"): wm.equal("key")}
    expected = {
        (a, b, c)
        for a in range(30)
        for b in range(30)
        for c in range(30)
        if table["key"][a] == table["key"][b] == table["key"][c] and max(a, b, c) - min(a, b, c) <= 6
    }
    for tree in every_tree("ABC"):
        join = wm.MultiJoin(streams, tree=tree, on=on)
        parts = [join.push(name, table) for name in "ABC"] + [join.finish()]
        out = pa.concat_tables([part for part in parts if part.num_columns])
        got = list(zip(*(out[f"{name}.row"].to_pylist() for name in "ABC"), strict=True))
        assert len(got) == len(set(got))
        assert set(got) == expected


def test_streams_without_a_predicate_are_crossed_and_predicates_need_not_follow_the_tree() -> None:
    streams = [wm.Stream(name, window="10us") for name in "ABCD"]
    table = pa.table({"ts": [1, 2, 3], "row": [0, 1, 2], "key": [0, 1, 0]})
    join = wm.MultiJoin(streams, tree=(("A", "B"), ("C", "D")), on={("A", "D"): wm.equal("key")})
    parts = [join.push(name, table) for name in "ABCD"] + [join.finish()]
    assert sum(part.num_rows for part in parts) == 5 * 9
