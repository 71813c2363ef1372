from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.reference.multi import draw_multi_case, expected_rows, random_tree, run_multi


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
