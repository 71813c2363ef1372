"""In which order a row probes the other streams' windows, by measured selectivities.

[PSP] takes the orderings as given. A-Greedy's idea (Babu et al., SIGMOD 2004) is used here: selectivities are
conditional on what is already joined, they decay, and an ordering is left only when another is clearly
cheaper. With few streams the best ordering is found exactly, by dynamic programming over sets of streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from watersmeet.errors import ConfigError
from watersmeet.ring._check import at_least, share

__all__ = ["OrderingRule", "OrderingState", "StepCounts", "adapt_orderings", "ordering_cost"]

_EXACT_STREAMS = 12  # 2**11 sets of streams per own stream; beyond, greedily


@dataclass(frozen=True, slots=True)
class StepCounts:
    """Pairs compared and kept where rows made of the streams `joined` probed the window of `other`."""

    joined: frozenset[int]
    other: int
    compared: float
    kept: float

    def __post_init__(self) -> None:
        at_least(self.kept, 0.0, argument="kept")
        at_least(self.compared - self.kept, 0.0, argument="compared - kept")
        if self.other in self.joined:
            raise ConfigError(f"other={self.other!r}: expected a stream that is not in {set(self.joined)!r}")


@dataclass(frozen=True, slots=True)
class OrderingRule:
    """An ordering is left when another costs less by more than `margin`; counts keep `memory` of their
    weight per period; `prior` is assumed for a pair of streams with a predicate until it is measured.
    """

    margin: float = 0.1
    memory: float = 0.8
    prior: float = 0.1
    least_compared: float = 100.0
    predicates: frozenset[frozenset[int]] | None = None  # the pairs with a predicate; None: all

    def __post_init__(self) -> None:
        at_least(self.margin, 0.0, argument="margin")
        share(self.memory, argument="memory")
        share(self.prior, argument="prior")


@dataclass(frozen=True, slots=True)
class OrderingState:
    """The orderings in force, one per stream, and the decayed counts behind them."""

    orderings: tuple[tuple[int, ...], ...]
    counts: Mapping[tuple[frozenset[int], int], tuple[float, float]] = field(default_factory=dict)
    changes: int = 0

    @classmethod
    def start(cls, streams: int) -> OrderingState:
        """Every row probes the other streams as they are listed."""
        return cls(tuple(tuple(o for o in range(streams) if o != own) for own in range(streams)))


def adapt_orderings(
    state: OrderingState, steps: Sequence[StepCounts], *, window_rows: Sequence[float], rule: OrderingRule
) -> tuple[OrderingState, tuple[tuple[int, ...], ...]]:
    """One period: count what was measured, then keep or replace the ordering of each stream."""
    if len(window_rows) != len(state.orderings):
        raise ConfigError(
            f"window_rows={tuple(window_rows)!r}: expected a count for each of {len(state.orderings)} streams"
        )
    counts = {key: (rule.memory * c, rule.memory * k) for key, (c, k) in state.counts.items()}
    for step in steps:
        compared, kept = counts.get((step.joined, step.other), (0.0, 0.0))
        counts[step.joined, step.other] = (compared + step.compared, kept + step.kept)
    view = _View(counts, tuple(window_rows), rule)
    chosen = tuple(_better(view, own, ordering) for own, ordering in enumerate(state.orderings))
    changes = sum(one != two for one, two in zip(chosen, state.orderings, strict=True))
    return OrderingState(chosen, counts, state.changes + changes), chosen


def ordering_cost(
    own: int,
    ordering: Sequence[int],
    *,
    state: OrderingState,
    window_rows: Sequence[float],
    rule: OrderingRule,
) -> float:
    """Expected comparisons for one row of `own` that probes in this order."""
    return _View(state.counts, tuple(window_rows), rule).cost(own, ordering)


@dataclass(frozen=True, slots=True)
class _View:
    """What the counts say about one step."""

    counts: Mapping[tuple[frozenset[int], int], tuple[float, float]]
    window_rows: tuple[float, ...]
    rule: OrderingRule

    def selectivity(self, joined: frozenset[int], other: int) -> float:
        """Measured for exactly this step; else the product of what its pairs say, as if independent."""
        compared, kept = self.counts.get((joined, other), (0.0, 0.0))
        if compared >= self.rule.least_compared:
            return kept / compared
        chance = 1.0
        for member in joined:
            if self.rule.predicates is not None and frozenset((member, other)) not in self.rule.predicates:
                continue
            compared, kept = self._pair(member, other)
            chance *= kept / compared if compared >= self.rule.least_compared else self.rule.prior
        return chance

    def _pair(self, one: int, two: int) -> tuple[float, float]:
        """A pair of streams is the same pair whichever of them probes."""
        there = self.counts.get((frozenset((one,)), two), (0.0, 0.0))
        back = self.counts.get((frozenset((two,)), one), (0.0, 0.0))
        return there[0] + back[0], there[1] + back[1]

    def cost(self, own: int, ordering: Sequence[int]) -> float:
        joined, rows, total = frozenset((own,)), 1.0, 0.0
        for other in ordering:
            total += rows * self.window_rows[other]
            rows *= self.window_rows[other] * self.selectivity(joined, other)
            joined |= {other}
        return total


def _better(view: _View, own: int, ordering: tuple[int, ...]) -> tuple[int, ...]:
    find = _exact if len(ordering) < _EXACT_STREAMS else _greedy
    best = find(view, own, sorted(ordering))
    enough = view.cost(own, ordering) * (1 - view.rule.margin)
    return best if view.cost(own, best) < enough else ordering


def _exact(view: _View, own: int, others: Sequence[int]) -> tuple[int, ...]:
    """The cheapest ordering: a set's rows may depend on the path to it when counts are inconsistent, so each
    set keeps its own cheapest path.
    """
    best: dict[frozenset[int], tuple[float, float, tuple[int, ...]]] = {frozenset(): (0.0, 1.0, ())}
    for size in range(1, len(others) + 1):
        for members in combinations(others, size):
            reached = frozenset(members)
            paths = (_extended(view, own, best[reached - {last}], last) for last in members)
            best[reached] = min(paths, key=lambda path: (path[0], path[2]))
    return best[frozenset(others)][2]


def _greedy(view: _View, own: int, others: Sequence[int]) -> tuple[int, ...]:
    path: tuple[float, float, tuple[int, ...]] = (0.0, 1.0, ())
    left = set(others)
    while left:
        steps = [_extended(view, own, path, other) for other in sorted(left)]
        path = min(steps, key=lambda step: (step[1], step[0], step[2]))
        left -= {path[2][-1]}
    return path[2]


def _extended(
    view: _View, own: int, path: tuple[float, float, tuple[int, ...]], other: int
) -> tuple[float, float, tuple[int, ...]]:
    cost, rows, ordering = path
    window = view.window_rows[other]
    kept = view.selectivity(frozenset((own, *ordering)), other)
    return cost + rows * window, rows * window * kept, (*ordering, other)
