"""When results may leave in timestamp order, and which way to get them there ([Hammad], SPEC H1-H8).

Sync-Filter orders the input: it processes the oldest head once every stream has one. Filter-Order processes
at once and holds results until the trigger passes them. Adaptive picks by the load c |w| lambda_1 lambda_2.
Timestamps are integers in the join's unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from watersmeet.control._check import above, at_least, share
from watersmeet.errors import ConfigError

__all__ = [
    "AFTER_ALL",
    "BEFORE_ALL",
    "SOONER",
    "AdaptiveRule",
    "AdaptiveState",
    "OrderMode",
    "OrderStatistics",
    "StreamClock",
    "adapt_order",
    "filter_order_response",
    "next_stream",
    "order_load",
    "relative_improvement",
    "releasable",
    "sync_filter_response",
    "trigger",
]

BEFORE_ALL = -(2**63)
AFTER_ALL = 2**63 - 1
SOONER = 0.025
_READY = 0.9  # share of alpha at which Filter-Order begins
OrderMode: TypeAlias = Literal["sync-filter", "filter-order", "draining"]


@dataclass(frozen=True, slots=True)
class StreamClock:
    """How far one stream has come: `at` is the largest timestamp seen or promised, None before the first.

    An ended stream holds nothing back; an idle one (silent beyond its idle_timeout) is left out while it is
    idle.
    """

    at: int | None = None
    ended: bool = False
    idle: bool = False


def trigger(clocks: Sequence[StreamClock]) -> int:
    """TS_trigger: no stream will deliver anything older.

    Departs from [Hammad] as SPEC H4: a stream never seen counts as before all time, or results would leave
    too early; an ended one as after all. When every stream is idle, or idle and ended, the furthest of the
    idle ones counts.
    """
    live = [clock for clock in clocks if not clock.ended and not clock.idle]
    if live:
        return min(BEFORE_ALL if clock.at is None else clock.at for clock in live)
    idle = [clock.at for clock in clocks if not clock.ended]
    return max((BEFORE_ALL if at is None else at for at in idle), default=AFTER_ALL)


def releasable(timestamp: int, at: int, *, strictly_increasing: bool = False) -> bool:
    """Whether a held result may leave at trigger `at`.

    With equal timestamps inside a stream one more row of the trigger's own time may come, so the test is
    strict (SPEC H6), except after the end of all streams.
    """
    return timestamp <= at if strictly_increasing or at == AFTER_ALL else timestamp < at


def next_stream(heads: Sequence[int | None], clocks: Sequence[StreamClock]) -> int | None:
    """Sync-Filter's choice: the stream whose head is processed next, or None while it must wait.

    The oldest head, the earlier stream on ties (SPEC H7). A stream without a head holds the others back
    until its clock shows that nothing older, nor an equal row of an earlier stream, can still come.
    """
    waiting = [(head, stream) for stream, head in enumerate(heads) if head is not None]
    if not waiting:
        return None
    oldest, chosen = min(waiting)
    for stream, head in enumerate(heads):
        clock = clocks[stream]
        if head is not None or clock.ended or clock.idle:
            continue
        reached = BEFORE_ALL if clock.at is None else clock.at
        if reached < oldest or (reached == oldest and stream < chosen):
            return None
    return chosen


def order_load(
    comparison_s: float, *, windows_s: tuple[float, float], rates_per_s: tuple[float, float]
) -> float:
    """C |w| lambda_1 lambda_2, [Hammad] equation 1; the mean of the windows where they differ.

    It is half of the server's utilisation (SPEC H2): keeping up needs a load below 1/2, not below 1.
    """
    at_least(comparison_s, 0.0, argument="comparison_s")
    window_s = 0.5 * (windows_s[0] + windows_s[1])
    return comparison_s * window_s * rates_per_s[0] * rates_per_s[1]


def filter_order_response(rates_per_s: tuple[float, float]) -> float:
    """Mean response of the faster stream's rows under Filter-Order, evenly spaced: [Hammad] equation 5."""
    slow, fast = min(rates_per_s), max(rates_per_s)
    above(slow, 0.0, argument="rates_per_s")
    return 1.0 / slow - (fast / slow - 1.0) / (2.0 * fast)


def sync_filter_response(comparison_s: float, *, window_s: float, rates_per_s: tuple[float, float]) -> float:
    """The same under Sync-Filter: [Hammad] equation 3. The scan is of the slow stream's window (SPEC H1)."""
    slow, fast = min(rates_per_s), max(rates_per_s)
    scan_s = comparison_s * window_s * slow
    return filter_order_response(rates_per_s) + (fast / slow + 1.0) / 2.0 * scan_s


def relative_improvement(load: float) -> float:
    """I_rel: what Filter-Order saves of Sync-Filter's response, [Hammad] equation 7."""
    return at_least(load, 0.0, argument="load") / (1.0 + load)


@dataclass(frozen=True, slots=True)
class OrderStatistics:
    """One period: rows of each stream, comparisons made and the time they took, results held and their
    bytes.
    """

    period_s: float
    rows: tuple[int, ...]
    comparisons: float
    busy_s: float
    held: int = 0
    held_bytes: int = 0

    def __post_init__(self) -> None:
        above(self.period_s, 0.0, argument="period_s")
        for name in ("comparisons", "busy_s", "held", "held_bytes"):
            at_least(getattr(self, name), 0.0, argument=name)


