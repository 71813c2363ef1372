"""A plan in virtual time, cycle by cycle (SPEC 1.3): one cycle per unit of time, one probe costs 1.

Arrivals are Poisson. Every row enters its state, the oldest leave: states are count windows, also those
between joins. Of the rows that come to a half-way join in a cycle the first ones probe, as many as it has
tokens; the rest never do. Tokens left over are kept for a few cycles. A probe meets each row of its partner's
state with the join's selectivity. Rows are their members' timestamps; of the root's results, which may be
many, only the number and a sample are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from watersmeet.plan import Plan

__all__ = ["Cycle", "Simulation"]

_CARRIED_CYCLES = 10
_SAMPLED = 400
Rows = npt.NDArray[
    np.float64
]  # rows down, the members' timestamps across, in the order of the node's streams


@dataclass(frozen=True, slots=True)
class Cycle:
    """What a cycle brought: results, ages of a sample's members, probes and matches per half-way join."""

    results: int
    ages: Rows
    probes: Mapping[str, int]
    matches: Mapping[str, int]


@dataclass(slots=True)
class Simulation:
    """A running plan. `fresh_s` purges rows with a member older than its stream's freshness."""

    plan: Plan
    seed: int
    fresh_s: Mapping[str, float] | None = None
    now: float = 0.0
    states: dict[str, Rows] = field(default_factory=dict)
    tokens: dict[str, float] = field(default_factory=dict)
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.tokens = dict.fromkeys(self.plan.tree.half_joins, 0.0)
        for name in self.plan.tree.states:
            streams = name.split("+")
            ages = self.rng.random((round(self.plan.states[name]), len(streams)))
            spans = np.array([self.plan.window_s(stream) for stream in streams])
            self.states[name] = -np.sort(ages[:, ::-1], axis=0)[::-1] * spans

    def cycle(self, plan: Plan, allowances: Mapping[str, float]) -> Cycle:
        """Let a cycle pass under these allowances; `plan` gives the rates and selectivities in force."""
        new = {stream: self._arrivals(plan.rates[stream]) for stream in plan.tree.streams}
        self.now += 1.0
        if self.fresh_s is not None:
            self._purge(self.fresh_s)
        probes: dict[str, int] = {}
        matches: dict[str, int] = {}
        for join in plan.tree.joins:
            is_root = join is plan.tree.root
            found = []
            for side, node in enumerate(join.inputs or ()):
                name, partner = node.name, self.states[join.partner(node.name).name]
                probes[name] = self._spend(name, allowances[name], len(new[name]))
                matches[name] = int(
                    self.rng.binomial(probes[name] * len(partner), plan.selectivity[join.name][side])
                )
                wanted = _SAMPLED if is_root else self._useful(join.name, allowances[join.name])
                found.append(
                    self._pairs(new[name][: probes[name]], partner, min(matches[name], wanted), side)
                )
                self._insert(name, new[name])
            new[join.name] = np.concatenate(found)
        counts = [matches[node.name] for node in plan.tree.root.inputs or ()]
        return Cycle(sum(counts), self._sample(found, counts), probes, matches)

    def _arrivals(self, rate: float) -> Rows:
        return self.now + np.sort(self.rng.random((int(self.rng.poisson(rate)), 1)), axis=0)

    def _spend(self, name: str, allowance: float, available: int) -> int:
        tokens = self.tokens[name] + allowance
        spent = min(int(tokens), available)
        self.tokens[name] = min(tokens - spent, max(1.0, _CARRIED_CYCLES * allowance))
        return spent

    def _useful(self, name: str, allowance: float) -> int:
        """Rows beyond this would neither probe nor stay in the state."""
        return int(self.tokens[name] + allowance) + round(self.plan.states[name]) + 1

    def _pairs(self, own: Rows, partner: Rows, count: int, side: int) -> Rows:
        if not count:
            return np.empty((0, own.shape[1] + partner.shape[1]))
        one = own[np.sort(self.rng.integers(len(own), size=count))]
        other = partner[self.rng.integers(len(partner), size=count)]
        return np.hstack([one, other] if side == 0 else [other, one])

    def _insert(self, name: str, rows: Rows) -> None:
        self.states[name] = np.concatenate([self.states[name], rows])[-round(self.plan.states[name]) :]

    def _purge(self, fresh_s: Mapping[str, float]) -> None:
        for name, rows in self.states.items():
            oldest = self.now - np.array([fresh_s.get(stream, np.inf) for stream in name.split("+")])
            self.states[name] = rows[(rows >= oldest).all(axis=1)]

    def _sample(self, found: list[Rows], counts: list[int]) -> Rows:
        """Ages of members of results, from both half-way joins in proportion."""
        total = sum(counts)
        kept = [
            rows[: int(_SAMPLED * count / total)] for rows, count in zip(found, counts, strict=True) if total
        ]
        return self.now - np.concatenate(kept) if kept else self.now - found[0][:0]
