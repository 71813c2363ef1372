from __future__ import annotations

import random
from collections import deque
from itertools import product

import pytest

from watersmeet.errors import ConfigError
from watersmeet.ring import (
    RingLoad,
    SliceBounds,
    SmoothingRule,
    SmoothingState,
    UnitCosts,
    even_boundaries,
    latency,
    latency_of_lengths,
    rows_handed_on,
    slice_initially,
    smooth,
    tune_load,
)

COSTS = UnitCosts(1e-4, send_s=5e-5, hop_s=1e-3)


def test_equal_streams_are_cut_as_the_tuned_ring() -> None:
    load = RingLoad.of((50, 50, 50), 10, selectivity=0.1)
    slicing = slice_initially(load, COSTS, most=100)
    assert set(slicing.lengths) == {tune_load(load, COSTS).slices}
    assert slicing.latency_s == pytest.approx(latency(load, COSTS, slicing.nodes))


def test_boundaries_abut_and_end_with_the_window() -> None:
    assert even_boundaries(10.0, 4) == (2.5, 5.0, 7.5, 10.0)
    load = RingLoad.of((5, 50, 20), (10, 20, 0.3), selectivity=(0.1, 0.02, 0.3))
    slicing = slice_initially(load, COSTS, most=30)
    for ends, window in zip(slicing.boundaries_s, load.windows_s, strict=True):
        assert list(ends) == sorted(ends)
        assert ends[-1] == window


@pytest.mark.parametrize("seed", range(6))
def test_heuristic_is_close_to_the_best_of_all_lengths(seed: int) -> None:
    chance = random.Random(seed)
    load = RingLoad.of(
        [chance.uniform(5, 60) for _ in range(3)],
        [chance.uniform(1, 20) for _ in range(3)],
        selectivity=[chance.uniform(0.01, 0.2) for _ in range(3)],
    )
    best = min(latency_of_lengths(load, COSTS, lengths) for lengths in product(range(1, 15), repeat=3))
    assert best <= slice_initially(load, COSTS, most=14).latency_s <= 1.15 * best


def test_bounds_share_the_rows_and_leave_the_tail_to_time() -> None:
    state, bounds = smooth(SmoothingState.start(4), [100, 0, 0, 0], SmoothingRule())
    assert bounds.rows == (25, 25, 25, None)
    state, bounds = smooth(state, [25, 25, 25, 25], SmoothingRule())
    assert (bounds.rows, state.changes) == ((25, 25, 25, None), 1)


def test_small_drift_changes_nothing_and_a_new_rate_does() -> None:
    rule = SmoothingRule(tolerance=0.1, memory=1.0)
    state, _ = smooth(SmoothingState.start(2), [50, 50], rule)
    for tail in (52, 48, 55, 47):
        state, bounds = smooth(state, [50, tail], rule)
        assert bounds.rows == (50, None)
    state, bounds = smooth(state, [50, 150], rule)
    assert (bounds.rows, state.changes) == ((100, None), 2)


def ring_of_bounds(seed: int) -> None:
    """A chain of slices under moving bounds holds exactly the window after every arrival."""
    chance = random.Random(seed)
    slices, window, rule = chance.randint(1, 5), 40, SmoothingRule()
    state = SmoothingState.start(slices)
    held: list[deque[int]] = [deque() for _ in range(slices)]
    now, arrived = 0, []
    for step in range(300):
        now += chance.choice([0, 1, 1, 2]) if (step // 60) % 2 else chance.choice([3, 5, 9, 60])
        arrived.append(now)
        held[0].appendleft(now)
        for place, bound in enumerate(state.bounds.rows):
            expired = sum(now - at > window for at in held[place])
            for _ in range(rows_handed_on(len(held[place]), expired=expired, bound=bound)):
                oldest = held[place].pop()
                if place + 1 < slices:
                    held[place + 1].appendleft(oldest)
        assert [at for part in held for at in part] == [at for at in reversed(arrived) if now - at <= window]
        if step % 7 == 0:
            state, bounds = smooth(state, [len(part) for part in held], rule)
            assert bounds.rows[-1] is None


@pytest.mark.parametrize("seed", range(20))
def test_slices_under_moving_bounds_hold_exactly_the_window(seed: int) -> None:
    ring_of_bounds(seed)


def test_only_the_tail_may_lack_a_bound() -> None:
    for rows in ((), (3,), (None, None), (3, 4)):
        with pytest.raises(ConfigError, match="rows="):
            SliceBounds(rows)
    with pytest.raises(ConfigError, match="each of the 3 slices"):
        smooth(SmoothingState.start(3), [1, 2], SmoothingRule())
