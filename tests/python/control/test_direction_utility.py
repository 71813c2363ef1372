from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from watersmeet.control import allocate_by_utility, expected_utilities, split_between_windows
from watersmeet.control.utility import pair_utility, type_values
from watersmeet.errors import ConfigError

GOOD, BAD = (0.3, 0.1), (0.1, 0.1)


@pytest.mark.parametrize(
    ("fraction", "windows", "better", "expected"),
    [
        (0.5, (20, 10), 0, (0.75, 0)),
        (0.8, (20, 10), 0, (1, 0.4)),
        (0.5, (20, 10), 1, (0.25, 1)),
        (0.3, (20, 20), 0, (0.6, 0)),
        (0.6, (20, 20), 0, (1, 0.2)),
    ],
)
def test_better_window_gets_all_it_can_take(
    fraction: float, windows: tuple[float, float], better: int, expected: tuple[float, float]
) -> None:
    densities = (GOOD, BAD) if better == 0 else (BAD, GOOD)
    assert split_between_windows(fraction, windows, densities) == pytest.approx(expected)


@given(st.floats(0, 1), st.floats(0.1, 1000), st.floats(0.1, 1000), st.booleans())
def test_split_costs_what_the_single_fraction_would(
    fraction: float, one: float, two: float, first: bool
) -> None:
    parts = split_between_windows(fraction, (one, two), (GOOD, BAD) if first else (BAD, GOOD))
    assert all(0 <= part <= 1 for part in parts)
    assert parts[0] * one + parts[1] * two == pytest.approx(fraction * (one + two), rel=1e-9, abs=1e-9)


SMALL = {
    "fraction": 0.3,
    "windows_s": (4.0, 4.0),
    "basic_window_s": 1.0,
    "densities": ((0.1, 0.2, 0.6, 0.3, 0.1), (0.3, 0.1, 0.1, 0.1, 0.1)),
    "utilities": ((1.0, 0.5), (0.54, 0.27)),
    "frequencies": ((0.25, 0.75), (0.25, 0.75)),
}


def test_picks_of_algorithm_5_come_in_the_order_of_their_value() -> None:
    plan = allocate_by_utility(**SMALL)  # type: ignore[arg-type]
    picks = [(pick.window + 1, pick.cell + 1, pick.type + 1) for pick in plan.picks]
    assert picks == [(1, 3, 1), (2, 1, 1), (1, 3, 2), (1, 4, 1), (1, 2, 1), (2, 1, 2)]
    assert [pick.share for pick in plan.picks] == pytest.approx([1, 1, 1, 1, 1, 65 / 75])


def test_corrected_fractions_spend_the_whole_budget() -> None:
    plan = allocate_by_utility(**SMALL)  # type: ignore[arg-type]
    assert np.array(plan.fractions) == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.21667]]), abs=1e-5)
    assert plan.spent_share == pytest.approx(1.0)


def test_printed_fractions_spend_only_four_fifths() -> None:
    plan = allocate_by_utility(**SMALL, as_printed=True)  # type: ignore[arg-type]
    assert np.array(plan.fractions) == pytest.approx(np.array([[0.6, 0.2], [0.2, 0.17333]]), abs=1e-5)
    assert plan.spent_share == pytest.approx(0.8)


def test_printed_algorithm_spends_w_over_w_plus_b_of_the_budget_at_w_20() -> None:
    rng = np.random.default_rng(3)
    cells = (tuple(rng.random(21)), tuple(rng.random(21)))
    plan = allocate_by_utility(
        fraction=0.2, windows_s=(20, 20), basic_window_s=1, densities=cells, utilities=((1,), (1,)),
        frequencies=((1,), (1,)), as_printed=True,
    )  # fmt: skip
    assert plan.spent_share == pytest.approx(20 / 21)


@given(st.integers(0, 10_000), st.floats(0.01, 1.0), st.integers(1, 4))
def test_oracle_corrected_allocation_is_the_optimum_of_the_linear_program(
    seed: int, fraction: float, types: int
) -> None:
    rng = np.random.default_rng(seed)
    windows = (4.0, 3.0)
    densities = (tuple(rng.random(4)), tuple(rng.random(3)))  # cells that cover the windows exactly
    utilities = (tuple(rng.random(types)), tuple(rng.random(types)))
    weights = [rng.random(types) + 0.05 for _ in range(2)]
    frequencies = (tuple(weights[0] / weights[0].sum()), tuple(weights[1] / weights[1].sum()))
    plan = allocate_by_utility(
        fraction=fraction, windows_s=windows, basic_window_s=1.0, densities=densities, utilities=utilities,
        frequencies=frequencies,
    )  # fmt: skip
    value, volume = [], []
    for window in range(2):
        relative = np.array(densities[window]) / np.mean(densities[window])
        for kind in range(types):
            for cell in relative:
                volume.append(frequencies[1 - window][kind])
                value.append(utilities[window][kind] * cell * volume[-1])
    best = linprog(-np.array(value), A_ub=[volume], b_ub=[fraction * 7], bounds=(0, 1)).fun
    reached = sum(
        pick.share
        * frequencies[1 - pick.window][pick.type]
        * utilities[pick.window][pick.type]
        * densities[pick.window][pick.cell]
        / np.mean(densities[pick.window])
        for pick in plan.picks
    )
    assert reached == pytest.approx(-best, rel=1e-6)
    assert plan.spent_share == pytest.approx(1.0, rel=1e-9)


@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_more_valuable_type_gets_no_smaller_fraction(seed: int, fraction: float) -> None:
    rng = np.random.default_rng(seed)
    values = tuple(sorted(rng.random(3), reverse=True))
    shares = ((0.2, 0.3, 0.5), (0.6, 0.3, 0.1))
    plan = allocate_by_utility(
        fraction=fraction, windows_s=(10, 10), basic_window_s=1, densities=(rng.random(11), rng.random(11)),
        utilities=expected_utilities(values, shares), frequencies=shares,
    )  # fmt: skip
    for by_type in plan.fractions:
        assert all(one >= other - 1e-9 for one, other in itertools.pairwise(by_type))


def test_everything_affordable_gives_whole_windows() -> None:
    plan = allocate_by_utility(**(SMALL | {"fraction": 1.0}))  # type: ignore[arg-type]
    assert np.array(plan.fractions) == pytest.approx(np.ones((2, 2)))


def test_expected_utility_weighs_the_types_of_the_window_probed() -> None:
    shares = ((0.25, 0.75), (0.5, 0.5))
    first, second = expected_utilities((1.0, 0.5), shares)
    assert first == pytest.approx((1.0, 0.25 * 1 + 0.75 * 0.5))
    assert second == pytest.approx((1.0, 0.75))
    mean, _ = expected_utilities((1.0, 0.5), shares, combine="mean", densities=(0.1, 0.2))
    assert mean == pytest.approx((0.1 * (0.25 * 1 + 0.75 * 0.75), 0.1 * (0.25 * 0.75 + 0.75 * 0.5)))


def test_utility_of_a_pair_is_the_larger_or_the_mean_of_its_members() -> None:
    assert pair_utility(1.0, 0.2) == 1.0
    assert pair_utility(1.0, 0.2, "mean") == pytest.approx(0.6)


def test_type_without_a_stated_utility_counts_nothing() -> None:
    assert type_values({"security": 1.0}, ("sport", "security")) == (0.0, 1.0)


def test_frequencies_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(ConfigError, match="sum to 1"):
        allocate_by_utility(**(SMALL | {"frequencies": ((0.5, 0.6), (0.5, 0.5))}))  # type: ignore[arg-type]
