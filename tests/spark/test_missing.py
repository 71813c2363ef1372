"""What lanes found and missed adds up to a recall that claims no more than they know. Without Spark."""

from __future__ import annotations

import math

import pytest

from watersmeet.spark.missing import Missing, missing
from watersmeet.vocabulary import Estimate


def test_nothing_given_up_is_exactly_everything() -> None:
    part = missing(found=7, recall=Estimate.exactly(1.0), done=100, given_up=0)
    assert part.recall() == Estimate.exactly(1.0)
    assert Missing.sum([]).recall() == Estimate.exactly(1.0)


def test_one_lane_keeps_its_interval() -> None:
    own = Estimate(0.5, 0.3, 0.8)
    made = missing(found=60, recall=own, done=1000, given_up=900).recall()
    assert (made.value, made.low, made.high) == pytest.approx((own.value, own.low, own.high))


def test_lane_that_no_sample_bounds_is_bounded_by_what_is_certain() -> None:
    made = missing(found=10, recall=Estimate(1.0, 0.0, 1.0), done=200, given_up=40).recall()
    assert made.value == pytest.approx(10 / (10 + 10 * 40 / 200))
    assert made.low == pytest.approx(10 / (10 + 40))
    assert made.high == 1.0


def test_lane_without_results_may_have_missed_all_that_it_gave_up() -> None:
    silent = missing(found=0, recall=Estimate(1.0, 1.0, 1.0), done=5, given_up=30)
    busy = missing(found=10, recall=Estimate.exactly(1.0), done=100, given_up=0)
    made = Missing.sum([silent, busy]).recall()
    assert made.low == pytest.approx(10 / 40)
    assert made.high == 1.0


def test_errors_of_samples_add_up_squared_and_others_as_they_are() -> None:
    sampled = missing(found=100, recall=Estimate(0.5, 0.4, 0.625), done=1000, given_up=1000)
    blind = missing(found=100, recall=Estimate(1.0, 0.0, 1.0), done=1000, given_up=500)
    twice = Missing.sum([sampled, sampled])
    assert math.sqrt(twice.missed_over) == pytest.approx(math.sqrt(2) * 50)
    assert math.sqrt(twice.missed_under) == pytest.approx(math.sqrt(2) * 40)
    assert Missing.sum([blind, blind]).unsampled_over == pytest.approx(2 * 450)
    assert Missing.sum([sampled, blind]).recall().low < Missing.sum([sampled, sampled]).recall().low
