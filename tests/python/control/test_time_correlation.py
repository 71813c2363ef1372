from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.control import (
    CellCounts,
    CellVisit,
    TimeState,
    adapt_time_correlation,
    cell_densities,
    cells_to_visit,
)
from watersmeet.control.time_correlation import (
    basic_window_optimality,
    cell_count,
    published_densities,
    visiting_order,
)

# SPEC 1.1 G-Fig6: matches per 10^4 comparisons by age 0..20 s, first window, kappa .6.
AGES = (
    5.9,
    5.9,
    6.2,
    6.4,
    6.5,
    6.9,
    7.1,
    7.6,
    8.3,
    8.9,
    9.9,
    11.2,
    13.1,
    16.2,
    22.7,
    32.5,
    22.7,
    16.4,
    13.2,
    11.0,
    10.2,
)


def lag_density() -> np.ndarray:
    return np.interp(np.linspace(0, 20, 2000), np.arange(21), AGES)


def test_window_has_one_cell_more_than_it_needs() -> None:
    assert [cell_count(20, 1), cell_count(20, 3), cell_count(1, 0.1)] == [21, 8, 11]


def test_density_divides_by_comparisons_made_so_half_full_cells_are_not_understated() -> None:
    counts = CellCounts([50, 100, 100, 50], [5, 10, 10, 5])
    assert cell_densities(counts).tolist() == [0.1] * 4
    printed = published_densities(
        [5, 10, 10, 5], sampling=0.1, fraction=0.5, basic_window_s=1, rates_per_s=(20, 20), period_s=5
    )
    assert printed.tolist() == [0.05, 0.1, 0.1, 0.05]


def test_cell_without_comparisons_keeps_what_was_known() -> None:
    counts = CellCounts([10, 0, 10], [1, 0, 2])
    assert cell_densities(counts).tolist() == [0.1, 0.0, 0.2]
    assert cell_densities(counts, previous=[9, 0.7, 9]).tolist() == [0.1, 0.7, 0.2]


def test_cells_are_visited_by_falling_density_and_newest_first_on_ties() -> None:
    assert visiting_order([0.1, 0.3, 0.1, 0.5]) == (3, 1, 0, 2)


def test_order_follows_density_not_raw_counts() -> None:
    sampled = CellCounts([10, 1000], [5, 50])
    _, orders = adapt_time_correlation(TimeState.unknown((2, 2)), (sampled, CellCounts.nothing(2)))
    assert orders[0] == (0, 1)


def test_period_without_full_probes_leaves_the_order_alone() -> None:
    state = TimeState(((0.1, 0.2), (0.2, 0.1)), ((1, 0), (0, 1)))
    nothing = CellCounts.nothing(2)
    assert adapt_time_correlation(state, (nothing, nothing))[0] == state


def test_quarter_of_a_window_is_one_cell_and_a_slice() -> None:
    visits = cells_to_visit((2, 0, 1, 3, 4), [20] * 5, fraction=0.25)
    assert [(visit.cell, visit.rows) for visit in visits] == [(2, 20), (0, 5)]


def test_allowance_that_ends_with_a_cell_takes_all_of_it() -> None:
    visits = cells_to_visit((0, 1, 2, 3, 4), [20] * 5, fraction=0.4)
    assert visits == (CellVisit(0, 0, 20), CellVisit(1, 0, 20))


def test_empty_cells_are_skipped() -> None:
    assert cells_to_visit((0, 1, 2), [0, 10, 0], fraction=1.0) == (CellVisit(1, 0, 10),)
    assert cells_to_visit((0, 1), [0, 0], fraction=0.5) == ()


def test_rotation_reaches_every_row_of_the_partial_cell() -> None:
    seen: set[int] = set()
    rotation = 0
    for _ in range(4):
        last = cells_to_visit((0, 1), [20, 20], fraction=0.625, rotation=rotation)[-1]
        seen |= {(last.first_row + step) % 20 for step in range(last.rows)}
        rotation += last.rows
    assert seen == set(range(20))


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=30), st.floats(0, 1), st.integers(0, 1000), st.randoms()
)
def test_visits_add_up_to_the_allowance(
    rows: list[int], fraction: float, rotation: int, random: object
) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    visits = cells_to_visit(order, rows, fraction=fraction, rotation=rotation)
    assert sum(visit.rows for visit in visits) == round(fraction * sum(rows))
    assert len({visit.cell for visit in visits}) == len(visits)
    assert all(
        0 < visit.rows <= rows[visit.cell] and 0 <= visit.first_row < rows[visit.cell] for visit in visits
    )
    assert sum(visit.rows < rows[visit.cell] for visit in visits) <= 1


def test_optimality_reproduces_figure_5_on_the_density_of_figure_6() -> None:
    # From r' = .1 on: at .05 the tip of the peak counts, which means over a second do not show.
    for size, expected in ((0.1, (0.825, 0.974, 0.991)), (0.2, (0.726, 0.900, 0.950))):
        found = [
            basic_window_optimality(lag_density(), basic_window_share=size, fraction=fraction)
            for fraction in (0.1, 0.25, 0.5)
        ]
        assert found == pytest.approx(expected, abs=0.03)


def test_optimality_falls_with_larger_cells_fewer_resources_and_more_skew() -> None:
    def optimality(density: np.ndarray, size: float, fraction: float) -> float:
        return basic_window_optimality(density, basic_window_share=size, fraction=fraction)

    density = lag_density()
    assert optimality(density, 0.02, 0.05) > optimality(density, 0.1, 0.05) > optimality(density, 0.2, 0.05)
    assert optimality(density, 0.1, 0.5) > optimality(density, 0.1, 0.1) > optimality(density, 0.1, 0.05)
    assert optimality(density, 0.1, 0.05) > optimality(density**2, 0.1, 0.05)


def test_optimality_is_one_when_everything_is_processed() -> None:
    assert basic_window_optimality(lag_density(), basic_window_share=0.2, fraction=1.0) == 1.0
    assert basic_window_optimality(np.ones(100), basic_window_share=0.05, fraction=0.3) == pytest.approx(
        1, abs=1e-6
    )
