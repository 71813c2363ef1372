"""From what a running tree of joins counted in a period to the statistics that plans are made of.

The sizes of states between joins are not taken as counted: dead rows wait there for their turn to be dropped.
They are what entered them times how long rows stay, as in steady.py; selectivities follow, so that the model
gives back what was measured when it is asked about the allowances that were in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from watersmeet.plan.adapt import AdaptRule, Decision, relative_moves
from watersmeet.plan.allocation import Allocation, from_probes
from watersmeet.plan.cells import CellCurve
from watersmeet.plan.choice import choose_tree, probes_per_s
from watersmeet.plan.period import Period
from watersmeet.plan.plan import Plan
from watersmeet.plan.policy import Policy
from watersmeet.plan.stay import stays
from watersmeet.plan.steady import settle, steady_state
from watersmeet.plan.tree import Node, Tree
from watersmeet.plan.workload import Workload

_FIRM = 50.0  # matches that it takes to believe that the two half-way joins of a join differ
_SURE = 3.0  # standard deviations beyond which a difference is no chance
_BUNCH = 6.0  # times the variance of independent matches, at least: like keys come together
_FIRM_ROWS = 10.0  # or those of so many rows of streams, if these are more

__all__ = [
    "Drift",
    "analyse_tree",
    "analyse_workload",
    "drifted",
    "measured_plan",
    "measured_workload",
]


@dataclass(frozen=True, slots=True)
class Drift:
    """Matches that each half-way join found, and those it should have found if both of a join were alike; of
    many periods, older ones with less weight: the difference is small next to chance and, mistaken for a
    gain, would have the budget swing between them.
    """

    made: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, float] = field(default_factory=dict)
    bunches: Mapping[str, float] = field(default_factory=dict)  # matches that come together

    def skew(self) -> dict[str, float]:
        """Workload's, as far as there are matches enough to say so."""
        return {name: self._skew(name) for name in self.expected}

    def _skew(self, name: str) -> float:
        """Shrunk towards 1 by as many matches as it takes; by fewer, the less what was found can be chance:
        beside a half-way join that finds nothing at all, a few matches are much.
        """
        made, expected = self.made[name], self.expected[name]
        spread = max(_BUNCH, self.bunches.get(name, 0.0)) * (expected + 1.0)
        doubt = min(1.0, _SURE**2 * spread / max((made - expected) ** 2, 1e-300))
        return (made + _FIRM * doubt) / (expected + _FIRM * doubt)


def drifted(
    before: Drift, tree: Tree, period: Period, pairs: frozenset[frozenset[str]], *, memory: float
) -> Drift:
    """The drift with one period more."""
    sizes = _sizes(tree, period)
    made, expected, bunches = {}, {}, {}
    for join in tree.joins:
        if not _crossing(join, pairs):
            continue
        compared = {
            node.name: period.probes[node.name] * sizes[join.partner(node.name).name]
            for node in join.inputs or ()
        }
        total = sum(compared.values())
        share = sum(period.made[name] for name in compared) / total if total else 0.0
        for name, each in compared.items():
            made[name] = memory * before.made.get(name, 0.0) + period.made[name]
            expected[name] = memory * before.expected.get(name, 0.0) + share * each
            bunches[name] = max(memory * before.bunches.get(name, 0.0), period.bunch(name))
    return Drift(made, expected, bunches)


def measured_workload(
    tree: Tree,
    period: Period,
    pairs: frozenset[frozenset[str]],
    before: Workload | None,
    *,
    drift: Drift | None = None,
    freshness: Mapping[str, float] | None = None,
    curves: Mapping[str, CellCurve] | None = None,
) -> Workload:
    """The statistics of a period. `pairs` have predicates; what was not probed keeps what it had `before`."""
    sizes = _sizes(tree, period)
    shares: dict[tuple[str, str], float] = {}
    for join in tree.joins:
        names = [node.name for node in join.inputs or ()]
        crossing = _crossing(join, pairs)
        compared = sum(period.probes[name] * sizes[join.partner(name).name] for name in names)
        made = sum(period.made[name] for name in names)
        if crossing:
            share = _share(made, compared) if compared else _known(crossing, before)
            shares |= {pair: share ** (1.0 / len(crossing)) for pair in crossing}
    return Workload(
        rates=_rates(tree, period),
        windows={stream: sizes[stream] for stream in tree.streams},
        selectivity=shares,
        freshness=freshness,
        skew=None if drift is None else drift.skew(),
        curves=curves,
    )


def _rates(tree: Tree, period: Period) -> dict[str, float]:
    return {stream: period.rows[stream] / period.seconds for stream in tree.streams}


def _sizes(tree: Tree, period: Period) -> dict[str, float]:
    """Rows of every window and living ones of every state: what entered it times how long it stays."""
    rates = _rates(tree, period)
    sizes = {stream: period.windows[stream] for stream in tree.streams}
    for join in tree.joins:
        names = [node.name for node in join.inputs or ()]
        one, other = (node.streams for node in join.inputs or ())
        times = stays(one, other, rates, sizes)
        made = sum(period.made[name] * stay for name, stay in zip(names, times, strict=True))
        sizes[join.name] = made / period.seconds
    return sizes


