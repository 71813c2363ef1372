"""What is read off the core of a tree of joins: which cells are told apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from watersmeet.join.multi.monitor import CELLS, curves_of, read_core
from watersmeet.plan import parse_tree

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


def test_rows_that_one_row_has_become_do_not_tell_cells_apart_by_finding_the_same() -> None:
    for rows_of_one in (1, 5, 20):
        reading = read_core(Core(rows_of_one), TREE)
        assert reading.bunches["A+B"] == rows_of_one
        assert not curves_of(reading.cells, reading.bunches)


def test_cells_that_differ_by_more_than_bunches_are_told_apart() -> None:
    reading = read_core(Core(5, dense=4), TREE)
    assert set(curves_of(reading.cells, reading.bunches)["A+B"].order[:4]) == {0, 1, 2, 3}
