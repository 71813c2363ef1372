"""Event simulation of ordered joins in virtual time: Sync-Filter, Filter-Order and Adaptive ([Hammad] 7,
SPEC V1-V5).

Two streams with exponential gaps; a row's timestamp is its arrival. One server; a row costs `comparison_s`
for every row in the other window. Response is from arrival until the row is processed and everything it may
have produced is free to leave: under Sync-Filter a row starts once a newer row of the other stream is
there, under Filter-Order it starts at once and its results wait for that row (the trigger moves when a row
is received, [Hammad] 5 step 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from watersmeet.control.ordering import AdaptiveRule, AdaptiveState, OrderMode, OrderStatistics, adapt_order

__all__ = ["Outcome", "Workload", "simulate"]

_DECIDE_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Workload:
    """Rates of the slow and the fast stream, window, cost of a comparison, length of the run, seed."""

    rates_per_s: tuple[float, float]
    comparison_s: float
    window_s: float = 60.0
    seconds: float = 1200.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Mean response over all rows whose wait ended within the run, and how often Adaptive switched."""

    response_s: float
    switches: int = 0
    filter_order_share: float = 0.0


@dataclass(frozen=True, slots=True)
class _Rows:
    """Both streams merged by arrival: cost of each row in comparisons, arrival of the next row of the other
    stream.
    """

    arrival: npt.NDArray[np.float64]
    stream: npt.NDArray[np.int64]
    comparisons: npt.NDArray[np.float64]
    partner: npt.NDArray[np.float64]


def simulate(workload: Workload, policy: OrderMode | AdaptiveRule) -> Outcome:
    """Run one policy; the same workload gives the same arrivals to every policy."""
    rows = _rows(workload)
    ends = rows.partner < np.inf
    if isinstance(policy, AdaptiveRule):
        return _adaptive(workload, rows, policy)
    early = policy == "filter-order"
    free, total = 0.0, 0.0
    costs = rows.comparisons * workload.comparison_s
    for arrival, cost, partner, counts in zip(rows.arrival, costs, rows.partner, ends, strict=True):
        free, done = _serve(free, arrival, cost, partner, early=early)
        total += (done - arrival) if counts else 0.0
    return Outcome(total / int(ends.sum()), filter_order_share=float(early))


def _serve(free: float, arrival: float, cost: float, partner: float, *, early: bool) -> tuple[float, float]:
    """When the server is free again, and when the row is done."""
    if partner == np.inf:
        return free, arrival
    if early:
        free = max(free, arrival) + cost
        return free, max(free, partner)
    free = max(free, partner) + cost
    return free, free


def _adaptive(workload: Workload, rows: _Rows, rule: AdaptiveRule) -> Outcome:
    state, mode = AdaptiveState(), "sync-filter"
    free, total, counted, early_rows = 0.0, 0.0, 0, 0
    next_decision, since, made, busy = _DECIDE_EVERY_S, 0, 0.0, 0.0
    held: list[float] = []
    for at, (arrival, partner) in enumerate(zip(rows.arrival, rows.partner, strict=True)):
        while arrival >= next_decision:
            counts = np.bincount(rows.stream[since:at], minlength=2)
            held = [until for until in held if until > next_decision]
            statistics = OrderStatistics(
                _DECIDE_EVERY_S,
                (int(counts[0]), int(counts[1])),
                comparisons=made,
                busy_s=busy,
                held=len(held),
            )
            state, mode = adapt_order(state, statistics, rule)
            next_decision, since, made, busy = next_decision + _DECIDE_EVERY_S, at, 0.0, 0.0
        early = mode == "filter-order"
        cost = float(rows.comparisons[at]) * workload.comparison_s
        free, done = _serve(free, arrival, cost, partner, early=early)
        if partner == np.inf:
            continue
        if early:
            held.append(done)
        made, busy = made + float(rows.comparisons[at]), busy + cost
        total, counted, early_rows = total + done - arrival, counted + 1, early_rows + int(early)
    return Outcome(total / counted, state.switches, early_rows / counted)


def _rows(workload: Workload) -> _Rows:
    rng = np.random.default_rng(workload.seed)
    times = [_arrivals(rng, rate, workload.seconds) for rate in workload.rates_per_s]
    comparisons, partner = [], []
    for own, other in ((times[0], times[1]), (times[1], times[0])):
        upto = np.searchsorted(other, own)
        comparisons.append((upto - np.searchsorted(other, own - workload.window_s)).astype(np.float64))
        partner.append(np.append(other, np.inf)[upto])
    arrival = np.concatenate(times)
    order = np.argsort(arrival, kind="stable")
    stream = np.repeat([0, 1], [len(times[0]), len(times[1])])
    return _Rows(
        arrival[order], stream[order], np.concatenate(comparisons)[order], np.concatenate(partner)[order]
    )


def _arrivals(rng: np.random.Generator, rate: float, seconds: float) -> npt.NDArray[np.float64]:
    gaps = rng.exponential(1.0 / rate, int(rate * seconds * 1.5) + 50)
    times = np.cumsum(gaps)
    return np.asarray(times[times < seconds], dtype=np.float64)
