from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from watersmeet.errors import ConfigError
from watersmeet.ring import adjust_passively, boundary_flows, relocate


def fractions(*numbers: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(number) for number in numbers)


@pytest.mark.parametrize(
    ("nodes", "added", "places", "flows"),
    [
        (3, 1, (3,), fractions("1/3", "2/3", "1")),
        (4, 2, (2, 5), fractions("0.5", "1", "0", "0.5", "1")),
        (5, 3, (2, 5, 7), fractions("0.6", "1.2", "0.2", "0.8", "1.4", "0.4", "1")),
    ],
)
def test_flows_of_the_spec(
    nodes: int, added: int, places: tuple[int, ...], flows: tuple[Fraction, ...]
) -> None:
    plan = relocate(nodes, nodes + added)
    assert (plan.changed, plan.flows) == (places, flows)


@pytest.mark.parametrize("before", range(1, 12))
@pytest.mark.parametrize("after", range(1, 12))
def test_flows_end_with_even_slices(before: int, after: int) -> None:
    plan, long = relocate(before, after), max(before, after)
    share, even = Fraction(long, before), Fraction(long, after)
    gone = after < before
    held = [Fraction(0) if not gone and p in plan.changed else share for p in range(long)]
    for place, flow in enumerate(plan.flows):
        held[place] -= flow
        held[place + 1] += flow
    assert held == [Fraction(0) if gone and p in plan.changed else even for p in range(long)]
    assert len(plan.changed) == abs(after - before)
    assert all(flow <= 0 if gone else flow >= 0 for flow in plan.flows)


def test_removal_mirrors_addition() -> None:
    there, back = relocate(5, 8), relocate(8, 5)
    assert back.changed == there.changed
    assert back.flows == tuple(-flow for flow in there.flows)
    assert there.moved == back.moved == sum(there.flows)
    assert relocate(3, 4).row_flows(120) == (10, 20, 30)


def test_no_change_moves_nothing() -> None:
    assert relocate(4, 4).moved == 0
    assert adjust_passively(12.0, 4, 4).duration_s == 0.0


@pytest.mark.parametrize("before", range(1, 8))
@pytest.mark.parametrize("after", range(1, 8))
def test_passive_boundaries_stay_in_order_and_never_outrun_time(before: int, after: int) -> None:
    plan = adjust_passively(12.0, before, after)
    steps = [plan.boundaries_at(0.5 * step) for step in range(26)]
    for ends in steps:
        assert list(ends) == sorted(ends)
        assert ends[-1] == 12.0
    for earlier, later in pairwise(steps):
        assert all(end - start <= 0.5 + 1e-9 for start, end in zip(earlier, later, strict=True))
    assert len({*steps[0]}) == before
    assert len({*steps[-1]}) == after
    assert plan.finished_at(12.0)
    assert plan.finished_at(0.0) == (before == after)


def test_states_of_different_size_have_no_flow() -> None:
    with pytest.raises(ConfigError, match="the same sum"):
        boundary_flows([Fraction(1)], [Fraction(2)])
    with pytest.raises(ConfigError, match="before=0"):
        relocate(0, 3)
