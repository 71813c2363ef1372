from __future__ import annotations

from dataclasses import replace

import pytest

from watersmeet.cost import (
    CostCurve,
    DirectionLoad,
    Model,
    OperationCosts,
    UnitCosts,
    cheapest,
    choose_index,
    choose_structure,
    predicted_cost,
    probe_work,
    structure_costs,
    worth_switching,
)
from watersmeet.errors import ConfigError

# The two weights of [Kang] as unit costs: a scan touches every row, a hash probe the rows of one bucket.
KANG = UnitCosts(
    {
        ("equal", "scan"): CostCurve.flat(OperationCosts(row=0.5, insert=0.5, expire=0.5)),
        ("equal", "hash"): CostCurve.flat(OperationCosts(step=0.65, insert=0.65)),
    }
)


def paper_load(probing: float, own: float, *, keys: float = 10) -> DirectionLoad:
    rows = 60 * own
    return DirectionLoad(
        kind="equal", probing_rate=probing, window_rate=own, window_rows=rows, matches=rows / keys
    )


def sets(*, rows: float, entries: float, items: float = 5, probing: float = 500) -> DirectionLoad:
    return DirectionLoad(
        kind="overlap",
        probing_rate=probing,
        window_rate=500,
        window_rows=rows,
        matches=rows * 1e-3,
        items=items,
        entries=entries,
    )


def test_the_weights_of_the_paper_give_its_scan_cost() -> None:
    model = Model(rates=(10, 70), windows=(60, 60), buckets=(10, 10), scan_cost=0.5, hash_cost=0.65)
    cost = predicted_cost(paper_load(10, 70), "scan", KANG.of("equal", "scan", rows=4200))
    assert cost * 1e9 == pytest.approx(model.direction_cost(1, "scan"))


def test_each_window_takes_its_own_cheapest_structure() -> None:
    slow, fast = (
        DirectionLoad(kind="equal", probing_rate=1e5, window_rate=10, window_rows=100, matches=0.1),
        DirectionLoad(kind="equal", probing_rate=10, window_rate=1e5, window_rows=100, matches=0.1),
    )
    first, second = choose_index((slow, fast))
    assert (first.index, second.index) == ("hash", "scan")
    assert "10,000 rows come and go between two probes" in second.reason
    assert first.cost == min(first.costs.values())


def test_a_large_window_with_many_keys_is_hashed() -> None:
    load = DirectionLoad(kind="equal", probing_rate=1e5, window_rate=1e5, window_rows=1e6, matches=0.5)
    choice = choose_structure(load, unit_costs=UnitCosts())
    assert choice.structure == "hash"
    assert "a probe makes 1 look-up and reads 0.5 entries, where a scan reads 1,000,000 rows" in choice.reason
    assert choice.costs["scan"] > 100 * choice.cost


def test_selective_sets_are_found_through_lists_and_popular_items_through_bitmaps() -> None:
    rare = choose_structure(sets(rows=1e5, entries=500), unit_costs=UnitCosts())
    popular = choose_structure(sets(rows=1e5, entries=1e5), unit_costs=UnitCosts())
    assert rare.index == "inverted"
    assert popular.structure == "inverted/bitmap"
    assert popular.merge == "bitmap"
    assert "bitmap words" in popular.reason


def test_a_scan_must_be_clearly_cheaper() -> None:
    def costs(scan: float) -> UnitCosts:
        return UnitCosts(
            {
                ("equal", "scan"): CostCurve.flat(OperationCosts(probe=scan)),
                ("equal", "hash"): CostCurve.flat(OperationCosts(probe=100.0)),
            }
        )

    load = DirectionLoad(kind="equal", probing_rate=1, window_rate=1, window_rows=100)
    assert choose_structure(load, unit_costs=costs(85.0)).structure == "scan"
    doubtful = choose_structure(load, unit_costs=costs(95.0))
    assert doubtful.structure == "hash"
    assert doubtful.cost == pytest.approx(100e-9)
    assert "not enough less to be sure of" in doubtful.reason


def test_every_pair_has_no_alternative() -> None:
    load = DirectionLoad(kind="every", probing_rate=10, window_rate=10, window_rows=100)
    choice = choose_structure(load, unit_costs=UnitCosts())
    assert choice.structure == "scan"
    assert choice.merge is None
    assert "nothing else serves this predicate; a probe meets all 100 rows" in choice.reason


def test_a_heap_pays_per_level_and_counting_per_word() -> None:
    load = sets(rows=6400, entries=100, items=8)
    assert probe_work(load, "inverted/heap").step == 300
    assert probe_work(load, "inverted/count").word == 100
    assert probe_work(load, "inverted/bitmap").step == 100
    assert probe_work(sets(rows=6400, entries=6400, items=8), "inverted/bitmap").word == 900


