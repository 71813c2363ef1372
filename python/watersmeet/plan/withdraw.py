"""The best use of a budget where states follow from the probes that are made (SPEC J9).

There a path has no productivity of its own: what C's rows find in A+B depends on how many rows of A and B
were allowed to probe. Throughput is a product of such shares, zero at nothing and flat there, so that a
greedy start from nothing finds nothing. This starts from everything and withdraws, step by step, the probes
whose loss costs least per probe saved, until the budget is met; then exchanges probes between half-way joins
as long as that pays.

Departs from [JAQPOT]: the paper takes states as given (count windows of their own), where GrePP is
the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watersmeet.plan.tree import Tree
from watersmeet.plan.workload import Workload

__all__ = ["withdraw"]

_STEP = 0.02  # of a half-way join's rows
_EXCHANGES = 120


@dataclass(frozen=True, slots=True)
class _Slopes:
    """At some shares: throughput, cost, and per half-way join what a larger share would add to each."""

    throughput: float
    cost: float
    gains: list[float]
    costs: list[float]

    def worth(self, at: int) -> float:
        """Results per probe at the margin."""
        return self.gains[at] / self.costs[at] if self.costs[at] > 0.0 else 0.0


class _Model:
    """Throughput and cost as functions of the share of each half-way join's rows that probe."""

    def __init__(self, workload: Workload, tree: Tree) -> None:
        numbers = {name: place for place, name in enumerate(tree.half_joins)}
        self.names = tree.half_joins
        self.joins = []  # (inputs, itself or -1, selectivity, how long rows stay by the input that made them)
        for join in tree.joins:
            assert join.inputs is not None
            one, other = join.inputs
            places = (numbers[one.name], numbers[other.name], numbers.get(join.name, -1))
            self.joins.append((*places, workload.match_shares(join), workload.stays(join)))
        self.rates = [workload.rates.get(name, 0.0) for name in self.names]
        self.windows = [workload.windows.get(name, 0.0) for name in self.names]

    def at(self, shares: list[float]) -> _Slopes:
        """Values forwards from the leaves, slopes backwards from the root."""
        rows, sizes = list(self.rates), list(self.windows)
        cost = made = 0.0
        for one, other, itself, match, stay in self.joins:
            own, its = shares[one] * rows[one], shares[other] * rows[other]
            by_own, by_its = match[0] * own * sizes[other], match[1] * its * sizes[one]
            made = by_own + by_its
            cost += own + its
            if itself >= 0:
                rows[itself], sizes[itself] = made, by_own * stay[0] + by_its * stay[1]
        gains = self._back(shares, rows, sizes, result=1.0, probe=0.0)
        costs = self._back(shares, rows, sizes, result=0.0, probe=1.0)
        return _Slopes(made, cost, gains, costs)

    def _back(
        self, shares: list[float], rows: list[float], sizes: list[float], *, result: float, probe: float
    ) -> list[float]:
        by_rows, by_size, slopes = [0.0] * len(shares), [0.0] * len(shares), [0.0] * len(shares)
        for one, other, itself, match, stay in reversed(self.joins):
            for side, (own, partner) in enumerate(((one, other), (other, one))):
                by_made = result if itself < 0 else by_rows[itself] + by_size[itself] * stay[side]
                by_probe = by_made * match[side] * sizes[partner] + probe
                slopes[own] = by_probe * rows[own]
                by_rows[own] += by_probe * shares[own]
                by_size[partner] += by_made * match[side] * shares[own] * rows[own]
        return slopes

    def probes(self, shares: list[float]) -> dict[str, float]:
        """Probes per second at these shares."""
        rows, sizes = list(self.rates), list(self.windows)
        for one, other, itself, match, stay in self.joins:
            if itself >= 0:
                by_own = match[0] * shares[one] * rows[one] * sizes[other]
                by_its = match[1] * shares[other] * rows[other] * sizes[one]
                rows[itself], sizes[itself] = by_own + by_its, by_own * stay[0] + by_its * stay[1]
        return {name: share * each for name, share, each in zip(self.names, shares, rows, strict=True)}


def withdraw(workload: Workload, tree: Tree, budget: float) -> Mapping[str, float]:
    """Probes per second by half-way join."""
    model = _Model(workload, tree)
    shares = [1.0] * len(model.names)
    now = model.at(shares)
    while now.cost > budget:
        open_places = [at for at, share in enumerate(shares) if share > 0.0 and now.costs[at] > 0.0]
        if not open_places:
            break
        at = min(open_places, key=now.worth)
        over = (now.cost - budget) / now.costs[at]
        shares[at] = max(0.0, shares[at] - min(_STEP, max(over, 1e-6)))
        now = model.at(shares)
    return model.probes(_exchanged(model, shares, budget))


def _exchanged(model: _Model, shares: list[float], budget: float) -> list[float]:
    """Move probes from where they are worth least to where they are worth most."""
    now, step = model.at(shares), _STEP
    for _ in range(_EXCHANGES):
        givers = [at for at, share in enumerate(shares) if share > 0.0 and now.costs[at] > 0.0]
        takers = [at for at, share in enumerate(shares) if share < 1.0 and now.costs[at] > 0.0]
        if not givers or not takers:
            break
        giver, taker = min(givers, key=now.worth), max(takers, key=now.worth)
        if giver == taker or now.worth(taker) <= now.worth(giver):
            break
        moved = list(shares)
        moved[taker] = min(1.0, shares[taker] + step)
        extra = model.at(moved)
        if extra.costs[giver] <= 0.0:
            break
        moved[giver] = max(0.0, shares[giver] - max(0.0, extra.cost - budget) / extra.costs[giver])
        after = model.at(moved)
        if after.cost <= budget * (1.0 + 1e-9) and after.throughput > now.throughput:
            shares, now = moved, after
        else:
            step /= 2.0
            if step < 1e-4:
                break
    return shares
