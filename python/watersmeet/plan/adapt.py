"""When to plan again ([JAQPOT] 4.4): analyse when statistics have moved, act when it pays, and say why.

Pure steps. What is measured, and in which thread analysis runs, is the caller's business.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from watersmeet.plan import _check
from watersmeet.plan.allocation import Allocation, flow
from watersmeet.plan.plan import Plan
from watersmeet.plan.policy import Policy, allocate
from watersmeet.plan.tree import Tree

__all__ = ["AdaptRule", "Decision", "analyse", "largest_move", "relative_moves", "should_analyse"]

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class AdaptRule:
    """Thresholds: `analyse_above` is how far a statistic must have moved, `actuate_above` the gain in
    throughput that a change must promise, both as shares.
    """

    analyse_above: float = 0.05  # epsilon
    actuate_above: float = 0.05  # p

    def __post_init__(self) -> None:
        _check.amount(self.analyse_above, argument="analyse_above")
        _check.amount(self.actuate_above, argument="actuate_above")


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry of the log.

    kind        "kept": nothing moved enough; "analysed": planned again, not worth a change; "actuated": the
                allocation, and with it the tree if that changed, is in force from now on
    moved       the largest relative move of a statistic since the last analysis
    expected    throughput of the allocation in force, under the new statistics
    promised    throughput of the new one; equal to `expected` where nothing was planned
    allocation  in force from now on; None for an exact join, whose tree alone is chosen: `expected` and
    `promised`
                are then the probes per second that the two trees take
    problem     freshness that cannot be kept and what would help, or why a decision did not come into force
    """

    at_s: float
    kind: Literal["kept", "analysed", "actuated"]
    moved: float
    expected: float
    promised: float
    allocation: Allocation | None
    tree: Tree
    problem: str | None = None

    @property
    def gain(self) -> float:
        """The promise over what is expected, as a share; inf where something comes of nothing."""
        better, worse = self.promised, self.expected
        if self.allocation is None:
            better, worse = worse, better
        if worse == 0.0:
            return math.inf if better > 0.0 else 0.0
        return better / worse - 1.0

    def __str__(self) -> str:
        unit = "probes/s" if self.allocation is None else "results/s"
        words = {
            "kept": f"kept: statistics moved {self.moved:.1%}",
            "analysed": f"analysed, kept: a gain of {self.gain:.1%}",
            "actuated": f"actuated: {self.expected:.4g} -> {self.promised:.4g} {unit} ({self.gain:+.1%}),"
            f" tree {self.tree}",
        }
        text = f"{self.at_s:.3f} s  {words[self.kind]}"
        return f"{text}; {self.problem}" if self.problem else text


def largest_move(before: Plan, now: Plan) -> float:
    """The largest relative difference between the statistics of two plans of one tree."""
    return max(_moves(before, now), default=0.0)


def should_analyse(before: Plan, now: Plan, rule: AdaptRule | None = None) -> bool:
    """Whether the statistics have moved enough since the last analysis to plan again."""
    return largest_move(before, now) > (rule or AdaptRule()).analyse_above


def analyse(
    before: Plan | None,
    now: Plan,
    in_force: Allocation,
    *,
    at_s: float,
    budget: float,
    policy: Policy = "jaqpot",
    rule: AdaptRule | None = None,
) -> Decision:
    """Plan again if the statistics moved, and decide whether the new allocation should come into force.

    The first analysis, before which nothing was known, comes into force whatever it promises; so does a
    cover of freshness that was not kept before, which is worth any throughput.
    """
    rule = rule or AdaptRule()
    moved = math.inf if before is None else largest_move(before, now)
    expected = flow(now, in_force.probes).throughput
    if moved <= rule.analyse_above and budget == in_force.budget:
        return Decision(at_s, "kept", moved, expected, expected, in_force, now.tree)
    fresh = allocate(now, budget=budget, policy=policy)
    problem = fresh.cover.problem if fresh.cover else None
    pays = before is None or fresh.throughput > expected * (1.0 + rule.actuate_above)
    over = sum(flow(now, in_force.probes).probes.values()) > budget * (1.0 + rule.actuate_above)
    if pays or over or _freshness_needs(fresh, now, in_force):
        return Decision(at_s, "actuated", moved, expected, fresh.throughput, fresh, now.tree, problem)
    return Decision(at_s, "analysed", moved, expected, fresh.throughput, in_force, now.tree, problem)


def _freshness_needs(fresh: Allocation, now: Plan, in_force: Allocation) -> bool:
    """Whether freshness could be kept, and is not by what is in force."""
    if fresh.cover is None or not fresh.cover.feasible:
        return False
    produced = flow(now, in_force.probes).produced
    return any(produced[state] < rate * (1.0 - 1e-9) for state, rate in fresh.cover.rates.items())


def _moves(before: Plan, now: Plan) -> Iterator[float]:
    for old, new in ((before.rates, now.rates), (before.states, now.states)):
        yield from relative_moves(old, new)
    for name, pair in before.selectivity.items():
        yield from relative_moves(dict(enumerate(pair)), dict(enumerate(now.selectivity[name])))


def relative_moves(old: Mapping[_Key, float], new: Mapping[_Key, float]) -> Iterator[float]:
    """By how much each number differs, as a share of the larger one."""
    for key, was in old.items():
        larger = max(was, new[key])
        yield abs(was - new[key]) / larger if larger else 0.0
