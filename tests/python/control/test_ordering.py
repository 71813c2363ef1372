from __future__ import annotations

import heapq

import pytest

from watersmeet.control.ordering import (
    AFTER_ALL,
    BEFORE_ALL,
    AdaptiveRule,
    AdaptiveState,
    OrderStatistics,
    StreamClock,
    adapt_order,
    filter_order_response,
    next_stream,
    order_load,
    relative_improvement,
    releasable,
    sync_filter_response,
    trigger,
)
from watersmeet.errors import ConfigError

# [Hammad] figures 1-4: (arrival, stream, key, timestamp); a8 comes three late. Window 6.
ARRIVALS = (
    (1, 1, "a", 1), (2, 0, "d", 2), (4, 0, "c", 4), (5, 1, "a", 5), (6, 0, "b", 6),
    (9, 1, "b", 9), (10, 1, "c", 10), (11, 0, "a", 8), (12, 0, "a", 12),
)  # fmt: skip
WINDOW, STEP = 6, 0.125


def partners(row: tuple[str, int], others: list[tuple[str, int]]) -> list[int]:
    return [ts for key, ts in others if key == row[0] and abs(ts - row[1]) <= WINDOW]


def sync_filter() -> list[tuple[float, int, int]]:
    queues: list[list[tuple[str, int]]] = [[], []]
    windows: list[list[tuple[str, int]]] = [[], []]
    out, free = [], 0.0
    for arrival, stream, key, ts in ARRIVALS:
        queues[stream].append((key, ts))
        free = max(free, float(arrival))
        while True:
            heads = [queue[0][1] if queue else None for queue in queues]
            chosen = next_stream(heads, (StreamClock(), StreamClock()))
            if chosen is None:
                break
            row = queues[chosen].pop(0)
            free += STEP
            out += [(free, row[1], other) for other in partners(row, windows[1 - chosen])]
            windows[chosen].append(row)
    return out


def filter_order() -> list[tuple[float, int, int]]:
    windows: list[list[tuple[str, int]]] = [[], []]
    clocks = [StreamClock(), StreamClock()]
    held: list[tuple[int, int, int]] = []
    out: list[tuple[float, int, int]] = []
    for arrival, stream, key, ts in ARRIVALS:
        clocks[stream] = StreamClock(ts)
        at = trigger(clocks)

        def release(now: float, at: int = at) -> None:
            while held and releasable(held[0][0], at, strictly_increasing=True):
                _, own, other = heapq.heappop(held)
                out.append((now, own, other))

        release(float(arrival))
        for other in partners((key, ts), windows[1 - stream]):
            heapq.heappush(held, (max(ts, other), ts, other))
        windows[stream].append((key, ts))
        release(arrival + STEP)
    return out


def test_worked_example_under_sync_filter() -> None:
    assert sync_filter() == [(11 + STEP, 8, 5), (12 + STEP, 9, 6), (12 + 2 * STEP, 10, 4)]


def test_worked_example_under_filter_order_saves_three_steps() -> None:
    assert filter_order() == [(11 + STEP, 8, 5), (12.0, 9, 6), (12.0, 10, 4)]
    saved = sum(now for now, _, _ in sync_filter()) - sum(now for now, _, _ in filter_order())
    assert saved == 3 * STEP


def test_stream_never_seen_holds_everything_back() -> None:
    assert trigger([StreamClock(5), StreamClock()]) == BEFORE_ALL
    assert not releasable(BEFORE_ALL, BEFORE_ALL)


def test_ended_stream_holds_nothing_back() -> None:
    assert trigger([StreamClock(5), StreamClock(3, ended=True)]) == 5
    assert trigger([StreamClock(5, ended=True), StreamClock(ended=True)]) == AFTER_ALL
    assert releasable(AFTER_ALL, AFTER_ALL)


def test_idle_stream_is_left_out_while_it_is_idle() -> None:
    assert trigger([StreamClock(9), StreamClock(3, idle=True)]) == 9
    assert trigger([StreamClock(9, idle=True), StreamClock(3, idle=True)]) == 9
    assert trigger([StreamClock(9), StreamClock(None, idle=True), StreamClock(7)]) == 7


def test_equal_timestamps_wait_for_the_trigger_to_pass() -> None:
    assert not releasable(10, 10)
    assert releasable(9, 10)
    assert releasable(10, 10, strictly_increasing=True)


def test_oldest_head_goes_first_and_the_earlier_stream_on_ties() -> None:
    clocks = (StreamClock(), StreamClock())
    assert next_stream((3, 2), clocks) == 1
    assert next_stream((3, 3), clocks) == 0
    assert next_stream((None, 3), clocks) is None
    assert next_stream((None, None), clocks) is None