def measured_plan(
    tree: Tree,
    period: Period,
    states: Mapping[str, float],
    before: Plan | None,
    *,
    freshness: Mapping[str, float] | None = None,
    curves: Mapping[str, CellCurve] | None = None,
    filling: Mapping[str, float] | None = None,
) -> Plan:
    """The same where the states between joins are of given sizes: each half-way join has its own
    selectivity.
    """
    shares: dict[str, tuple[float, float]] = {}
    for join in tree.joins:
        names = [node.name for node in join.inputs or ()]
        known = (0.0, 0.0) if before is None else before.selectivity[join.name]
        made = sum(period.made[name] for name in names)
        due = sum(period.due[name] for name in names)
        both = _share(made, due) if due else None
        firm = {name: max(_FIRM, _FIRM_ROWS * period.bunch(name)) for name in names}
        # Half-way joins of one join differ only as far as there are matches enough to say so.
        first, second = (
            known[side]
            if both is None
            else min(1.0, (period.made[name] + firm[name]) / (period.due[name] + firm[name] / both))
            for side, name in enumerate(names)
        )
        shares[join.name] = (first, second)
    return Plan(
        tree,
        rates=_rates(tree, period),
        states={**{stream: period.windows[stream] for stream in tree.streams}, **states},
        selectivity=shares,
        freshness=freshness,
        curves=curves,
        filling=filling,
    )


def analyse_workload(
    before: Workload | None,
    now: Workload,
    tree: Tree,
    in_force: Allocation,
    *,
    at_s: float,
    budget: float,
    policy: Policy,
    rule: AdaptRule,
    free_tree: bool = False,
) -> Decision:
    """As analyse(), where states follow from the allocation; with `free_tree` other trees are considered.

    The first analysis, before which nothing was known, comes into force whatever it promises.
    """
    moved = float("inf") if before is None else max(_moves(before, now), default=0.0)
    own_plan = settle(now, now.plan(tree), in_force.probes)
    own = from_probes(own_plan, in_force.probes, policy=policy, budget=budget)
    if moved <= rule.analyse_above and budget == in_force.budget:
        return Decision(at_s, "kept", moved, own.throughput, own.throughput, in_force, tree)
    steady = steady_state(now, tree, budget=budget, policy=policy)
    best, best_tree = steady.allocation, tree
    if free_tree:
        choice = choose_tree(now, budget=budget, policy=policy)
        if (choice.throughput or 0.0) > best.throughput * (1.0 + rule.actuate_above):
            best_tree = choice.tree
            best = steady_state(now, best_tree, budget=budget, policy=policy).allocation
    problem = best.cover.problem if best.cover else None
    pays = before is None or best.throughput > own.throughput * (1.0 + rule.actuate_above)
    kind = "actuated" if pays or own.spent > budget * (1.0 + rule.actuate_above) else "analysed"
    if kind == "analysed":
        return Decision(at_s, "analysed", moved, own.throughput, best.throughput, in_force, tree, problem)
    return Decision(at_s, "actuated", moved, own.throughput, best.throughput, best, best_tree, problem)


def analyse_tree(
    before: Workload | None, now: Workload, tree: Tree, *, at_s: float, rule: AdaptRule
) -> Decision:
    """Which tree an exact join should have: another if its probes are fewer by the threshold or more."""
    moved = float("inf") if before is None else max(_moves(before, now), default=0.0)
    own = probes_per_s(now, tree)
    if moved <= rule.analyse_above:
        return Decision(at_s, "kept", moved, own, own, None, tree)
    choice = choose_tree(now)
    saves = own > choice.probes_per_s * (1.0 + rule.actuate_above)
    best = choice.tree if saves else tree
    return Decision(
        at_s, "actuated" if saves else "analysed", moved, own, min(own, choice.probes_per_s), None, best
    )


def _crossing(join: Node, pairs: frozenset[frozenset[str]]) -> list[tuple[str, str]]:
    one, other = (node.streams for node in join.inputs or ())
    return [(own, its) for own in one for its in other if frozenset((own, its)) in pairs]


def _share(made: float, compared: float) -> float:
    """The selectivity that was measured. Where nothing matched, half a match is assumed: a join that is taken
    to give nothing would not be probed again.
    """
    return min(1.0, max(made, 0.5) / max(compared, 1.0))


def _known(crossing: list[tuple[str, str]], before: Workload | None) -> float:
    if before is None:
        return 0.0
    share = 1.0
    for pair in crossing:
        share *= before.selectivity.get(frozenset(pair), 1.0)
    return share


def _moves(before: Workload, now: Workload) -> list[float]:
    moves = [*relative_moves(before.rates, now.rates), *relative_moves(before.windows, now.windows)]
    pairs = before.selectivity.keys() | now.selectivity.keys()
    for pair in pairs:
        moves += relative_moves({0: before.selectivity.get(pair, 1.0)}, {0: now.selectivity.get(pair, 1.0)})
    return moves
