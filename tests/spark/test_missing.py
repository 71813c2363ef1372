"""What lanes found and missed adds up to a recall that claims no more than they know. Without Spark."""

from __future__ import annotations

import pytest

from watersmeet.spark.missing import Missing, missing
from watersmeet.vocabulary import Estimate


def test_nothing_given_up_is_exactly_everything() -> None:
    part = missing(found=7, recall=Estimate.exactly(1.0), done=100, given_up=0)
    assert part.recall() == Estimate.exactly(1.0)
    assert Missing.sum([]).recall() == Estimate.exactly(1.0)


def test_one_lane_keeps_its_interval() -> None:
    own = Estimate(0.5, 1 / 3, 2 / 3)  # misses 60, from 30 to 120
    made = missing(found=60, recall=own, done=1000, given_up=900).recall()
    assert (made.value, made.low, made.high) == pytest.approx((own.value, own.low, own.high))


def test_lane_that_no_sample_bounds_is_bounded_by_what_is_certain() -> None:
    made = missing(found=10, recall=Estimate(1.0, 0.0, 1.0), done=200, given_up=40).recall()
    assert made.value == pytest.approx(10 / (10 + 10.5 * 40 / 201))
    assert made.low == pytest.approx(10 / (10 + 40))
    assert made.high == 1.0


def test_lane_without_results_may_have_missed_all_that_it_gave_up() -> None:
    silent = missing(found=0, recall=Estimate(1.0, 1.0, 1.0), done=5, given_up=30)
    busy = missing(found=10, recall=Estimate.exactly(1.0), done=100, given_up=0)
    made = Missing.sum([silent, busy]).recall()
    assert silent.recall().value == 0.0
    assert made.low == pytest.approx(10 / 40)
    assert made.high == 1.0


def test_interval_without_width_is_no_knowledge() -> None:
    made = missing(found=71, recall=Estimate(0.5772, 0.5772, 0.5772), done=894, given_up=323).recall()
    assert made.low == pytest.approx(71 / (71 + 323))
    assert made.high == 1.0


def test_lane_whose_samples_missed_nothing_may_still_have_missed_a_little() -> None:
    made = missing(found=97, recall=Estimate(1.0, 0.97, 1.0), done=900, given_up=50).recall()
    assert (made.value, made.low, made.high) == pytest.approx((1.0, 0.97, 1.0))


def test_errors_of_samples_average_out_and_others_do_not() -> None:
    sampled = missing(found=100, recall=Estimate(0.5, 1 / 3, 2 / 3), done=1000, given_up=1000)
    blind = missing(found=100, recall=Estimate(1.0, 0.0, 1.0), done=1000, given_up=500)
    one, many = (Missing.sum([sampled] * count).recall() for count in (1, 16))
    assert one.low < many.low < many.value == one.value < many.high < one.high
    one, many = (Missing.sum([blind] * count).recall() for count in (1, 16))
    assert (one.low, one.high) == (many.low, many.high) == (100 / 600, 1.0)
