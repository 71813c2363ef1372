from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.cost import (
    output_rate,
    regulate,
    split_memory,
    split_memory_and_rates,
    split_memory_by_density,
)
from watersmeet.errors import ConfigError

amounts = st.floats(min_value=0.1, max_value=200.0)
pairs = st.tuples(amounts, amounts)


@pytest.mark.parametrize(
    ("rates", "capacity", "expected"),
    [
        ((80, 20), 10, (5, 5)),
        ((5, 100), 50, (5, 45)),
        ((100, 5), 50, (45, 5)),
        ((5, 7), 50, (5, 7)),
        ((10, 10), 0, (0, 0)),
        ((0, 100), 50, (0, 50)),
    ],
)
def test_regulation_shares_equally_and_gives_away_what_a_slow_stream_cannot_use(
    rates: tuple[float, float], capacity: float, expected: tuple[float, float]
) -> None:
    assert regulate(rates=rates, capacity=capacity) == expected


def test_unequal_probe_costs_share_the_capacity_not_the_rows() -> None:
    assert regulate((100, 100), 60, probe_costs=(1, 3)) == (30, 10)
    assert regulate((10, 100), 60, probe_costs=(1, 3)) == pytest.approx((10, 50 / 3))


@given(pairs, amounts, pairs)
def test_no_other_rates_within_the_capacity_give_more(
    rates: tuple[float, float], capacity: float, costs: tuple[float, float]
) -> None:
    chosen = regulate(rates, capacity, probe_costs=costs)
    assert chosen[0] <= rates[0]
    assert chosen[1] <= rates[1]
    for first in np.linspace(0.0, min(rates[0], capacity / costs[0]), 50):
        second = min(rates[1], (capacity - first * costs[0]) / costs[1])
        assert first * second <= chosen[0] * chosen[1] * (1 + 1e-9)


def test_memory_goes_to_the_slower_stream() -> None:
    assert split_memory(rates=(10, 50), rows=1000) == (1000, 0)
    assert split_memory(rates=(50, 10), rows=1000) == (0, 1000)


def test_windows_do_not_grow_beyond_what_was_asked_for() -> None:
    assert split_memory((10, 50), 1000, windows=(60, 60)) == (600, 400)
    assert split_memory((10, 50), 1000, windows=(60, 4)) == (600, 200)
    assert split_memory((10, 10), 1000, windows=(20, 60)) == (200, 600)
    assert split_memory((10, 10), 1000, windows=(60, 20)) == (600, 200)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [((1000, 0), 250), ((0, 1000), 50), ((1000 / 6, 5000 / 6), 83.33), ((5000 / 6, 1000 / 6), 216.67)],
)
def test_splits_of_figure_9_give_its_outputs(rows: tuple[float, float], expected: float) -> None:
    assert output_rate((10, 50), rows, selectivities=(0.005, 0.01)) == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("first", [0, 250, 500, 1000])
def test_equal_rates_give_the_same_whatever_the_split(first: float) -> None:
    assert output_rate((10, 10), (first, 1000 - first), selectivities=(0.005, 0.005)) == pytest.approx(50)
    assert split_memory((10, 10), 1000) == (500, 500)


def test_variable_rates_and_windows_store_one_stream_and_let_the_other_probe() -> None:
    limit = split_memory_and_rates(100, 10)
    assert 0.01 * limit.comparisons_per_s == pytest.approx(10.0)
    assert sorted(limit.rates) == [0, 10]
    assert sorted(limit.rows) == [0, 100]
    near = split_memory_and_rates(100, 10, rates=(9, 9))
    assert 0.01 * near.comparisons_per_s == pytest.approx(9.0)


def test_nothing_is_cut_that_fits() -> None:
    shares = split_memory_and_rates(1000, 100, rates=(10, 20), windows=(5, 6))
    assert shares.rates == (10, 20)
    assert shares.rows == (50, 120)
    assert split_memory_and_rates(10, 0, rates=(1, 1)).comparisons_per_s == 0.0


