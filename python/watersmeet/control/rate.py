"""How much may be processed: the fraction of the windows that the budget allows.

Two controllers for one decision. `adapt_fraction` is [Gedik] Algorithm 1 with SPEC G10's repairs: it sees
only how many rows were fetched, so it must overshoot to find out (a sawtooth between r* and boost * r*,
SPEC G11). `adapt_to_backlog` knows what full probing would cost and how fast the server is, solves for the
fraction at once, and uses the measured backlog only to correct what the model got wrong. No sawtooth, no
drops in steady overload.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from watersmeet.control._check import above, at_least, share

__all__ = [
    "BacklogRule",
    "BacklogState",
    "BacklogStatistics",
    "RateRule",
    "RateStatistics",
    "adapt_fraction",
    "adapt_to_backlog",
    "fraction_for_share",
    "period_for_bursts",
    "share_of_fraction",
]


@dataclass(frozen=True, slots=True)
class RateStatistics:
    """Rows of both streams together in the last period, and how many rows the windows hold."""

    arrived: float  # (lambda_1 + lambda_2) * T_r
    fetched: float  # alpha_1 + alpha_2
    window_rows: float = math.inf  # of the larger window
    dropped: float = 0.0

    def __post_init__(self) -> None:
        at_least(self.arrived, 0.0, argument="arrived")
        at_least(self.fetched, 0.0, argument="fetched")
        at_least(self.dropped, 0.0, argument="dropped")


@dataclass(frozen=True, slots=True)
class RateRule:
    """Settings of Algorithm 1."""

    boost: float = 1.2  # delta_r
    tolerance: float = 0.01  # Departs from [Gedik]: counting noise within this share does not shed (SPEC G10)

    def __post_init__(self) -> None:
        above(self.boost, 1.0, argument="boost")
        share(self.tolerance, argument="tolerance")


def adapt_fraction(fraction: float, statistics: RateStatistics, rule: RateRule | None = None) -> float:
    """The next fraction by [Gedik] Algorithm 1.

    Departs from [Gedik] as SPEC G10 says: a silent period changes nothing, noise does not shed, and the
    fraction never falls below one comparison per probe, since boost * 0 would stay 0 for ever.
    """
    rule = rule or RateRule()
    share(fraction, argument="fraction")
    if statistics.arrived == 0.0:
        return fraction
    kept_up = statistics.fetched / statistics.arrived  # beta
    falling_behind = kept_up < 1.0 - rule.tolerance or (statistics.dropped > 0.0 and kept_up < 1.0)
    wanted = kept_up * fraction if falling_behind else min(1.0, rule.boost * fraction)
    return max(wanted, _one_comparison(statistics.window_rows))


def fraction_for_share(budget_share: float, sampling: float) -> float:
    """The fraction at which selective and full probes together cost `budget_share` of the full join (SPEC
    G8).

    Solves r * (sampling + 1 - r * sampling) = budget_share for the root in [0, 1].
    """
    share(sampling, argument="sampling")
    at_least(budget_share, 0.0, argument="budget_share")
    if budget_share >= 1.0 or sampling == 0.0:
        return min(1.0, budget_share)
    total = 1.0 + sampling
    # The form with the root in the denominator: the other one cancels for small sampling.
    return 2.0 * budget_share / (total + math.sqrt(total * total - 4.0 * sampling * budget_share))


def share_of_fraction(fraction: float, sampling: float) -> float:
    """What a fraction costs as a share of the full join, full probes included: the inverse of
    fraction_for_share.
    """
    return fraction * (sampling + 1.0 - fraction * sampling)


def period_for_bursts(burst_period_s: float, *, step_cost_s: float, most_overhead: float = 0.001) -> float:
    """The adaptation period of [Gedik] IV-A: half the period of the bursts, longer if adapting would cost
    too much.
    """
    above(burst_period_s, 0.0, argument="burst_period_s")
    at_least(step_cost_s, 0.0, argument="step_cost_s")
    above(most_overhead, 0.0, argument="most_overhead")
    return max(burst_period_s / 2.0, step_cost_s / most_overhead)


@dataclass(frozen=True, slots=True)
class BacklogStatistics:
    """One period as the server saw it, in work units (comparisons, or whatever the budget counts)."""

    period_s: float
    due_per_s: float  # units per second that full probing of everything arriving would cost
    done_units: float  # units really done in the period
    busy_s: float  # time the server spent on them
    backlog_s: float  # how far behind the input it is: age of the oldest waiting row
    overhead_units: float = 0.0  # units per second that no fraction saves: inserts, look-ups, scores
    window_rows: float = math.inf

    def __post_init__(self) -> None:
        above(self.period_s, 0.0, argument="period_s")
        for name in ("due_per_s", "done_units", "busy_s", "backlog_s", "overhead_units"):
            at_least(getattr(self, name), 0.0, argument=name)


@dataclass(frozen=True, slots=True)
class BacklogRule:
    """Settings of the backlog controller.

    `capacity` states the units per second; None measures them. `target_s` is the backlog it aims at: a
    little, so that the server never starves. `most_drain` bounds the share of a period that may go into
    catching up.
    """

    capacity: float | None = None
    sampling: float = 0.1
    target_s: float = 0.1
    most_drain: float = 0.9
    most_surplus: float = 0.02
    memory: float = 0.5  # weight of the past in the measured speed

    def __post_init__(self) -> None:
        if self.capacity is not None:
            above(self.capacity, 0.0, argument="capacity")
        at_least(self.target_s, 0.0, argument="target_s")
        for name in ("sampling", "most_drain", "most_surplus", "memory"):
            share(getattr(self, name), argument=name)


@dataclass(frozen=True, slots=True)
class BacklogState:
    """What the backlog controller remembers: its decision, the share of the full join behind it, the
    server's speed.
    """

    fraction: float = 1.0
    budget_share: float = 1.0
    units_per_s: float | None = None


def adapt_to_backlog(
    state: BacklogState, statistics: BacklogStatistics, rule: BacklogRule | None = None
) -> tuple[BacklogState, float]:
    """The next state and fraction: what the server can do next period, less what it needs to catch up."""
    rule = rule or BacklogRule()
    speed = _speed(state, statistics, rule)
    if speed is None or statistics.due_per_s == 0.0:
        return replace(state, units_per_s=speed), state.fraction
    behind = (statistics.backlog_s - rule.target_s) / statistics.period_s
    spend = 1.0 - min(rule.most_drain, max(-rule.most_surplus, behind))
    units = max(0.0, speed * spend - statistics.overhead_units)
    budget_share = min(1.0, units / statistics.due_per_s)
    fraction = max(fraction_for_share(budget_share, rule.sampling), _one_comparison(statistics.window_rows))
    return BacklogState(fraction, budget_share, speed), fraction


def _speed(state: BacklogState, statistics: BacklogStatistics, rule: BacklogRule) -> float | None:
    if rule.capacity is not None:
        return rule.capacity
    if statistics.busy_s == 0.0 or statistics.done_units == 0.0:
        return state.units_per_s
    measured = statistics.done_units / statistics.busy_s
    if state.units_per_s is None:
        return measured
    return rule.memory * state.units_per_s + (1.0 - rule.memory) * measured


def _one_comparison(window_rows: float) -> float:
    return 1.0 / max(1.0, window_rows)
