"""From counts to statistics: how far few bunches of matches are believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from watersmeet.plan import Drift, Period, Plan, blended, changed, drifted, measured_plan, parse_tree

TREE = parse_tree((("A", "B"), ("C", "D")))
STATES = {"A+B": 129, "C+D": 67}
# C probes; of A, four rows explore and become sixty, whose matches with C+D are chance.
PERIOD = Period(
    10.0,
    rows=dict.fromkeys("ABCD", 500.0),
    windows=dict.fromkeys("ABCD", 400.0),
    probes={"A": 4, "B": 0, "C": 700, "D": 0, "A+B": 60, "C+D": 3500},
    due={"A": 1600, "B": 0, "C": 280_000, "D": 0, "A+B": 60 * 67, "C+D": 3500 * 129},
    made={"A": 60, "B": 0, "C": 3500, "D": 0, "A+B": 120, "C+D": 4200},
)


def measured(period: Period) -> Plan:
    return measured_plan(TREE, period, STATES, None)


def test_matches_of_what_one_row_has_become_are_one_bunch() -> None:
    assert PERIOD.bunch("A") == 15.0
    assert PERIOD.bunch("A+B") == 30.0
    assert PERIOD.bunch("C+D") == 6.0


def test_a_few_bunches_do_not_make_a_half_way_join_look_better_than_its_partner() -> None:
    own, other = measured(PERIOD).selectivity["A+B+C+D"]
    counted = PERIOD.made["A+B"] / PERIOD.due["A+B"]
    assert counted > 3 * other
    assert own < 1.5 * other


def test_many_bunches_are_believed() -> None:
    many = replace(
        PERIOD,
        **{
            what: {name: 100.0 * each for name, each in getattr(PERIOD, what).items()}
            for what in ("probes", "due", "made")
        },
    )
    own, _ = measured(many).selectivity["A+B+C+D"]
    assert own == pytest.approx(PERIOD.made["A+B"] / PERIOD.due["A+B"], rel=0.1)


def skew(*, own: float, other: float) -> float:
    """Of C+D, ten rows of which look in A+B, where 500 of A+B have looked in C+D."""
    probes = dict.fromkeys((*TREE.streams, *TREE.susceptible), 0.0) | {"A+B": 500.0, "C+D": 10.0}
    made = dict.fromkeys(probes, 0.0) | {"A": 5000.0, "C": 5000.0, "A+B": other, "C+D": own}
    period = replace(PERIOD, probes=probes | {"A": 500.0, "C": 500.0}, made=made)
    pairs = frozenset({frozenset("AB"), frozenset("BC"), frozenset("CD")})
    return drifted(Drift(), TREE, period, pairs, memory=0.0).skew()["C+D"]


def test_beside_a_half_way_join_that_finds_nothing_a_few_matches_are_much() -> None:
    assert skew(own=0.0, other=0.0) == pytest.approx(1.0)
    assert skew(own=40.0, other=0.0) > 1.5
    assert skew(own=200.0, other=0.0) > 20.0


def test_a_few_matches_more_than_beside_are_chance() -> None:
    assert 0.8 < skew(own=55.0, other=2000.0) < 1.3


def test_a_few_bunches_more_are_no_change() -> None:
    before = blended(PERIOD, PERIOD, 0.75)
    bunches = replace(PERIOD, made={**PERIOD.made, "A+B": 2.5 * PERIOD.made["A+B"]})
    assert not changed(before, bunches)
    assert changed(before, replace(PERIOD, made={**PERIOD.made, "C+D": 2.5 * PERIOD.made["C+D"]}))
