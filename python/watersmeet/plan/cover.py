"""The cheapest allocation that keeps every state fresh enough: a linear program with one variable per path.

Departs from [JAQPOT]: the paper takes the problem for a weighted multiple set cover, which is hard, and
solves it greedily. With fractional allowances it is linear: small and exact (SPEC J7). The greedy cover stays
as the published baseline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from watersmeet.errors import ConfigError
from watersmeet.plan._portable import Portable
from watersmeet.plan.freshness import refresh_rates, slack_s
from watersmeet.plan.plan import Plan

__all__ = ["Cover", "cover", "greedy_cover", "minimum_cover"]

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Cover(Portable):
    """What freshness takes.

    rates              rows per second that must enter each state
    paths              probes per second by path that bring them; where the budget does not suffice, those
                       that bring the same share of every rate, as large as can be
    cost               probes per second, of the paths
    feasible           whether the budget and the streams' rates suffice
    needed_budget      the smallest budget that would; inf when the streams themselves bring too little
    needed_freshness   per stream, in seconds: what could be kept with this budget, all slacks stretched alike
    """

    rates: Mapping[str, float]
    paths: Mapping[str, float]
    cost: float
    feasible: bool
    needed_budget: float
    needed_freshness: Mapping[str, float]
    for_freshness: bool = True  # or only to fill states

    @property
    def problem(self) -> str | None:
        """Why the freshness cannot be kept and what would help, in words; None when it can."""
        if self.feasible or not self.for_freshness:
            return None
        wanted = ", ".join(f"{name} {seconds:.4g} s" for name, seconds in self.needed_freshness.items())
        relaxed = f"freshness {wanted} instead" if wanted else "no freshness would do"
        if self.needed_budget == math.inf:
            return f"freshness cannot be kept with any budget, the streams bring too few rows: {relaxed}"
        return f"freshness needs a budget of {self.needed_budget:.6g} probes per second, or {relaxed}"


def cover(plan: Plan, budget: float) -> Cover | None:
    """The cheapest cover of the plan's freshness, or what would make one possible; None without freshness."""
    slack = slack_s(plan)
    rates = _wanted(plan, slack)
    if not rates:
        return None
    fresh = bool(slack)
    paths = minimum_cover(plan, rates) if math.inf not in rates.values() else None
    cost = math.inf if paths is None else sum(paths.values())
    if paths is not None and cost <= budget * (1.0 + _TOLERANCE):
        return Cover(_frozen(rates), _frozen(paths), cost, True, cost, _frozen(plan.freshness), fresh)
    best, freshness = _possible(plan, slack, budget)
    return Cover(_frozen(rates), _frozen(best), sum(best.values()), False, cost, _frozen(freshness), fresh)


def _wanted(plan: Plan, slack: Mapping[str, float]) -> dict[str, float]:
    """Rows per second that must enter each state: to keep it fresh, or to fill it."""
    rates = {**refresh_rates(plan, slack)}
    for state, rate in plan.filling.items():
        rates[state] = max(rate, rates.get(state, 0.0))
    return {state: rates[state] for state in plan.tree.susceptible if rates.get(state)}


def minimum_cover(plan: Plan, rates: Mapping[str, float]) -> dict[str, float] | None:
    """Probes per path of the cheapest cover, or None if the streams' rates do not allow one."""
    inserted = _inserted(plan, rates)
    costs = np.array([path.probes_per_row for path in plan.paths.values()])
    limits = [(0.0, path.rate) for path in plan.paths.values()]
    rows = _solve(costs, -inserted, -np.array(list(rates.values())), limits)
    if rows is None:
        return None
    return {stream: float(each) for stream, each in zip(plan.paths, rows * costs, strict=True)}