def test_promise_lets_the_other_stream_go_on() -> None:
    assert next_stream((None, 3), (StreamClock(2), StreamClock())) is None
    assert (
        next_stream((None, 3), (StreamClock(3), StreamClock())) is None
    )  # a row at 3 of the first stream precedes it
    assert next_stream((3, None), (StreamClock(), StreamClock(3))) == 0
    assert next_stream((None, 3), (StreamClock(4), StreamClock())) == 1
    assert next_stream((None, 3), (StreamClock(ended=True), StreamClock())) == 1
    assert next_stream((None, 3), (StreamClock(idle=True), StreamClock())) == 1
    assert next_stream((5, None, 4), (StreamClock(), StreamClock(4), StreamClock())) is None


@pytest.mark.parametrize(("alpha", "gain"), [(0.9, 0.473684), (0.3, 0.230769)])
def test_gain_promised_by_alpha(alpha: float, gain: float) -> None:
    assert relative_improvement(alpha) == pytest.approx(gain, abs=1e-6)


def test_closed_forms_agree_with_each_other() -> None:
    rates, window_s, cost = (1.0, 10.0), 86_400.0, 0.64e-6
    slow, quick = (
        sync_filter_response(cost, window_s=window_s, rates_per_s=rates),
        filter_order_response(rates),
    )
    load = order_load(cost, windows_s=(window_s, window_s), rates_per_s=rates)
    assert (slow, quick) == pytest.approx((0.854128, 0.55))
    assert 1 - quick / slow == pytest.approx(relative_improvement(load), rel=1e-12)


def steps(
    state: AdaptiveState, rule: AdaptiveRule, fast: int, *, periods: int, held: int = 0, bytes_: int = 0
) -> AdaptiveState:
    """Periods of 10 s: 10 rows of the slow stream, `fast` of the other, half a millisecond per comparison."""
    for _ in range(periods):
        statistics = OrderStatistics(
            10.0, (10, fast), comparisons=1000, busy_s=0.5, held=held, held_bytes=bytes_
        )
        state, mode = adapt_order(state, statistics, rule)
        assert mode == state.mode
    return state


RULE = AdaptiveRule((60.0, 60.0), alpha=0.3)


def test_adaptive_starts_with_sync_filter_and_goes_up_at_alpha() -> None:
    assert steps(AdaptiveState(), RULE, 50, periods=50).mode == "sync-filter"
    up = steps(AdaptiveState(), RULE, 100, periods=10)
    assert (up.mode, up.switches) == ("filter-order", 1)
    assert up.load == pytest.approx(0.3)


def test_adaptive_does_not_decide_on_a_handful_of_rows() -> None:
    assert steps(AdaptiveState(), RULE, 10_000, periods=2).mode == "sync-filter"


def test_adaptive_stays_up_between_the_bounds_and_flaps_not_once() -> None:
    up = steps(AdaptiveState(), RULE, 100, periods=10)
    for fast in (75, 100, 70, 95, 80):
        up = steps(up, RULE, fast, periods=20)
        assert (up.mode, up.switches) == ("filter-order", 1)


def test_adaptive_drains_the_hold_buffer_on_its_way_back() -> None:
    up = steps(AdaptiveState(), RULE, 100, periods=10)
    down = steps(up, RULE, 20, periods=60, held=3)
    assert (down.mode, down.switches) == ("draining", 2)
    done = steps(down, RULE, 20, periods=1, held=0)
    assert (done.mode, done.switches) == ("sync-filter", 2)


def test_draining_join_may_go_up_again() -> None:
    down = steps(steps(AdaptiveState(), RULE, 100, periods=10), RULE, 20, periods=60, held=3)
    assert steps(down, RULE, 200, periods=60, held=3).mode == "filter-order"


def test_hold_buffer_above_the_limit_falls_back_and_says_so() -> None:
    rule = AdaptiveRule((60.0, 60.0), alpha=0.3, memory_limit=1000)
    up = steps(AdaptiveState(), rule, 100, periods=10)
    full = steps(up, rule, 100, periods=1, held=9, bytes_=1500)
    assert full.mode == "draining"
    assert "memory_limit=1000" in full.reason
    assert steps(full, rule, 100, periods=5, held=4, bytes_=700).mode == "draining"
    assert steps(full, rule, 100, periods=5, held=0, bytes_=0).mode == "filter-order"


def test_by_default_filter_order_begins_where_it_answers_sooner_by_more_than_can_be_felt() -> None:
    own = AdaptiveRule((60.0, 60.0))
    assert relative_improvement(own.alpha) == pytest.approx(0.025, abs=0.001)
    # 0.5 ms, 60 s, 1 row/s: a fast stream of 0.8 rows/s makes a load of 0.024, one of 0.7 rows/s 0.021
    assert steps(AdaptiveState(), own, 8, periods=80).mode == "filter-order"
    assert steps(AdaptiveState(), own, 7, periods=80).mode == "sync-filter"


def test_alpha_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"alpha=1\.5"):
        AdaptiveRule((1.0, 1.0), alpha=1.5)
