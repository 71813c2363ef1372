"""Runs of the simulation: with adaptation as statistics move, and with an eye on stale results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bench.figures.jaqpot.simulate import Cycle, Simulation
from watersmeet.plan import Allocation, Plan, Policy, allocate, analyse

__all__ = ["Run", "run_adapting", "stale_shares"]

MONITOR_S = 10


@dataclass(frozen=True, slots=True)
class Run:
    """Results per second, second by second, and how often the allocation changed."""

    results: tuple[int, ...]
    actuated: int


def run_adapting(
    truth: Callable[[int], Plan], *, seconds: int, budget: Callable[[int], float], policy: Policy, seed: int
) -> Run:
    """Run a plan whose statistics change under it. Selectivities are measured over the last ten seconds; the
    policy sees nothing else of the change.
    """
    believed = truth(0)
    simulation = Simulation(believed, seed, fresh_s=believed.freshness if policy == "jaqpot" else None)
    in_force = allocate(believed, budget=budget(0), policy=policy)
    recent: deque[Cycle] = deque(maxlen=MONITOR_S)
    results, actuated = [], 0
    for second in range(seconds):
        recent.append(simulation.cycle(truth(second), in_force.probes))
        results.append(recent[-1].results)
        if second % MONITOR_S == MONITOR_S - 1:
            measured = _measured(believed, simulation, recent)
            decision = analyse(
                believed, measured, in_force, at_s=second + 1.0, budget=budget(second), policy=policy
            )
            if decision.kind != "kept":
                believed = measured
            actuated += decision.kind == "actuated"
            in_force = decision.allocation
    return Run(tuple(results), actuated)


def _measured(believed: Plan, simulation: Simulation, recent: deque[Cycle]) -> Plan:
    """The plan with each join's measured selectivity; what was not probed keeps its old one."""
    shares: dict[str, float] = {}
    for join in believed.tree.joins:
        compared = matched = 0.0
        for node in join.inputs or ():
            rows = len(simulation.states[join.partner(node.name).name])
            compared += rows * sum(cycle.probes[node.name] for cycle in recent)
            matched += sum(cycle.matches[node.name] for cycle in recent)
        shares[join.name] = matched / compared if compared else believed.selectivity[join.name][0]
    return Plan(
        believed.tree,
        rates=believed.rates,
        states=believed.states,
        selectivity={name: min(1.0, share) for name, share in shares.items()},
        freshness=believed.freshness,
    )


def stale_shares(
    plan: Plan,
    allocation: Allocation,
    *,
    windows: tuple[float, ...],
    cycles: int,
    seed: int,
    fresh_s: Mapping[str, float] | None = None,
) -> tuple[dict[float, float], float]:
    """The share of results with a member older than so many windows, and results per cycle, both over the
    second half of the run.
    """
    simulation = Simulation(plan, seed, fresh_s=fresh_s)
    spans = np.array([plan.window_s(stream) for stream in plan.tree.streams])
    weights, stale = 0.0, dict.fromkeys(windows, 0.0)
    for at in range(cycles):
        cycle = simulation.cycle(plan, allocation.probes)
        if at < cycles // 2 or not len(cycle.ages):
            continue
        weights += cycle.results
        for times in windows:
            late = (cycle.ages > times * spans).any(axis=1).mean()
            stale[times] += cycle.results * float(late)
    shares = {times: total / weights if weights else 0.0 for times, total in stale.items()}
    return shares, weights / (cycles - cycles // 2)