@settings(max_examples=60)
@given(amounts, amounts, pairs, pairs)
def test_no_other_rates_and_rows_within_the_bounds_give_more(
    rows: float, capacity: float, rates: tuple[float, float], windows: tuple[float, float]
) -> None:
    best = split_memory_and_rates(rows, capacity, rates=rates, windows=windows)
    assert sum(best.rows) <= rows * (1 + 1e-9)
    assert sum(best.rates) <= max(capacity, 0) * (1 + 1e-9)
    for share in np.linspace(0.0, 1.0, 60):
        first, second = min(rates[0], share * capacity), min(rates[1], (1 - share) * capacity)
        for kept in np.linspace(0.0, min(rows, first * windows[0]), 20):
            rest = min(rows - kept, second * windows[1])
            assert second * kept + first * rest <= best.comparisons_per_s * (1 + 1e-9)


def test_even_densities_split_like_equation_13() -> None:
    shares = split_memory_by_density((10, 50), 1000, densities=([0.005] * 60, [0.005] * 60), cell=1)
    assert shares.rows == pytest.approx((600, 400))
    assert shares.rows == pytest.approx(split_memory((10, 50), 1000, windows=(60, 60)))


def test_the_window_that_matches_is_kept_even_if_its_stream_is_faster() -> None:
    shares = split_memory_by_density((10, 50), 1000, densities=([0.001] * 60, [0.01] * 60), cell=1)
    assert shares.rows == pytest.approx((0, 1000))
    assert shares.windows == pytest.approx((0, 20))


def test_a_window_reaches_for_a_peak_at_high_age() -> None:
    late = [0.0] * 15 + [0.03] + [0.0] * 4
    shares = split_memory_by_density((100, 100), 2000, densities=(late, [0.0005] * 20), cell=1)
    assert shares.windows == pytest.approx((16, 4))
    too_little = split_memory_by_density((100, 100), 1200, densities=(late, [0.0005] * 20), cell=1)
    assert too_little.windows == pytest.approx((0, 12))
    assert shares.kept_share == pytest.approx((0.03 + 4 * 0.0005) / (0.03 + 20 * 0.0005))


def test_large_rows_must_earn_their_place() -> None:
    even = ([0.01] * 20, [0.01] * 20)
    small_first = split_memory_by_density((10, 10), 1000, densities=even, cell=1, row_sizes=(1, 9))
    assert small_first.windows == pytest.approx((20, 800 / 90))
    small_second = split_memory_by_density((10, 10), 1000, densities=even, cell=1, row_sizes=(9, 1))
    assert small_second.rows == pytest.approx((800 / 9, 200))


def test_enough_memory_keeps_both_windows_whole() -> None:
    shares = split_memory_by_density((10, 20), 1e6, densities=([0.1, 0.2], [0.3, 0.0]), cell=5)
    assert shares.windows == (10, 10)
    assert shares.kept_share == 1.0
    assert split_memory_by_density((0, 20), 10, densities=([0.1], [0.3]), cell=5).kept_share == 1.0


@settings(max_examples=60)
@given(pairs, amounts, st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6))
def test_no_other_windows_within_the_memory_give_more(
    rates: tuple[float, float], rows: float, cells: list[tuple[float, float]]
) -> None:
    densities = [first for first, _ in cells], [second for _, second in cells]
    best = split_memory_by_density(rates, rows, densities=densities, cell=0.5)
    assert sum(best.rows) <= rows * (1 + 1e-9)
    edges = 0.5 * np.arange(len(cells) + 1)
    totals = [np.concatenate([[0.0], np.cumsum(each)]) * rates[0] * rates[1] * 0.5 for each in densities]
    for window in np.linspace(0, edges[-1], 40):
        rest = (rows - window * rates[0]) / rates[1]
        if rest >= 0:
            earned = np.interp(window, edges, totals[0]) + np.interp(rest, edges, totals[1])
            assert earned <= best.results_per_s * (1 + 1e-6) + 1e-8


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ConfigError, match="capacity=-1: expected a finite number, at least 0"):
        regulate((1, 1), -1)
    with pytest.raises(ConfigError, match="rows='x': expected a finite number"):
        split_memory((1, 1), "x")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"densities\[1\]=\(\): expected at least one number"):
        split_memory_by_density((1, 1), 5, densities=([1], []), cell=1)
    with pytest.raises(ConfigError, match=r"densities=.*expected two sequences"):
        split_memory_by_density((1, 1), 5, densities=([1],), cell=1)  # type: ignore[arg-type]
