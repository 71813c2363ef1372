"""Allocation: how a budget of probes is spread over the half-way joins of a plan, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watersmeet.plan import _check
from watersmeet.plan._portable import Portable
from watersmeet.plan.cover import Cover
from watersmeet.plan.plan import Plan

__all__ = ["Allocation", "Flow", "flow", "from_counts", "from_paths", "from_probes"]


@dataclass(frozen=True, slots=True)
class Flow(Portable):
    """What allowances come to: probes really made, and rows that each join makes, per second."""

    probes: Mapping[str, float]
    produced: Mapping[str, float]

    @property
    def throughput(self) -> float:
        """Results of the query: what the last join makes."""
        return list(self.produced.values())[-1]


@dataclass(frozen=True, slots=True)
class Allocation(Portable):
    """A budget spread over the half-way joins.

    probes       per half-way join, named by the probing input: probes per second that it may make
    produced     per join: rows per second that come of it
    throughput   results of the query per second
    paths        probes per second by input path, where the policy thinks in paths
    cover        what freshness takes of the budget, where there is freshness to keep
    """

    policy: str
    budget: float
    probes: Mapping[str, float]
    produced: Mapping[str, float]
    throughput: float
    paths: Mapping[str, float]
    cover: Cover | None = None

    @property
    def spent(self) -> float:
        """The part of the budget that is used."""
        return sum(self.probes.values())


def flow(plan: Plan, allowances: Mapping[str, float]) -> Flow:
    """What allowances come to: nobody probes more than there is, neither a stream's rate nor what the join
    below made.
    """
    available = dict(plan.rates)
    probes: dict[str, float] = {}
    produced: dict[str, float] = {}
    for join in plan.tree.joins:
        made = 0.0
        for node in join.inputs or ():
            probes[node.name] = min(allowances[node.name], available[node.name])
            made += plan.made(node.name, probes=probes[node.name], rows=available[node.name])
        available[join.name] = produced[join.name] = made
    return Flow(MappingProxyType(probes), MappingProxyType(produced))


def from_probes(plan: Plan, allowances: Mapping[str, float], *, policy: str, budget: float) -> Allocation:
    """An allocation by half-way joins. Allowances beyond what there is to probe with are cut."""
    checked = _check.amounts(allowances, plan.tree.half_joins, argument="probes")
    result = flow(plan, checked)
    return from_counts(policy, budget, probes=result.probes, produced=result.produced, paths={})


def from_paths(
    plan: Plan, resources: Mapping[str, float], *, policy: str, budget: float, cover: Cover | None = None
) -> Allocation:
    """An allocation by input paths, each divided so that every producer has its consumer (eq. 7)."""
    probes = dict.fromkeys(plan.tree.half_joins, 0.0)
    produced = {join.name: 0.0 for join in plan.tree.joins}
    for stream, path in plan.paths.items():
        rows = resources[stream] / path.probes_per_row
        for hop, per_row, made in zip(path.hops, path.probes_per_hop, path.cardinalities, strict=True):
            probes[hop] += rows * per_row
            produced[plan.tree.parents[hop].name] += rows * made
    return from_counts(policy, budget, probes=probes, produced=produced, paths=resources, cover=cover)


def from_counts(
    policy: str,
    budget: float,
    *,
    probes: Mapping[str, float],
    produced: Mapping[str, float],
    paths: Mapping[str, float],
    cover: Cover | None = None,
) -> Allocation:
    """An allocation whose consequences are known; `produced` names the root last."""
    frozen = [MappingProxyType(dict(part)) for part in (probes, produced, paths)]
    throughput = list(produced.values())[-1]
    return Allocation(policy, budget, frozen[0], frozen[1], throughput, frozen[2], cover)