@dataclass(frozen=True, slots=True)
class AdaptiveRule:
    """`alpha` is the load at which Filter-Order begins; it goes back only below `alpha * (1 - hysteresis)`
    (SPEC H8).

    Departs from [Hammad]: by itself alpha is SOONER, the load from which Filter-Order's response, 1 / (1 +
    load) of the other's (equation 7), is the shorter one by more than can be felt. The paper asks the user
    for an improvement instead, 0.3 / 1.3 in its experiments, and forgoes everything less.

    Rates are averaged over about `memory_s`, or `memory_rows` rows of the slower stream where that takes
    longer. Nothing is decided before `least_rows` rows of each stream.
    """

    windows_s: tuple[float, float]
    alpha: float = SOONER
    hysteresis: float = 0.4
    memory_s: float = 60.0
    memory_rows: float = 60.0
    least_rows: float = 30.0
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        share(self.alpha, argument="alpha")
        share(self.hysteresis, argument="hysteresis")
        above(self.memory_s, 0.0, argument="memory_s")
        above(self.memory_rows, self.least_rows, argument="memory_rows")
        if self.memory_limit is not None and self.memory_limit <= 0:
            raise ConfigError(
                f"memory_limit={self.memory_limit!r}: expected a positive number of bytes, or None"
            )


@dataclass(frozen=True, slots=True)
class AdaptiveState:
    """The way of ordering in force and why, the averages behind it, and how often it changed its mind.

    "draining" is the way back to Sync-Filter: rows are taken in order, results still pass the hold buffer,
    until the buffer is empty (SPEC H8, steps E-L).
    """

    mode: OrderMode = "sync-filter"
    rows: tuple[float, ...] = ()  # faded counts, per stream
    comparisons: float = 0.0  # faded, too
    seconds: float = 0.0  # faded time behind them
    comparison_s: float | None = None
    load: float = 0.0
    switches: int = 0
    reason: str = "start"


def adapt_order(
    state: AdaptiveState, statistics: OrderStatistics, rule: AdaptiveRule
) -> tuple[AdaptiveState, OrderMode]:
    """The mode for the next period.

    Up at nine tenths of alpha, since at alpha itself the estimate is below it half of the time; down only
    when the load is below the lower bound by two standard errors: counts of a slow stream are noisy, and a
    rule that compares bare estimates flaps.
    """
    state = _measure(state, statistics, rule)
    mode, reason = _choose(state, statistics, rule)
    switches = state.switches + int((mode == "filter-order") != (state.mode == "filter-order"))
    return replace(state, mode=mode, reason=reason, switches=switches), mode


def _measure(state: AdaptiveState, statistics: OrderStatistics, rule: AdaptiveRule) -> AdaptiveState:
    fade = math.exp(-min(statistics.period_s / rule.memory_s, min(statistics.rows) / rule.memory_rows))
    before = state.rows or (0.0,) * len(statistics.rows)
    rows = tuple(old * fade + new for old, new in zip(before, statistics.rows, strict=True))
    comparisons = state.comparisons * fade + statistics.comparisons
    seconds = state.seconds * fade + statistics.period_s
    cost = state.comparison_s
    if statistics.comparisons > 0.0:
        measured = statistics.busy_s / statistics.comparisons
        kept = math.exp(-statistics.period_s / rule.memory_s)
        cost = measured if cost is None else kept * cost + (1.0 - kept) * measured
    state = replace(state, rows=rows, comparisons=comparisons, seconds=seconds, comparison_s=cost)
    return replace(state, load=_load(state, rule))


def _load(state: AdaptiveState, rule: AdaptiveRule) -> float:
    """Of two streams by equation 1. Of more, which [Hammad] 7.2.3 only discusses: half of the server's
    utilisation, which is what equation 1 comes to (SPEC H2), from the comparisons themselves.
    """
    if state.comparison_s is None:
        return 0.0
    if len(state.rows) > 2:
        return state.comparison_s * state.comparisons / state.seconds / 2.0
    rates = (state.rows[0] / state.seconds, state.rows[1] / state.seconds)
    return order_load(state.comparison_s, windows_s=rule.windows_s, rates_per_s=rates)


def _choose(state: AdaptiveState, statistics: OrderStatistics, rule: AdaptiveRule) -> tuple[OrderMode, str]:
    limit = rule.memory_limit
    holding = state.mode != "sync-filter"
    if limit is not None and statistics.held_bytes > limit and holding:
        return _back(statistics), f"hold buffer above memory_limit={limit}"
    # After a retreat for want of memory, going up again waits until the buffer is well below the limit.
    roomy = limit is None or not state.reason.startswith("hold buffer") or statistics.held_bytes * 2 < limit
    if state.mode == "filter-order":
        floor = rule.alpha * (1.0 - rule.hysteresis)
        if min(state.rows) >= rule.least_rows and state.load * (1.0 + 2.0 * _noise(state)) < floor:
            return _back(statistics), f"load {state.load:.3g} below {floor:.3g}"
        return "filter-order", state.reason
    enough = min(state.rows) >= rule.least_rows
    if enough and roomy and state.load >= _READY * rule.alpha:
        return "filter-order", f"load {state.load:.3g} reaches alpha={rule.alpha:g}"
    if state.mode == "draining":
        return _back(statistics), state.reason
    return "sync-filter", state.reason


def _back(statistics: OrderStatistics) -> OrderMode:
    return "draining" if statistics.held else "sync-filter"


def _noise(state: AdaptiveState) -> float:
    """Relative standard error of the product of the rates, from counts."""
    return math.sqrt(sum(1.0 / max(rows, 1.0) for rows in state.rows))
