"""The numbers of SPEC 1.2 that are about shares and saturation, to the digits given there."""

from __future__ import annotations

import pytest

from watersmeet import cost


def _model(rate: float) -> cost.Model:
    return cost.Model(
        rates=(10.0, rate), windows=(60.0, 60.0), buckets=(10.0, 10.0), scan_cost=0.5, hash_cost=0.65
    )


@pytest.mark.parametrize(
    ("share", "expected"),
    [((8, 2), 3.2), ((2, 8), 3.2), ((9, 1), 1.8), ((1, 9), 1.8), ((5, 5), 5.0)],
)
def test_five_ways_to_regulate_give_the_outputs_of_figure_8(
    share: tuple[float, float], expected: float
) -> None:
    rows = share[0] * 9.0, share[1] * 1.0
    assert cost.output_rate(share, rows, selectivities=(0.02, 0.08)) == pytest.approx(expected, rel=1e-12)
    assert cost.regulate((80.0, 20.0), 10.0) == (5.0, 5.0)


def test_hash_and_scan_saturates_at_164_where_hash_and_hash_does_at_110() -> None:
    capacity = _model(110.0).cost("hash", "hash")
    assert capacity == pytest.approx(56_238.0, abs=0.5)
    low, high = 110.0, 250.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _model(middle).cost("hash", "scan") < capacity else (low, middle)
    assert low == pytest.approx(164.24, abs=5e-3)
    assert low / 110.0 == pytest.approx(1.493, abs=5e-4)


@pytest.mark.parametrize(
    ("share", "rows", "expected"),
    [
        (0.9, 0.0, 9.0),
        (0.9, 100.0, 1.0),
        (0.5, 50.0, 5.0),
        (1.0, 0.0, 10.0),
        (0.0, 100.0, 10.0),
        (1.0, 100.0, 0.0),
    ],
)
def test_the_surface_of_figures_10_and_11(share: float, rows: float, expected: float) -> None:
    rates = share * 10.0, (1.0 - share) * 10.0
    found = cost.output_rate(rates, (rows, 100.0 - rows), selectivities=(0.01, 0.01))
    assert found == pytest.approx(expected, abs=1e-12)


def test_example_2_regulates_first_and_then_chooses() -> None:
    assert cost.regulate((5.0, 100.0), 50.0) == (5.0, 45.0)
    assert cost.crossover_ratio(buckets=10.0) == pytest.approx(6.692, abs=5e-4)
    assert cost.crossover_ratio(buckets=10.0) < 45.0 / 5.0 < cost.crossover_ratio(buckets=20.0)
    assert cost.crossover_ratio(buckets=20.0) == pytest.approx(14.385, abs=5e-4)
