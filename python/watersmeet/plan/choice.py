"""Which tree: the cheapest one with everything processed, or the one that makes the most of a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from watersmeet.errors import ConfigError
from watersmeet.plan.policy import Policy
from watersmeet.plan.steady import steady_state
from watersmeet.plan.tree import Nested, Tree, every_tree, parse_tree
from watersmeet.plan.workload import Workload

__all__ = ["Choice", "choose_tree", "probes_per_s"]

_MOST_STREAMS = 8
_MOST_EXHAUSTIVE = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """The tree, the probes per second that it takes to process everything, and its throughput under the
    budget (None without one).
    """

    tree: Tree
    probes_per_s: float
    throughput: float | None = None


def choose_tree(workload: Workload, *, budget: float | None = None, policy: Policy = "jaqpot") -> Choice:
    """The best tree for up to eight streams.

    Without a budget: the one with the fewest probes, exactly, by dynamic programming over sets of streams,
    since what a join costs depends on its set alone. With a budget: the highest steady throughput over every
    tree of up to five streams; beyond that the cheapest tree, of which a budget buys the largest share.
    """
    streams = workload.streams
    if len(streams) > _MOST_STREAMS:
        raise ConfigError(f"tree='auto': {len(streams)} streams; expected at most {_MOST_STREAMS}")
    if budget is None or len(streams) > _MOST_EXHAUSTIVE:
        return _under(workload, parse_tree(_cheapest(workload)), budget=budget, policy=policy)
    options = [
        _under(workload, parse_tree(tree), budget=budget, policy=policy) for tree in every_tree(streams)
    ]
    return max(options, key=lambda option: (option.throughput or 0.0, -option.probes_per_s))


def probes_per_s(workload: Workload, tree: Tree) -> float:
    """Probes per second to process everything: one for every row of every stream and of every join but the
    last.
    """
    made = sum(workload.made_per_s(join.streams) for join in tree.joins[:-1])
    return sum(workload.rates.values()) + made


def _under(workload: Workload, tree: Tree, *, budget: float | None, policy: Policy) -> Choice:
    cost = probes_per_s(workload, tree)
    if budget is None:
        return Choice(tree, cost)
    steady = steady_state(workload, tree, budget=budget, policy=policy)
    return Choice(tree, cost, steady.allocation.throughput)


def _cheapest(workload: Workload) -> Nested:
    """The tree with the fewest rows between joins: the best split of every set, from small sets to large."""
    streams = workload.streams
    best: dict[frozenset[str], tuple[float, Nested]] = {frozenset((name,)): (0.0, name) for name in streams}
    for count in range(2, len(streams) + 1):
        for members in combinations(streams, count):
            own = workload.made_per_s(members) if count < len(streams) else 0.0
            cost, tree = _best_split(members, best)
            best[frozenset(members)] = (cost + own, tree)
    return best[frozenset(streams)][1]


def _best_split(
    members: Sequence[str], best: dict[frozenset[str], tuple[float, Nested]]
) -> tuple[float, Nested]:
    first, rest = members[0], members[1:]
    found: tuple[float, Nested] | None = None
    for count in range(len(rest)):
        for companions in combinations(rest, count):
            own = frozenset((first, *companions))
            one, other = best[own], best[frozenset(members) - own]
            if found is None or one[0] + other[0] < found[0]:
                found = (one[0] + other[0], (one[1], other[1]))
    assert found is not None
    return found
