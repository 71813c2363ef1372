from __future__ import annotations

import pytest

from watersmeet.cost import Model, crossover, crossover_ratio, output_rate
from watersmeet.errors import ConfigError

PAPER = {"scan_cost": 0.5, "hash_cost": 0.65}


def paper_model(rate: float, *, keys: float = 10, **more: object) -> Model:
    return Model(rates=(10, rate), windows=(60, 60), buckets=(keys, keys), **PAPER, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rate", "hash_hash", "hash_scan", "scan_hash", "scan_scan"),
    [
        (10, 1573.0, 3796.5, 3796.5, 6020.0),
        (70, 25012.0, 24196.5, 42895.5, 42080.0),
        (110, 56238.0, 37796.5, 84561.5, 66120.0),
        (140, 87847.5, 47996.5, 124001.0, 84150.0),
        (190, 156130.0, 64996.5, 205333.5, 114200.0),
    ],
)
def test_four_joins_cost_what_figure_2_says(
    rate: float, hash_hash: float, hash_scan: float, scan_hash: float, scan_scan: float
) -> None:
    model = paper_model(rate)
    assert model.cost("hash", "hash") == pytest.approx(hash_hash, rel=1e-12)
    assert model.cost("hash", "scan") == pytest.approx(hash_scan, rel=1e-12)
    assert model.cost("scan", "hash") == pytest.approx(scan_hash, rel=1e-12)
    assert model.cost("scan", "scan") == pytest.approx(scan_scan, rel=1e-12)


def test_choice_is_hash_hash_before_the_crossover_and_hash_scan_after_it() -> None:
    assert paper_model(60).choose() == ("hash", "hash")
    assert paper_model(70).choose() == ("hash", "scan")
    assert next(iter(paper_model(70).costs())) == ("hash", "scan")


def test_choice_is_mirrored_with_the_streams() -> None:
    mirrored = Model(rates=(70, 10), windows=(60, 60), buckets=(10, 10), **PAPER)
    assert mirrored.choose() == ("scan", "hash")
    assert mirrored.cost("scan", "hash") == paper_model(70).cost("hash", "scan")


def test_directions_add_up_and_are_equation_6() -> None:
    model = paper_model(70)
    assert model.direction_cost(1, "scan") == pytest.approx(10 * 60 * 70 * 0.5 + 2 * 70 * 0.5)
    assert model.direction_cost(0, "hash") == pytest.approx(80 * 60 * 0.65 + 10 * 0.65)
    assert model.cost("hash", "scan") == model.direction_cost(0, "hash") + model.direction_cost(1, "scan")


def test_one_way_costs_are_those_of_figure_4() -> None:
    assert paper_model(70).direction_cost(1, "hash") == pytest.approx(21_885.5)
    assert paper_model(70).direction_cost(1, "scan") == pytest.approx(21_070)
    assert paper_model(120).direction_cost(1, "hash") == pytest.approx(60_918)


@pytest.mark.parametrize(("keys", "rate", "cost"), [(10, 67.0128, 23_180.859), (20, 144.0256, 46_361.718)])
def test_exact_crossover_is_where_the_full_joins_cost_the_same(keys: int, rate: float, cost: float) -> None:
    found = crossover(probing_rate=10, window=60, buckets=keys, **PAPER)
    assert found == pytest.approx(rate, abs=5e-5)
    model = paper_model(found, keys=keys)
    assert model.cost("hash", "hash") == pytest.approx(cost, abs=5e-4)
    assert model.cost("hash", "scan") == pytest.approx(cost, abs=5e-4)


def test_half_the_keys_divide_the_crossover_by_more_than_two() -> None:
    roots = [crossover(probing_rate=10, window=60, buckets=keys, **PAPER) for keys in (20, 10)]
    assert roots[0] / roots[1] == pytest.approx(2.149, abs=5e-4)


@pytest.mark.parametrize(("keys", "rate"), [(10, 66.923), (20, 143.846)])
def test_approximate_crossover_leaves_out_insertion(keys: int, rate: float) -> None:
    assert crossover(probing_rate=10, window=60, buckets=keys, approximate=True, **PAPER) == pytest.approx(
        rate, abs=5e-4
    )


