from __future__ import annotations

import pytest

from watersmeet.plan import Plan, allocate, carried, margin, with_headroom


def plan() -> Plan:
    """SPEC J1: productivities 1.6667 of A, 4.1667 of B, 1 of C."""
    return Plan(
        (("A", "B"), "C"),
        rates={"A": 500, "B": 700, "C": 600},
        states={"A": 5000, "B": 500, "C": 1000, "A+B": 200},
        selectivity={"A+B": 0.001, "A+B+C": 0.005},
    )


def test_one_probe_more_goes_along_the_most_productive_path_that_can_take_it() -> None:
    # B is not exhausted by 300 probes: one row of it takes a probe below and five above.
    assert margin(plan(), allocate(plan(), budget=300)) == pytest.approx(
        {"A": 0.0, "B": 1 / 6, "A+B": 5 / 6, "C": 0.0}
    )
    # B takes 700 * 6 = 4200 at most; then A, one row of which makes half a row above.
    assert margin(plan(), allocate(plan(), budget=4300)) == pytest.approx(
        {"A": 2 / 3, "B": 0.0, "A+B": 1 / 3, "C": 0.0}
    )


def test_without_paths_more_goes_where_the_budget_goes() -> None:
    found = allocate(plan(), budget=300, policy="equal")
    assert margin(plan(), found) == pytest.approx(dict.fromkeys(("A", "B", "A+B", "C"), 0.25))
    assert with_headroom(plan(), found, found.probes) == found.probes


def test_headroom_keeps_the_sum_and_is_lent_by_the_whole_path_on_the_margin() -> None:
    found = allocate(plan(), budget=4400)
    given = with_headroom(plan(), found, found.probes)
    assert sum(given.values()) == pytest.approx(4400)
    assert given["B"] > found.probes["B"]
    assert given["A+B"] > found.probes["A+B"]
    assert 0.5 * found.probes["A"] <= given["A"] < found.probes["A"]
    # What A lends is what its rows would have taken, above as well: no more than the others' room.
    assert found.probes["A"] - given["A"] < 0.05 * sum(given.values())
    assert given["C"] == 0.0


def test_where_everything_is_probed_nothing_is_lent() -> None:
    found = allocate(plan(), budget=1e6)
    assert with_headroom(plan(), found, found.probes) == found.probes
    assert sum(margin(plan(), found).values()) == pytest.approx(1.0)


def test_cover_that_cannot_be_kept_comes_first_also_where_cells_differ() -> None:
    from watersmeet.plan import cell_curve

    curves = {"C": cell_curve([4.0] + [0.5] * 15)}
    wanting = Plan(
        (("A", "B"), "C"),
        rates=plan().rates,
        states=plan().states,
        selectivity=plan().selectivity,
        curves=curves,
        filling={"A+B": 1e6},
    )
    most = allocate(
        Plan(
            (("A", "B"), "C"),
            rates=plan().rates,
            states=plan().states,
            selectivity=plan().selectivity,
            filling={"A+B": 1e6},
        ),
        budget=900,
    )
    assert allocate(wanting, budget=900).produced["A+B"] >= most.produced["A+B"] * (1 - 1e-9)


def test_states_that_get_their_rows_in_few_bunches_keep_what_they_do_not_use_for_longer() -> None:
    often = carried({"A": 40.0, "B": 60.0, "A+B": 200.0, "C": 5.0})
    assert often == pytest.approx({"A": 2.0, "B": 2.0, "A+B": 2.2, "C": 2.0})
    assert carried({"A": 0.5, "B": 0.5, "A+B": 200.0, "C": 5.0})["A+B"] == pytest.approx(22.0)
    assert carried({"A": 0.0, "B": 0.0, "A+B": 200.0, "C": 5.0})["A+B"] == pytest.approx(30.0)
