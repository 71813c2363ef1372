"""Which tree: the cheapest one with everything processed, or the one that makes the most of a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    """The tree with the fewest rows between joins: the best split of every set, from small sets to large.

    Sets are bit masks; a set's numbers come before those of the sets that contain it.
    """
    streams = workload.streams
    everything = (1 << len(streams)) - 1
    cost = [0.0] * (everything + 1)
    split = [0] * (everything + 1)
    for members in range(1, everything + 1):
        if members & (members - 1):
            split[members] = _best_split(members, cost)
            below = cost[split[members]] + cost[members ^ split[members]]
            own = workload.made_per_s(_named(members, streams)) if members != everything else 0.0
            cost[members] = below + own
    return _tree(everything, split, streams)


def _best_split(members: int, cost: list[float]) -> int:
    """The part with the lowest bit of the cheapest way to divide a set in two."""
    lowest = members & -members
    rest = members ^ lowest
    best, found = float("inf"), lowest
    other = rest
    while other:
        total = cost[members ^ other] + cost[other]
        if total < best:
            best, found = total, members ^ other
        other = (other - 1) & rest
    return found


def _named(members: int, streams: Sequence[str]) -> list[str]:
    return [name for bit, name in enumerate(streams) if members >> bit & 1]


def _tree(members: int, split: list[int], streams: Sequence[str]) -> Nested:
    if not members & (members - 1):
        return streams[members.bit_length() - 1]
    own = split[members]
    return (_tree(own, split, streams), _tree(members ^ own, split, streams))
