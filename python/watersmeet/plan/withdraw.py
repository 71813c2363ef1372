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
from operator import mul

from watersmeet.plan.cells import EVEN
from watersmeet.plan.plan import Plan
from watersmeet.plan.tree import Node, Tree
from watersmeet.plan.workload import Workload

__all__ = ["withdraw", "withdraw_counted"]

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


@dataclass(frozen=True, slots=True)
class _Join:
    """A join by the places of its inputs and of itself (-1: the root) among the half-way joins."""

    one: int
    other: int
    itself: int
    match: tuple[float, float]  # of the probes of each input
    stay: tuple[float, float]  # seconds that rows made by each input stay; 0 where the state's size is given


class _Model:
    """Throughput and cost as functions of the share of each half-way join's rows that probe; or, with
    cells, of the share of the partner's state that each row looks at.
    """

    def __init__(self, tree: Tree, joins: list[_Join], sizes: Mapping[str, float], plan: Plan) -> None:
        self.names = tree.half_joins
        self.joins = joins
        self.rates = [plan.rates.get(name, 0.0) for name in self.names]
        self.sizes = [sizes.get(name, 0.0) for name in self.names]  # of windows, and of states that are given
        self.curves = [plan.curves.get(name, EVEN) for name in self.names]

    @classmethod
    def living(cls, workload: Workload, tree: Tree) -> _Model:
        """States between joins hold what enters them times how long it stays."""
        return cls(
            tree,
            [_join(tree, join, workload.match_shares(join), workload.stays(join)) for join in tree.joins],
            workload.windows,
            workload.plan(tree),
        )

    @classmethod
    def counted(cls, plan: Plan) -> _Model:
        """States between joins are as large as the plan says."""
        joins = [_join(plan.tree, join, plan.selectivity[join.name], (0.0, 0.0)) for join in plan.tree.joins]
        return cls(plan.tree, joins, plan.states, plan)

    def _forwards(self, shares: list[float]) -> tuple[list[float], list[float], float]:
        """Rows per half-way join, sizes of the states, and the throughput."""
        rows, sizes, made = list(self.rates), list(self.sizes), 0.0
        for join in self.joins:
            own, its = (self.curves[at].at(shares[at]) * rows[at] for at in (join.one, join.other))
            by_own, by_its = join.match[0] * own * sizes[join.other], join.match[1] * its * sizes[join.one]
            made = by_own + by_its
            if join.itself >= 0:
                rows[join.itself] = made
                sizes[join.itself] += by_own * join.stay[0] + by_its * join.stay[1]
        return rows, sizes, made

    def at(self, shares: list[float]) -> _Slopes:
        """Values forwards from the leaves, slopes backwards from the root."""
        rows, sizes, made = self._forwards(shares)
        gains = self._back(shares, rows, sizes, result=1.0, probe=0.0)
        costs = self._back(shares, rows, sizes, result=0.0, probe=1.0)
        return _Slopes(made, sum(map(mul, shares, rows)), gains, costs)

    def _back(
        self, shares: list[float], rows: list[float], sizes: list[float], *, result: float, probe: float
    ) -> list[float]:
        by_rows, by_size, slopes = [0.0] * len(shares), [0.0] * len(shares), [0.0] * len(shares)
        for join in reversed(self.joins):
            for side, (own, partner) in enumerate(((join.one, join.other), (join.other, join.one))):
                itself, curve = join.itself, self.curves[own]
                by_made = result if itself < 0 else by_rows[itself] + by_size[itself] * join.stay[side]
                by_found = by_made * join.match[side] * sizes[partner]
                slopes[own] = (by_found * curve.slope(shares[own]) + probe) * rows[own]
                by_rows[own] += by_found * curve.at(shares[own]) + probe * shares[own]
                by_size[partner] += by_made * join.match[side] * curve.at(shares[own]) * rows[own]
        return slopes

    def probes(self, shares: list[float]) -> dict[str, float]:
        """Probes per second at these shares."""
        return dict(zip(self.names, map(mul, shares, self._forwards(shares)[0]), strict=True))


def _join(tree: Tree, join: Node, match: tuple[float, float], stay: tuple[float, float]) -> _Join:
    numbers = {name: place for place, name in enumerate(tree.half_joins)}
    assert join.inputs is not None
    one, other = join.inputs
    return _Join(numbers[one.name], numbers[other.name], numbers.get(join.name, -1), match, stay)


def withdraw(workload: Workload, tree: Tree, budget: float) -> Mapping[str, float]:
    """Probes per second by half-way join, where states follow from them."""
    return _withdrawn(_Model.living(workload, tree), budget)


def withdraw_counted(plan: Plan, budget: float) -> Mapping[str, float]:
    """The same where the sizes of states are given. Without curves nothing is better than GrePP."""
    return _withdrawn(_Model.counted(plan), budget)


def _withdrawn(model: _Model, budget: float) -> Mapping[str, float]:
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
