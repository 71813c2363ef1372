"""Throughput as a knapsack over input paths ([JAQPOT] Problem 1): greedy when allowances may be fractions,
dynamic programming when a cycle deals in whole rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from watersmeet.errors import ConfigError
from watersmeet.plan.plan import Path, Plan

__all__ = ["Cycle", "best_cycles", "fill_by_productivity", "greedy_cycles", "whole_cycle"]

_MOST_BUDGET = 10_000_000  # the table of the dynamic programme has one cell per probe
_WHOLE = 1e-9  # a count this close below a whole number is that number, spoilt by rounding


def fill_by_productivity(
    plan: Plan, budget: float, *, spent: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Probes per path by GrePP: the most productive path first, each up to what its stream brings.

    `spent` is what the paths have been given already; it counts against their caps, not against the budget.
    With fractions allowed this is the optimum of the knapsack, not a heuristic for it.
    """
    taken = dict(spent) if spent else dict.fromkeys(plan.paths, 0.0)
    left = budget
    for path in sorted(plan.paths.values(), key=lambda path: -path.productivity):
        share = min(left, max(0.0, path.most - taken[path.stream]))
        if path.productivity > 0.0:
            taken[path.stream] += share
            left -= share
    return taken


@dataclass(frozen=True, slots=True)
class Cycle:
    """One execution cycle of a path in whole rows: a line of [JAQPOT] Table 2."""

    probes: tuple[int, ...]  # at each hop
    output: int
    most: int  # times per second that the stream's rate allows

    @property
    def resources(self) -> int:
        """Probes along the whole path: X^I."""
        return sum(self.probes)


def whole_cycle(path: Path, budget: float) -> Cycle | None:
    """The cycle of whole rows with the most output per probe that the budget can pay, the shortest of those.

    Departs from [JAQPOT]: the paper takes the table as given; this makes it from the statistics. Counts that
    come out whole after n rows give the path's own productivity, as in Table 2.
    """
    rows = np.arange(1, int(min(path.rate, budget)) + 1, dtype=np.float64)
    counts = [rows]
    for before, after in pairwise((*path.probes_per_hop, path.cardinalities[-1])):
        counts.append(np.floor(counts[-1] * (after / before) + _WHOLE if before else 0.0 * rows))
    probes, output = np.array(counts[:-1]), counts[-1]
    resources = probes.sum(axis=0)
    worth = np.where(resources <= budget, output / np.maximum(resources, 1.0), 0.0)
    if not worth.size or worth.max() <= 0.0:
        return None
    at = int(np.argmax(worth >= worth.max() * (1.0 - _WHOLE)))
    return Cycle(tuple(map(int, probes[:, at])), int(output[at]), int(path.rate // rows[at]))


def best_cycles(table: Mapping[str, Cycle], budget: float) -> dict[str, int]:
    """How often each path's cycle runs for the most output, by dynamic programming: O(paths * budget * log).

    A path that may run m times is split into 1, 2, 4, ... runs, each taken or not.
    """
    if budget > _MOST_BUDGET:
        raise ConfigError(
            f"budget={budget!r}: the policy 'discrete' takes at most {_MOST_BUDGET} probes per second;"
            " 'grepp' has no such bound and is at least as good"
        )
    room = int(budget)
    best = np.zeros(room + 1)
    choices: list[tuple[str, int, int, npt.NDArray[np.bool_]]] = []
    for stream, cycle in table.items():
        for runs in _powers(min(cycle.most, room // cycle.resources)):
            weight = runs * cycle.resources
            better = best[: room + 1 - weight] + runs * cycle.output
            taken = np.zeros(room + 1, dtype=np.bool_)
            taken[weight:] = better > best[weight:]
            best[weight:] = np.maximum(best[weight:], better)
            choices.append((stream, runs, weight, taken))
    found = dict.fromkeys(table, 0)
    for stream, runs, weight, taken in reversed(choices):
        if taken[room]:
            found[stream] += runs
            room -= weight
    return found


def greedy_cycles(table: Mapping[str, Cycle], budget: float) -> dict[str, int]:
    """The greedy assignment that [JAQPOT] 4.1 shows to fail in whole rows: by productivity, each once."""
    left, found = budget, dict.fromkeys(table, 0)
    for stream in sorted(table, key=lambda stream: -table[stream].output / table[stream].resources):
        if table[stream].resources <= left:
            found[stream] = 1
            left -= table[stream].resources
    return found


def _powers(most: int) -> list[int]:
    """Numbers whose sums of subsets are exactly 0 to `most`."""
    if most < 1:
        return []
    powers = [2**bit for bit in range(int(math.log2(most + 1)))]
    rest = most - sum(powers)
    return [*powers, rest] if rest else powers
