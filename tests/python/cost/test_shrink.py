"""Windows that do not fit: what is kept of each, and what giving up the rest is taken to cost."""

from __future__ import annotations

import pytest

from watersmeet.cost import AgeCounts, WindowNeed, lost_results, rows_to_keep, share_of_answer, split_memory
from watersmeet.vocabulary import Estimate

NOTHING = AgeCounts((0.0,) * 4, (0.0,) * 4, (0.0,) * 4, (0.0,) * 4)


def _ages(*densities: float, met: float = 1e6, absent: float = 0.0) -> AgeCounts:
    matches = tuple(density * met for density in densities)
    cells = len(densities)
    return AgeCounts((met,) * cells, (absent,) * cells, matches, matches, (1.0, 1.0))


def test_where_nothing_is_known_memory_is_split_as_equation_13_says() -> None:
    needs = WindowNeed(10.0, 60.0, 1.0, NOTHING), WindowNeed(50.0, 60.0, 1.0, NOTHING)
    assert rows_to_keep(needs, 1000.0) == split_memory((10.0, 50.0), 1000.0, windows=(60.0, 60.0))


def test_the_window_that_matches_is_kept_and_rows_count_by_their_size() -> None:
    idle, busy = _ages(0.0, 0.0, 0.0, 0.0), _ages(0.01, 0.01, 0.01, 0.01)
    needs = WindowNeed(10.0, 40.0, 5.0, idle), WindowNeed(10.0, 40.0, 5.0, busy)
    kept = rows_to_keep(needs, 1500.0)
    assert kept[1] >= 285  # of the 300 that fit
    assert sum(kept) <= 300


def test_what_one_window_lacks_the_other_keeps_meanwhile() -> None:
    needs = WindowNeed(10.0, 60.0, 1.0, _ages(0.01)), WindowNeed(50.0, 60.0, 1.0, _ages(0.01))
    assert rows_to_keep(needs, 1000.0, present=(100, 3000)) == (100, 900)


def test_a_division_that_hardly_gives_more_is_not_made() -> None:
    needs = WindowNeed(10.0, 60.0, 1.0, _ages(0.0100)), WindowNeed(10.0, 60.0, 1.0, _ages(0.0101))
    assert rows_to_keep(needs, 600.0, present=(500, 500)) == (300, 300)


def test_rows_of_an_age_never_met_match_like_the_oldest_that_were() -> None:
    ages = AgeCounts((1e6, 1e6, 0.0, 0.0), (0.0, 0.0, 500.0, 500.0), (2e4, 1e3, 0.0, 0.0), (2e4, 1e3, 0, 0))
    lost = lost_results(ages, 1000.0)
    assert lost.value == pytest.approx(1000 * 1e3 / 1e6, rel=0.01)
    assert (lost.low, lost.high) == pytest.approx((lost.value / 2, lost.value * 2))


def test_short_cells_of_which_only_matches_were_sampled_count_with_those_after_them() -> None:
    ages = AgeCounts((1e5, 0.0, 0.0, 2e5, 0.0), (0.0,) * 5, (1e3, 900.0, 600.0, 500.0, 100.0), (9.0,) * 5)
    densities = ages.densities(0.0)
    assert densities[0] == pytest.approx(0.01, rel=0.01)
    assert densities[1:4] == pytest.approx((0.01,) * 3, rel=0.01)
    assert densities[4] == densities[3]


def test_cells_of_any_length_divide_memory_as_equal_ones_do() -> None:
    short = AgeCounts((1e5,) * 4, (0.0,) * 4, (3e3, 3e3, 3e3, 0.0), (9.0,) * 4, ends=(0.125, 0.25, 0.5, 1.0))
    even = AgeCounts((1e5,) * 4, (0.0,) * 4, (3e3, 3e3, 0.0, 0.0), (9.0,) * 4)
    other = _ages(0.01, 0.01, 0.01, 0.01)
    kept = [
        rows_to_keep((WindowNeed(10.0, 80.0, 1.0, ages), WindowNeed(10.0, 80.0, 1.0, other)), 900.0)
        for ages in (short, even)
    ]
    assert kept[0] == kept[1]
    assert short.spans(80.0) == (10.0, 10.0, 20.0, 40.0)


def test_results_lost_follow_the_density_of_their_age_and_the_interval_the_sample() -> None:
    few = lost_results(_ages(0.001, 0.003, met=1e5, absent=50.0), 100.0)
    many = lost_results(_ages(0.001, 0.003, met=1e7, absent=50.0), 100.0)
    assert few.value == pytest.approx(0.2, rel=0.02)
    assert many.value == pytest.approx(0.2, rel=0.001)
    assert many.high - many.low < few.high - few.low
    assert lost_results(NOTHING, 0.0) == Estimate.exactly(0.0)


def test_the_share_of_the_answer_is_exact_where_nothing_was_lost() -> None:
    assert share_of_answer(10.0, [Estimate.exactly(0.0)]).is_exact
    share = share_of_answer(90.0, [Estimate(10.0, 5.0, 20.0)])
    assert (share.value, share.low, share.high) == pytest.approx((0.9, 90 / 110, 90 / 95))
    assert share_of_answer(0.0, [Estimate(0.0, 0.0, 1.0)]).value == 1.0
