"""From counts to statistics: how far few bunches of matches are believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from watersmeet.plan import Period, Plan, blended, changed, measured_plan, parse_tree

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


def test_a_few_bunches_more_are_no_change() -> None:
    before = blended(PERIOD, PERIOD, 0.75)
    bunches = replace(PERIOD, made={**PERIOD.made, "A+B": 2.5 * PERIOD.made["A+B"]})
    assert not changed(before, bunches)
    assert changed(before, replace(PERIOD, made={**PERIOD.made, "C+D": 2.5 * PERIOD.made["C+D"]}))
