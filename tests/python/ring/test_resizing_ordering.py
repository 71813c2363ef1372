from __future__ import annotations

import random
from itertools import permutations

import pytest

from watersmeet.errors import ConfigError
from watersmeet.ring import (
    OrderingRule,
    OrderingState,
    ResizeRule,
    ResizeState,
    RingStatistics,
    StepCounts,
    adapt_length,
    adapt_orderings,
    ordering_cost,
)

RULE = ResizeRule(least=1, most=16, patience=3)


def periods(state: ResizeState, busy: list[float], **more: int) -> tuple[ResizeState, list[str]]:
    """Periods of one second in which all slices together were busy for so long."""
    decisions = []
    for busy_s in busy:
        state, decision = adapt_length(state, RingStatistics(1.0, busy_s, **more), RULE)
        decisions.append(decision)
    return state, decisions


def test_steady_overload_grows_the_ring_after_patience() -> None:
    state, decisions = periods(ResizeState(4), [3.8, 3.8, 3.8])
    assert decisions == ["keep", "keep", "passive"]
    assert state == ResizeState(6, 0, 1)


def test_a_single_peak_or_dip_changes_nothing() -> None:
    state, decisions = periods(ResizeState(4), [3.8, 3.8, 2.8, 3.8, 0.1, 3.8, 0.1, 0.1] * 5)
    assert set(decisions) == {"keep"}
    assert state.slices == 4


def test_rows_piling_up_at_full_load_move_state_at_once() -> None:
    _, decisions = periods(ResizeState(4), [4.0] * 3, waiting_rows=90, waited_rows=10)
    assert decisions[-1] == "aggressive"


def test_idle_ring_shrinks_to_where_it_is_not_crowded_again() -> None:
    state, decisions = periods(ResizeState(8), [1.4] * 3)
    assert (state.slices, decisions[-1]) == (2, "passive")
    assert 1.4 / state.slices <= RULE.high


@pytest.mark.parametrize("slices", range(1, 17))
@pytest.mark.parametrize("tenths", range(1, 160, 3))
def test_length_settles_for_any_constant_load(slices: int, tenths: int) -> None:
    state, work = ResizeState(slices), tenths / 10
    lengths = []
    for _ in range(60):
        state, _ = adapt_length(state, RingStatistics(1.0, min(work, state.slices)), RULE)
        lengths.append(state.slices)
    assert len(set(lengths[-20:])) == 1
    assert 1 <= state.slices <= 16


def test_model_bounds_the_growth_but_never_shrinks() -> None:
    state, _ = periods(ResizeState(4), [4.0] * 3, model_slices=5)
    assert state.slices == 5
    state, decisions = periods(ResizeState(4), [4.0] * 3, model_slices=2)
    assert (state.slices, decisions[-1]) == (4, "keep")


def test_rule_without_a_band_is_refused() -> None:
    with pytest.raises(ConfigError, match="low < aim < high"):
        ResizeRule(low=0.9)


WINDOWS = (100.0, 100.0, 100.0, 100.0)


def counts(joined: set[int], other: int, kept: float) -> StepCounts:
    return StepCounts(frozenset(joined), other, 1000.0, kept * 1000.0)


def test_most_selective_stream_is_probed_first() -> None:
    steps = [counts({0}, 1, 0.5), counts({0}, 2, 0.01), counts({0}, 3, 0.1)]
    _, orderings = adapt_orderings(
        OrderingState.start(4), steps, window_rows=WINDOWS, rule=OrderingRule(prior=0.5)
    )
    assert orderings[0] == (2, 3, 1)


def test_ordering_is_the_cheapest_of_all() -> None:
    for seed in range(30):
        chance = random.Random(seed)
        windows = [chance.uniform(10, 200) for _ in range(4)]
        steps = [
            counts({one}, two, chance.choice([0.001, 0.02, 0.3])) for one in range(4) for two in range(one)
        ]
        rule = OrderingRule(margin=0.0, prior=1.0)
        state, orderings = adapt_orderings(OrderingState.start(4), steps, window_rows=windows, rule=rule)
        for own, ordering in enumerate(orderings):
            best = min(
                ordering_cost(own, other, state=state, window_rows=windows, rule=rule)
                for other in permutations([o for o in range(4) if o != own])
            )
            chosen = ordering_cost(own, ordering, state=state, window_rows=windows, rule=rule)
            assert chosen == pytest.approx(best)


def test_correlated_steps_are_judged_by_what_was_measured_for_them() -> None:
    alone = [counts({0}, 1, 0.1), counts({0}, 2, 0.2), counts({0}, 3, 0.2)]
    after = [counts({0, 1}, 2, 0.9), counts({0, 1}, 3, 0.01)]
    rule = OrderingRule(prior=1.0)
    state, _ = adapt_orderings(OrderingState.start(4), alone, window_rows=WINDOWS, rule=rule)
    state, second = adapt_orderings(state, after, window_rows=WINDOWS, rule=rule)
    assert second[0] == (1, 3, 2)


def test_ordering_is_kept_within_the_margin_and_forgets_slowly() -> None:
    rule = OrderingRule(margin=0.1, memory=0.5, prior=1.0)
    state = OrderingState.start(3)
    close = [counts({0}, 1, 0.105), counts({0}, 2, 0.1)]
    state, orderings = adapt_orderings(state, close, window_rows=(100, 100, 100), rule=rule)
    assert (orderings[0], state.changes) == ((1, 2), 0)
    for _ in range(6):
        turned = [counts({0}, 1, 0.9), counts({0}, 2, 0.01)]
        state, orderings = adapt_orderings(state, turned, window_rows=(100, 100, 100), rule=rule)
    assert orderings[0] == (2, 1)


def test_pair_without_predicate_keeps_every_row() -> None:
    rule = OrderingRule(predicates=frozenset({frozenset({0, 1}), frozenset({1, 2})}))
    _, orderings = adapt_orderings(OrderingState.start(3), [], window_rows=(10, 100, 50), rule=rule)
    assert orderings[0] == (1, 2)  # 2 first would be a product of the two windows


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ConfigError, match="compared - kept"):
        StepCounts(frozenset({0}), 1, 1.0, 2.0)
    with pytest.raises(ConfigError, match="other=0"):
        StepCounts(frozenset({0}), 0, 1.0, 1.0)