@pytest.mark.parametrize(
    ("keys", "ratio"), [(5, 2.846), (10, 6.692), (20, 14.385), (50, 37.462), (100, 75.923)]
)
def test_crossover_ratio_depends_on_the_keys_alone_as_in_figure_5(keys: int, ratio: float) -> None:
    assert crossover_ratio(buckets=keys) == pytest.approx(ratio, abs=5e-4)


def test_crossover_ratio_of_a_given_window_is_equation_7_without_approximation() -> None:
    assert crossover_ratio(buckets=10, window_rows=60 * 70, **PAPER) == pytest.approx(6.7009, abs=5e-5)


def test_example_1_scans_and_example_2_depends_on_the_keys() -> None:
    assert crossover_ratio(buckets=10) < 100 / 10
    assert crossover_ratio(buckets=10) < 45 / 5 < crossover_ratio(buckets=20)


@pytest.mark.parametrize(("window", "scan_cost", "expected"), [(0.0, 1.0, float("inf")), (0.0, 0.5, 0.0)])
def test_crossover_of_an_empty_window_is_decided_by_insertion(
    window: float, scan_cost: float, expected: float
) -> None:
    assert crossover(probing_rate=10, window=window, buckets=9, scan_cost=scan_cost) == expected


def test_scanning_one_key_is_cheaper_at_every_rate() -> None:
    assert crossover(probing_rate=10, window=60, buckets=1) == 0.0
    assert crossover_ratio(buckets=1) < 0.0


def test_lazy_invalidation_of_a_scanned_window_is_a_binary_search_per_probe() -> None:
    lazy = paper_model(70, invalidation="lazy")
    assert lazy.direction_cost(1, "scan") == pytest.approx(10 * (60 * 70 + 3) * 0.5 + 70 * 0.5)
    assert paper_model(80, invalidation="lazy").direction_cost(1, "scan") == pytest.approx(
        10 * (60 * 80 + 4) * 0.5 + 80 * 0.5
    )


def test_lazy_invalidation_of_a_hashed_window_touches_each_expired_row_once() -> None:
    lazy = paper_model(70, invalidation="lazy")
    assert lazy.direction_cost(1, "hash") == pytest.approx((10 * 60 * 70 / 10 + 70 + 70) * 0.65)
    assert lazy.cost("hash", "hash") < paper_model(70).cost("hash", "hash")


def test_a_window_that_nobody_probes_costs_its_upkeep() -> None:
    model = Model(rates=(0, 70), windows=(60, 60), invalidation="lazy")
    assert model.direction_cost(1, "scan") == 70.0
    assert model.direction_cost(1, "hash") == pytest.approx(91.0)


def test_output_rate_uses_the_smaller_selectivity() -> None:
    assert paper_model(110).output_rate() == pytest.approx(13_200)
    assert paper_model(190).output_rate() == pytest.approx(22_800)
    assert output_rate((8, 2), (8 * 9, 2 * 1), selectivities=(0.02, 0.08)) == pytest.approx(3.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rates": (1, -2)}, r"rates\[1\]=-2: expected a finite number, at least 0"),
        ({"rates": (1, 2, 3)}, "rates=.*expected two numbers, one per stream"),
        ({"buckets": (0, 1)}, r"buckets\[0\]=0: expected a finite number above 0"),
        ({"windows": (float("nan"), 1)}, r"windows\[0\]=nan: expected a finite number"),
        ({"scan_cost": True}, "scan_cost=True: expected a finite number above 0"),
        ({"invalidation": "never"}, "invalidation='never': expected one of 'active', 'lazy'"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Model(**{"rates": (1, 2), "windows": (3, 4), **change})  # type: ignore[arg-type]


def test_an_unknown_algorithm_is_named() -> None:
    with pytest.raises(ConfigError, match="algorithm='merge': expected one of 'hash', 'scan'"):
        paper_model(10).cost("hash", "merge")  # type: ignore[arg-type]
