"""allocate: one door to every policy, and the budget beyond which nothing is left to allocate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from watersmeet.plan import _check, heuristics
from watersmeet.plan.allocation import Allocation, from_counts, from_paths, from_probes
from watersmeet.plan.cover import cover
from watersmeet.plan.knapsack import best_cycles, fill_by_productivity, whole_cycle
from watersmeet.plan.plan import Plan
from watersmeet.plan.withdraw import withdraw_counted

__all__ = ["POLICIES", "Policy", "Saturation", "allocate", "saturation"]

Policy: TypeAlias = Literal[
    "jaqpot", "grepp", "discrete", "equal", "global-ratio", "equal-best", "selectivity-best"
]
_HEURISTICS: Final[Mapping[str, Callable[[Plan, float], dict[str, float]]]] = {
    "equal": heuristics.equal,
    "global-ratio": heuristics.global_ratio,
    "equal-best": heuristics.equal_best,
    "selectivity-best": heuristics.selectivity_best,
}
POLICIES: Final = ("jaqpot", "grepp", "discrete", *_HEURISTICS)


def allocate(plan: Plan, *, budget: float, policy: Policy = "jaqpot") -> Allocation:
    """Spread a budget of probes per second over the plan's half-way joins.

    jaqpot                               freshness first, at the least cost, then as grepp
    grepp                                most productive paths first: the highest throughput there is
    discrete                             the best in whole rows per second, by dynamic programming
    equal, global-ratio,
    equal-best, selectivity-best         the heuristics of [JAQPOT] Appendix B
    """
    budget = _check.amount(budget, argument="budget")
    policy_name = _check.one_of(policy, POLICIES, argument="policy")
    if policy_name in _HEURISTICS:
        allowances = _HEURISTICS[policy_name](plan, budget)
        return from_probes(plan, allowances, policy=policy_name, budget=budget)
    if policy_name == "discrete":
        return _discrete(plan, budget)
    if policy_name == "grepp":
        return from_paths(plan, fill_by_productivity(plan, budget), policy=policy_name, budget=budget)
    return _jaqpot(plan, budget)


def _jaqpot(plan: Plan, budget: float) -> Allocation:
    """[JAQPOT] Algorithm 1. Where freshness cannot be kept, as much of it as can be comes first all the same:
    a state that is not renewed empties as its rows are purged. The cover says what would help.
    """
    needed = cover(plan, budget)
    left = budget if needed is None else max(0.0, budget - needed.cost)
    resources = fill_by_productivity(plan, left, spent=None if needed is None else needed.paths)
    found = from_paths(plan, resources, policy="jaqpot", budget=budget, cover=needed)
    return _with_cells(plan, found) if plan.curves else found


def _with_cells(plan: Plan, found: Allocation) -> Allocation:
    """The same or, where looking at the best cells alone makes more of the budget, that; freshness comes
    first.

    A path's productivity is then not one number: GrePP's order is not the best one any more.
    """
    own = replace(
        from_probes(plan, found.probes, policy="jaqpot", budget=found.budget),
        paths=found.paths,
        cover=found.cover,
    )
    other = from_probes(plan, withdraw_counted(plan, found.budget), policy="jaqpot", budget=found.budget)
    rates = {} if found.cover is None else found.cover.rates
    # As much of it as can be kept: less than the rates where they are out of reach.
    needed = {state: min(rate, found.produced[state]) for state, rate in rates.items()}
    fresh = all(other.produced[state] >= rate * (1.0 - 1e-9) for state, rate in needed.items())
    return replace(other, cover=found.cover) if fresh and other.throughput > own.throughput else own


def _discrete(plan: Plan, budget: float) -> Allocation:
    cycles = {stream: whole_cycle(path, budget) for stream, path in plan.paths.items()}
    table = {stream: cycle for stream, cycle in cycles.items() if cycle is not None}
    probes = dict.fromkeys(plan.tree.half_joins, 0.0)
    produced = {join.name: 0.0 for join in plan.tree.joins}
    resources = dict.fromkeys(plan.paths, 0.0)
    for stream, runs in best_cycles(table, budget).items():
        cycle, path = table[stream], plan.paths[stream]
        resources[stream] = float(runs * cycle.resources)
        for hop, count, made in zip(path.hops, cycle.probes, (*cycle.probes[1:], cycle.output), strict=True):
            probes[hop] += runs * count
            produced[plan.tree.parents[hop].name] += runs * made
    return from_counts("discrete", budget, probes=probes, produced=produced, paths=resources)


@dataclass(frozen=True, slots=True)
class Saturation:
    """The budget that processes everything, and the throughput it gives: the exact join's."""

    budget: float
    throughput: float


def saturation(plan: Plan) -> Saturation:
    """What the plan can use at most ([JAQPOT] 5, footnote 9)."""
    paths = plan.paths.values()
    return Saturation(
        sum(path.most for path in paths), sum(path.rate * path.cardinalities[-1] for path in paths)
    )
