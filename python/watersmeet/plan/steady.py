"""The steady state of a plan whose states depend on its allocation ([JAQPOT] Appendix A, SPEC J9).

Where rows leave a state by age, the state holds what enters it times how long it stays. What enters depends
on the probes allowed below it, and the best probes depend on what the states hold: a fixed point. How long a
row stays depends on which input's new row made it: stay.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import mul

from watersmeet.plan.allocation import Allocation, from_probes
from watersmeet.plan.cells import EVEN
from watersmeet.plan.plan import Plan
from watersmeet.plan.policy import Policy, allocate
from watersmeet.plan.tree import TreeLike
from watersmeet.plan.withdraw import withdraw
from watersmeet.plan.workload import Workload

__all__ = ["Steady", "settle", "steady_state"]

_MOST_ROUNDS = 60
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Steady:
    """A plan with the states that its own allocation brings about.

    `settled` is False where no allocation of the policy was found that its own states would lead to again: it
    swings between paths. The allocation is then the best of those on the way.
    """

    plan: Plan
    allocation: Allocation
    rounds: int
    settled: bool


def steady_state(workload: Workload, tree: TreeLike, *, budget: float, policy: Policy = "jaqpot") -> Steady:
    """The allocation of a budget and the states that follow from it, by damped iteration.

    Every allocation on the way is judged by what it really comes to, in the states that it makes itself; and
    for the policies that seek the highest throughput, against what withdraw() finds.
    """
    plan = workload.plan(tree)
    best: Steady | None = None
    for rounds in range(1, _MOST_ROUNDS + 1):
        # With cells, what withdraw() finds in the states that it makes is better than what any one of the
        # plans on the way would have it find, sixty times over.
        chosen = allocate(plan.with_whole_probes(), budget=budget, policy=policy)
        own_plan = settle(workload, plan, chosen.probes)
        own = from_probes(own_plan, chosen.probes, policy=policy, budget=budget)
        settled = _close(plan.states, own_plan.states)
        if best is None or settled or own.throughput > best.allocation.throughput:
            own = replace(own, paths=chosen.paths, cover=chosen.cover) if settled else own
            best = Steady(own_plan, own, rounds, settled)
        if settled:
            break
        step = 1.0 if rounds < _MOST_ROUNDS // 3 else 0.3
        states = {
            name: plan.states[name] + step * (own_plan.states[name] - plan.states[name])
            for name in plan.tree.susceptible
        }
        plan = workload.plan(plan.tree, states=states)
    assert best is not None
    return _improved(best, workload, plan, budget=budget) if policy in ("jaqpot", "grepp") else best


def _improved(found: Steady, workload: Workload, plan: Plan, *, budget: float) -> Steady:
    """The same, or what withdrawing probes from the full join leaves, if that is more."""
    probes = withdraw(workload, plan.tree, budget)
    own_plan = settle(workload, plan, probes)
    own = from_probes(own_plan, probes, policy=found.allocation.policy, budget=budget)
    if own.throughput <= found.allocation.throughput:
        return found
    own = replace(own, cover=found.allocation.cover)
    return Steady(own_plan, own, found.rounds, True)


def settle(workload: Workload, plan: Plan, allowances: Mapping[str, float]) -> Plan:
    """The plan with the states that these allowances bring about, from the leaves up."""
    available, states = dict(workload.rates), dict(workload.windows)
    for join in plan.tree.joins[:-1]:
        made = []
        for node, share in zip(join.inputs or (), plan.selectivity[join.name], strict=True):
            rows = available[node.name]
            found = _found(plan, node.name, allowances[node.name], rows)
            made.append(rows * found * share * states[join.partner(node.name).name])
        available[join.name] = sum(made)
        states[join.name] = sum(map(mul, made, workload.stays(join)))
    return workload.plan(plan.tree, states=states)


def _found(plan: Plan, half_join: str, allowance: float, rows: float) -> float:
    """The share of a half-way join's matches that its allowance finds."""
    if rows <= 0.0:
        return 0.0
    return plan.curves.get(half_join, EVEN).at(min(allowance / rows, 1.0))


def _close(have: Mapping[str, float], wanted: Mapping[str, float]) -> bool:
    return all(abs(have[name] - size) <= _CLOSE * max(1.0, size) for name, size in wanted.items())
