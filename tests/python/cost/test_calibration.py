from __future__ import annotations

from itertools import product

import pytest

from watersmeet.cost import Calibration, DirectionLoad, Observation, OperationCosts, Work, choose_structure
from watersmeet.cost.fit import fit_costs
from watersmeet.errors import ConfigError

TRUE = OperationCosts(probe=12, look_up=9, step=1.5, match=2, insert=8)


def works() -> list[Work]:
    probes = [
        Work(probe=100, look_up=100 * items, step=100 * steps, match=100 * matches)
        for items, steps, matches in product((1, 4), (0, 10), (0, 3))
    ]
    return [*probes, Work(insert=1000)]


def observed(structure: str, rows: float, costs: OperationCosts, *, noise: float = 0.0) -> list[Observation]:
    return [
        Observation(
            "equal",
            structure,  # type: ignore[arg-type]
            rows,
            work,
            tuple(work.times(costs) * (1 + noise * wobble) for wobble in (-1, 0, 1)),
        )
        for work in works()
    ]


def test_costs_are_found_again_from_exact_times() -> None:
    found = fit_costs(works(), [work.times(TRUE) for work in works()])
    for name in OperationCosts.__slots__:
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), abs=1e-6)


def test_no_cost_is_negative_though_a_difference_of_timings_is() -> None:
    found = fit_costs([Work(probe=100), Work(insert=10)], [500.0, -3.0])
    assert found.probe == pytest.approx(5.0)
    assert found.insert == 0.0


def test_a_time_lost_in_noise_does_not_outweigh_the_others() -> None:
    found = fit_costs([Work(row=10), Work(row=100), Work(row=1000)], [0.0, 10.0, 100.0])
    assert found.row == pytest.approx(0.1, rel=0.15)


def test_a_difference_within_the_noise_does_not_outweigh_times_beyond_it() -> None:
    works, times = [Work(row=8.0), Work(row=96.0), Work(row=352.0)], [3.0, 400.0, 1500.0]
    assert fit_costs(works, times).row < 2.0
    assert fit_costs(works, times, noise=[30.0] * 3).row == pytest.approx(4.2, abs=0.1)


def test_cost_is_that_of_the_least_disturbed_repeat_and_spread_that_of_all() -> None:
    observations = observed("hash", 1000, TRUE, noise=0.1)
    calibration = Calibration.from_observations(observations, ingest={"equal": 20}, machine={}, slices={})
    line = next(line for line in calibration.lines if line.operation == "insert")
    assert (line.low, line.nanoseconds, line.high) == pytest.approx((7.2, 7.2, 8.8))
    assert "insert 7.2 ± 1.6" in str(calibration)


def test_a_calibration_survives_its_file() -> None:
    observations = [*observed("hash", 1000, TRUE), *observed("hash", 1e5, TRUE)]
    calibration = Calibration.from_observations(
        observations, ingest={"equal": 20}, machine={"cpu": "x"}, slices={}
    )
    again = Calibration.from_json(calibration.to_json())
    assert again == calibration
    assert again.unit_costs.measured
    assert again.unit_costs.of("equal", "hash", rows=5000).look_up == pytest.approx(9)


def test_choices_follow_what_was_measured() -> None:
    slow_hash = OperationCosts(probe=12, look_up=5000)
    scan = [
        Observation("equal", "scan", 1000, Work(probe=10, row=10 * 1000), (10 * (12 + 300.0),)),
        Observation("equal", "scan", 1000, Work(probe=10), (120.0,)),
    ]
    for costs, expected in ((TRUE, "hash"), (slow_hash, "scan")):
        observations = [*observed("hash", 1000, costs), *scan]
        calibration = Calibration.from_observations(observations, ingest={}, machine={}, slices={})
        load = DirectionLoad(kind="equal", probing_rate=10, window_rate=1, window_rows=1000, matches=0.1)
        assert choose_structure(load, unit_costs=calibration.unit_costs).structure == expected


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "columns": [], "lines": 3}']
)
def test_a_damaged_file_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="calibration file: damaged"):
        Calibration.from_json(text)


def test_a_file_of_another_version_is_refused() -> None:
    with pytest.raises(ConfigError, match="calibration file: format 0, expected 1"):
        Calibration.from_json('{"format": 0}')


def test_a_fit_needs_as_many_times_as_works() -> None:
    with pytest.raises(ConfigError, match="fit: 1 works and 0 times"):
        fit_costs([Work(probe=1)], [])