def greedy_cover(plan: Plan, rates: Mapping[str, float]) -> dict[str, float] | None:
    """The cover by GH-WMSCP as SPEC J7 reconstructs it; None if it finds none.

    Take the path that costs least per unit of unmet demand, each state's demand counted as 1; raise it until
    one of its unmet states is satisfied, or its stream brings no more.
    """
    inserted = _inserted(plan, rates)
    demand = np.array(list(rates.values()))
    unmet = demand.copy()
    costs = np.array([path.probes_per_row for path in plan.paths.values()])
    left = np.array([path.rate for path in plan.paths.values()])
    rows = np.zeros(len(costs))
    while unmet.max(initial=0.0) > 0.0:
        served = (inserted / demand[:, None] * (unmet > 0.0)[:, None]).sum(axis=0) * (left > 0.0)
        if served.max() <= 0.0:
            return None
        at = int(np.argmin(np.where(served > 0.0, costs / np.maximum(served, 1e-300), math.inf)))
        open_states = (unmet > 0.0) & (inserted[:, at] > 0.0)
        step = min(float((unmet[open_states] / inserted[open_states, at]).min()), float(left[at]))
        rows[at], left[at] = rows[at] + step, left[at] - step
        unmet = unmet - step * inserted[:, at]
        unmet[unmet <= demand * _TOLERANCE] = 0.0
    return {stream: float(each) for stream, each in zip(plan.paths, rows * costs, strict=True)}


def _possible(
    plan: Plan, slack: Mapping[str, float], budget: float
) -> tuple[dict[str, float], dict[str, float]]:
    """What this budget can do for freshness: probes per path, and the freshness that they keep.

    Maximises the share of every refresh rate that is met, which is 1 over the stretch of every slack. Streams
    whose freshness is within their window start from one window.
    """
    none = dict.fromkeys(plan.paths, 0.0)
    start = {stream: spare if spare > 0.0 else plan.window_s(stream) for stream, spare in slack.items()}
    rates = _wanted(plan, start)
    if math.inf in rates.values():
        return none, {}
    inserted = _inserted(plan, rates)
    costs = [path.probes_per_row for path in plan.paths.values()]
    # Variables: rows per path, then the share of the refresh rates that is met.
    table = np.hstack([-inserted, np.array(list(rates.values()))[:, None]])
    table = np.vstack([table, [*costs, 0.0]])
    limits = [*((0.0, path.rate) for path in plan.paths.values()), (0.0, None)]
    found = _solve(
        np.array([0.0] * len(costs) + [-1.0]), table, np.array([0.0] * len(rates) + [budget]), limits
    )
    if found is None or found[-1] <= _TOLERANCE:
        return none, {}
    spent = {stream: float(rows * cost) for stream, rows, cost in zip(plan.paths, found, costs, strict=False)}
    return spent, {
        stream: plan.window_s(stream) + spare / float(found[-1]) for stream, spare in start.items()
    }


def _inserted(plan: Plan, rates: Mapping[str, float]) -> npt.NDArray[np.float64]:
    """Rows that one row of each path's stream brings into each state: states down, paths across."""
    table = np.zeros((len(rates), len(plan.paths)))
    for at, path in enumerate(plan.paths.values()):
        brought = dict(zip(path.hops[1:], path.cardinalities, strict=False))
        table[:, at] = [brought.get(state, 0.0) for state in rates]
    return table


def _solve(
    costs: npt.NDArray[np.float64],
    table: npt.NDArray[np.float64],
    bounds: npt.NDArray[np.float64],
    limits: Sequence[tuple[float, float | None]],
) -> npt.NDArray[np.float64] | None:
    """Minimise costs * x under table * x <= bounds and the limits; None if nothing satisfies them."""
    try:
        from scipy.optimize import linprog
    except ModuleNotFoundError:
        raise ConfigError(
            "freshness: planning for it solves a linear program with SciPy, which is not installed;"
            " pip install 'watersmeet[plan]'"
        ) from None
    found = linprog(costs, A_ub=table, b_ub=bounds, bounds=limits, method="highs")
    return np.asarray(found.x, dtype=np.float64) if found.status == 0 else None


def _frozen(values: Mapping[str, float]) -> Mapping[str, float]:
    return MappingProxyType(dict(values))