def test_blocks_with_matches_saturate() -> None:
    few = probe_work(
        DirectionLoad(kind="equal", probing_rate=1, window_rate=1, window_rows=6400, matches=1), "scan"
    )
    many = probe_work(
        DirectionLoad(kind="equal", probing_rate=1, window_rate=1, window_rows=6400, matches=6400), "scan"
    )
    assert few.block == pytest.approx(1, rel=0.01)
    assert many.block == pytest.approx(100, rel=0.01)


def test_costs_between_two_sizes_are_linear_in_the_logarithm() -> None:
    curve = CostCurve(((1e3, OperationCosts(look_up=10)), (1e5, OperationCosts(look_up=30))))
    assert [curve.at(rows).look_up for rows in (1, 1e3, 1e4, 1e5, 1e9)] == pytest.approx([10, 10, 20, 30, 30])


def test_a_switch_must_pay_for_the_rebuild_within_the_horizon() -> None:
    load = DirectionLoad(kind="equal", probing_rate=1000, window_rate=100, window_rows=1e6, matches=1)
    pays = worth_switching(load, "scan", unit_costs=UnitCosts())
    assert pays.worthwhile
    assert "saves more in 60 s" in pays.reason
    soon_over = worth_switching(load, "scan", unit_costs=UnitCosts(), horizon=1e-4)
    assert not soon_over.worthwhile
    assert soon_over.saving < soon_over.rebuild


def test_the_cheapest_structure_is_kept() -> None:
    load = DirectionLoad(kind="equal", probing_rate=1000, window_rate=100, window_rows=1e6, matches=1)
    assert worth_switching(load, "hash", unit_costs=UnitCosts()).reason == "hash is the cheapest already"


def test_noise_around_the_crossover_does_not_switch() -> None:
    costs = UnitCosts(
        {
            ("equal", "scan"): CostCurve.flat(OperationCosts(row=1.0)),
            ("equal", "hash"): CostCurve.flat(OperationCosts(look_up=95.0)),
        }
    )
    load = DirectionLoad(kind="equal", probing_rate=1, window_rate=1, window_rows=100)
    assert not worth_switching(load, "scan", unit_costs=costs).worthwhile
    assert worth_switching(load, "scan", unit_costs=costs, hysteresis=0.01).worthwhile


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_a_choice_depends_on_proportions_alone(scale: float) -> None:
    curves = {
        key: CostCurve(
            tuple(
                (
                    size,
                    OperationCosts(
                        **{name: scale * getattr(costs, name) for name in OperationCosts.__slots__}
                    ),
                )
                for size, costs in curve.points
            )
        )
        for key, curve in UnitCosts().curves.items()
    }
    for rows in (10, 1e3, 1e5):
        load = DirectionLoad(kind="equal", probing_rate=10, window_rate=1e3, window_rows=rows, matches=1)
        chosen = choose_structure(load, unit_costs=UnitCosts(curves)).structure
        assert chosen == choose_structure(load, unit_costs=UnitCosts()).structure


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ConfigError, match=r"DirectionLoad\(kind\)='like': expected one of 'equal'"):
        DirectionLoad(kind="like", probing_rate=1, window_rate=1, window_rows=1)  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match=r"DirectionLoad\(matches\)=-1: expected a finite number, at least 0"
    ):
        DirectionLoad(kind="equal", probing_rate=1, window_rate=1, window_rows=1, matches=-1)
    with pytest.raises(ConfigError, match="'hash' for 'overlap': no unit costs are known"):
        UnitCosts().of("overlap", "hash", rows=10)
    with pytest.raises(ConfigError, match="expected ascending numbers of rows above 0"):
        CostCurve(((2, OperationCosts()), (1, OperationCosts())))
    with pytest.raises(ConfigError, match=r"OperationCosts\(row\)=-1"):
        OperationCosts(row=-1)


def test_a_window_of_which_probes_meet_little_is_scanned_however_long_it_is() -> None:
    load = DirectionLoad(kind="equal", probing_rate=1e4, window_rate=1e4, window_rows=1e5, matches=0.0)
    assert choose_structure(load, unit_costs=UnitCosts()).structure == "hash"
    little = replace(load, met_rows=3.0)
    choice = choose_structure(little, unit_costs=UnitCosts())
    assert choice.structure == "scan"
    assert "a probe scans 3 of 100,000 rows" in choice.reason
    assert dict(choice.costs) == structure_costs(little, UnitCosts())
    assert cheapest(choice.costs) == "scan"
