from __future__ import annotations

import math

import pytest

import watersmeet as wm
from watersmeet.errors import ConfigError
from watersmeet.ring import RingLoad, UnitCosts, latency, output_rate, tune, tune_load

COSTS = UnitCosts(1e-4, send_s=5e-5, hop_s=1e-3)


def three_way(selectivity: float, *, row_bytes: float = 0.0) -> RingLoad:
    return RingLoad.of((50, 50, 50), 10, selectivity=selectivity, row_bytes=row_bytes)


def test_work_counts_comparisons_and_not_outputs() -> None:
    load = three_way(0.1)
    assert load.central_s(COSTS) == pytest.approx(2.55)  # as printed in equation 1: 0.255
    assert load.comparisons(0) == pytest.approx(25_500)
    assert load.intermediates(0) == pytest.approx((1, 50, 2500))


def test_insertion_and_purge_are_paid_once() -> None:
    costs = UnitCosts(1e-4, insert_s=0.2, purge_s=0.3)
    assert three_way(0.1).central_s(costs) == pytest.approx(3.05)


@pytest.mark.parametrize("selectivity", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("streams", [2, 3, 4, 5])
def test_equation_2_is_exact_with_the_corrected_work(selectivity: float, streams: int) -> None:
    load = RingLoad.of((50,) * streams, 10, selectivity=selectivity)
    central = load.central_s(COSTS)
    assert load.ring_s(COSTS, 7) == pytest.approx(central * (1 + COSTS.send_s * 7 / (500 * COSTS.join_s)))


@pytest.mark.parametrize(
    ("selectivity", "work_s", "crossing", "paper_second", "slices", "latency_s"),
    [
        (0.05, 1.3, 21.034, 51.493, 21, 0.073205),
        (0.1, 2.55, 29.583, 71.916, 29, 0.104481),
        (0.5, 12.55, 66.804, 158.931, 67, 0.234000),
    ],
)
def test_ring_length_of_the_spec(
    selectivity: float, work_s: float, crossing: float, paper_second: float, slices: int, latency_s: float
) -> None:
    chosen = tune((50, 50, 50), 10, selectivity=selectivity, join_cost=1e-4, send_cost=5e-5, hop_latency=1e-3)
    assert chosen.work_s == pytest.approx(work_s)
    assert chosen.crossing == pytest.approx(crossing, abs=5e-4)
    assert (1 + math.sqrt(1 + 8 * work_s / 1e-3)) / 2 == pytest.approx(paper_second, abs=5e-4)
    assert chosen.stationary == pytest.approx(paper_second - 0.5, abs=5e-3)
    assert chosen.slices == slices
    assert chosen.latency_s == pytest.approx(latency_s, abs=5e-7)
    assert chosen.limit == "travel"


@pytest.mark.parametrize("selectivity", [0.0, 0.01, 0.05, 0.5])
@pytest.mark.parametrize("row_bytes", [0.0, 15e3, 60e3])
def test_no_length_is_better_than_the_chosen_one(selectivity: float, row_bytes: float) -> None:
    load = three_way(selectivity, row_bytes=row_bytes)
    costs = UnitCosts(1e-5, send_s=5e-5, hop_s=1e-4, link_bytes_per_s=125e6)
    chosen = tune_load(load, costs)
    best = min(latency(load, costs, length) for length in range(1, 1001))
    assert chosen.latency_s == pytest.approx(best, rel=1e-12)


def test_model_without_links_wants_longer_rings_for_larger_selectivity() -> None:
    lengths = [tune_load(three_way(s), COSTS).slices for s in (0.05, 0.1, 0.5)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_occupied_links_make_the_length_independent_of_selectivity() -> None:
    costs = UnitCosts(5.3e-6, send_s=5e-5, hop_s=1e-4, link_bytes_per_s=125e6)
    chosen = [tune_load(three_way(s, row_bytes=15e3), costs) for s in (0.1, 0.2, 0.5)]
    assert {length.limit for length in chosen} == {"links"}
    assert max(length.slices for length in chosen) - min(length.slices for length in chosen) <= 2


def test_bandwidth_example_of_the_spec() -> None:
    load = RingLoad.of((50, 50, 50), 10, selectivity=0.1, row_bytes=30e3)
    assert load.bandwidth_needed(UnitCosts(1e-3), 10) == pytest.approx(600e3)


@pytest.mark.parametrize(("selectivity", "slices"), [(0.1, 10), (0.02, 7)])
def test_extra_traffic_is_length_over_growth(selectivity: float, slices: int) -> None:
    growth = 500 * selectivity
    assert three_way(selectivity).extra_traffic(slices) == pytest.approx(slices / growth)
    five = RingLoad.of((50,) * 5, 10, selectivity=selectivity).extra_traffic(slices)
    assert five == pytest.approx(slices * sum(growth**k for k in (1, 2, 3)) / growth**4)


def test_output_rate_grows_with_the_nodes_until_travel_or_arrivals_bound_it() -> None:
    load, costs = three_way(0.1), UnitCosts(1e-5, send_s=5e-5, hop_s=1e-3)
    rates = [output_rate(load, costs, length, interleave=64) for length in range(1, 25)]
    assert rates == sorted(rates)
    ends = load.results_per_row() * load.rate_per_s
    assert output_rate(load, costs, 400, interleave=10_000) == pytest.approx(ends)
    chosen = tune_load(load, costs, objective="output-rate", interleave=64)
    assert chosen.output_rate_per_s >= 0.99 * max(
        output_rate(load, costs, length, interleave=64) for length in range(1, 1001)
    )


def test_one_cycle_at_a_time_gives_one_row_per_latency() -> None:
    load = three_way(0.1)
    assert output_rate(load, COSTS, 29) == pytest.approx(load.results_per_row() / 0.104481, rel=1e-4)


def test_streams_may_differ() -> None:
    load = RingLoad.of((10, 100), (60, 6), selectivity=(0.1, 0.01))
    assert load.window_rows == (600, 600)
    assert load.comparisons(0) == 600
    assert load.results_per_row() == pytest.approx((10 * 6 + 100 * 60) / 110)


def test_names_are_public() -> None:
    assert wm.ring.tune is tune


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rates": (50,)}, "rates="),
        ({"rates": (50, -1)}, "rates=-1"),
        ({"windows": (1, 2, 3)}, "windows="),
        ({"selectivity": 2}, "selectivity=2"),
        ({"join_cost": 0.0}, "join_s=0.0"),
        ({"objective": "speed"}, "objective='speed'"),
        ({"most": 0}, "most=0"),
        ({"bandwidth": -1}, "link_bytes_per_s=-1"),
    ],
)
def test_bad_argument_is_refused_by_name(arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {
        "rates": (50, 50), "windows": 10, "selectivity": 0.1, "join_cost": 1e-4, **arguments,
    }  # fmt: skip
    with pytest.raises(ConfigError, match=message):
        tune(**given)  # type: ignore[arg-type]
