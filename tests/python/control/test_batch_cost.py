from __future__ import annotations

import pytest

from watersmeet.control import BatchCosts, affordable_units, learn_batch
from watersmeet.errors import ConfigError


def learnt(batches: list[tuple[float, float]], *, row_s: float, unit_s: float) -> BatchCosts:
    costs = BatchCosts()
    for rows, units in batches:
        costs = learn_batch(costs, rows=rows, units=units, seconds=row_s * rows + unit_s * units)
    return costs


def test_costs_of_rows_and_units_are_told_apart_by_batches_that_differ() -> None:
    costs = learnt([(1e4, 1e6), (1e5, 2e6), (3e4, 9e6)], row_s=3e-6, unit_s=4e-8)
    assert costs.per_row_and_unit == pytest.approx((3e-6, 4e-8), rel=0.02)


def test_batches_all_alike_are_foretold_whatever_their_parts() -> None:
    costs = learnt([(1e5, 1e7)] * 5, row_s=1e-6, unit_s=9e-8)
    row_s, unit_s = costs.per_row_and_unit
    assert 1e5 * row_s + 1e7 * unit_s == pytest.approx(1e5 * 1e-6 + 1e7 * 9e-8, rel=0.02)


def test_what_rows_take_is_set_aside() -> None:
    costs = learnt([(1e4, 1e6), (1e5, 2e6), (3e4, 9e6)], row_s=3e-6, unit_s=4e-8)
    few, many = (affordable_units(costs, rows=rows, bound_s=1.0) for rows in (1e4, 2e5))
    assert few == pytest.approx((1.0 - 0.03) / 4e-8, rel=0.03)
    assert many == pytest.approx((1.0 - 0.6) / 4e-8, rel=0.05)


def test_some_work_is_left_even_where_the_rows_alone_take_too_long() -> None:
    costs = learnt([(1e4, 1e6), (1e5, 2e6)], row_s=3e-6, unit_s=4e-8)
    assert affordable_units(costs, rows=1e9, bound_s=1.0) > 0


def test_a_machine_that_becomes_slower_is_believed_within_a_few_batches() -> None:
    costs = learnt([(1e4, 1e6), (2e4, 5e6)] * 4, row_s=1e-6, unit_s=1e-8)
    for _ in range(4):
        costs = learn_batch(costs, rows=1e4, units=3e6, seconds=0.01 + 3e6 * 1e-7)
    assert costs.per_row_and_unit[1] > 5e-8


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(ConfigError, match="units"):
        learn_batch(BatchCosts(), rows=1, units=-1, seconds=1)


def test_a_sudden_change_of_speed_is_believed_at_once_for_rows_and_units_alike() -> None:
    costs = learnt([(1e4, 1e6), (2e4, 5e6)] * 4, row_s=1e-6, unit_s=1e-8)
    costs = learn_batch(costs, rows=1e4, units=1e6, seconds=10 * (0.01 + 0.01))
    assert costs.per_row_and_unit == pytest.approx((1e-5, 1e-7), rel=0.1)


def test_batches_without_work_for_units_do_not_forget_what_units_cost() -> None:
    costs = learnt([(1e4, 1e6), (1e5, 2e6), (3e4, 9e6)] * 2, row_s=3e-6, unit_s=4e-8)
    for slower in [0.7, 1.4] * 50:  # rows alone, on a machine whose speed varies
        costs = learn_batch(costs, rows=3e4, units=10, seconds=slower * 3e-6 * 3e4)
    row_s, unit_s = costs.per_row_and_unit
    assert unit_s / row_s == pytest.approx(4e-8 / 3e-6, rel=0.1)
    assert row_s == pytest.approx(3e-6, rel=0.5)


def test_scatter_does_not_make_units_free() -> None:
    costs = BatchCosts()
    for units, seconds in [(1e6, 0.2), (3e6, 0.15), (4e6, 0.12), (2e6, 0.18)] * 3:  # more units, less time
        costs = learn_batch(costs, rows=1e5, units=units, seconds=seconds)
    assert affordable_units(costs, rows=1e5, bound_s=0.3) < 1e8
