"""What is read off the core of a tree of joins: which cells are told apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from watersmeet.control.decision import CellCounts
from watersmeet.join.multi.monitor import CELLS, Reading, curves_of, orders_of, ranked_cells, read_core
from watersmeet.plan import CellCurve, parse_tree

TREE = parse_tree((("A", "B"), "C"))


class Core:
    """Counters as the core gives them; all cells were compared alike, matches differ by chance."""

    def __init__(self, rows_of_one: int, *, dense: int = 0) -> None:
        chance = np.random.default_rng(5).poisson(30, CELLS)
        chance[:dense] *= 20
        self._matches = [int(each) * rows_of_one for each in chance]
        self._rows_of_one = rows_of_one

    def statistics(self) -> dict[str, Any]:
        leaf = {"probes": 100, "rows": 100}
        made = {"probes": 100 * self._rows_of_one, "rows": 100 * self._rows_of_one}
        nothing = {"probes": 0, "rows": 0}
        return {"half_joins": [leaf, nothing, made, nothing]}

    def cells(self) -> list[tuple[list[int], list[int], int]]:
        whole = ([1000] * CELLS, self._matches, sum(self._matches))
        none = ([0] * CELLS, [0] * CELLS, 0)
        return [none, none, whole, none]


def steady(reading: Reading) -> dict[str, CellCurve]:
    """Where the period after a reading finds what the reading did."""
    ranked = ranked_cells({}, orders_of(reading.cells), reading.cells)
    return curves_of(reading.cells, ranked, reading.bunches)


def counts(matches: list[float]) -> dict[str, CellCounts]:
    return {"A": CellCounts(np.full((1, CELLS), 10_000.0), np.array([matches]))}


def test_rows_that_one_row_has_become_do_not_tell_cells_apart_by_finding_the_same() -> None:
    for rows_of_one in (1, 5, 20):
        reading = read_core(Core(rows_of_one), TREE)
        assert reading.bunches["A+B"] == rows_of_one
        assert not steady(reading)


def test_cells_that_differ_by_more_than_bunches_are_told_apart() -> None:
    reading = read_core(Core(5, dense=4), TREE)
    assert set(steady(reading)["A+B"].order[:4]) == {0, 1, 2, 3}


def test_the_best_cells_hold_what_they_held_in_the_period_after_they_were_ranked() -> None:
    before = counts([800.0] * 4 + [50.0] * 12)
    weaker = counts([400.0] * 4 + [100.0] * 12)
    curve = curves_of(before, ranked_cells({}, orders_of(before), weaker), {"A": 1.0})["A"]
    assert set(curve.order[:4]) == {0, 1, 2, 3}
    assert abs(curve.found[4] - 1600 / 2800) < 0.02


def test_cells_whose_matches_have_moved_on_are_not_relied_on() -> None:
    before, after = counts([800.0] * 4 + [50.0] * 12), counts([50.0] * 12 + [800.0] * 4)
    assert not curves_of(before, ranked_cells({}, orders_of(before), after), {"A": 1.0})


def test_the_least_of_the_last_periods_counts_and_few_matches_wait_for_more() -> None:
    before = counts([800.0] * 4 + [50.0] * 12)
    orders, found = orders_of(before), {}
    for best, rest in ((800.0, 50.0), (400.0, 100.0), (2.0, 0.0), (800.0, 50.0)):
        found = ranked_cells(found, orders, counts([best] * 4 + [rest] * 12))
        told = [each.matches.sum() for each in found["A"]]
        assert len(told) <= 2
        if best == 2.0:
            assert told == [2800.0, 8.0]
            assert abs(curves_of(before, found, {"A": 1.0})["A"].found[4] - 1600 / 2800) < 0.02
    assert told == [2800.0, 3808.0]
