"""Workload: what is known about streams before a tree is chosen, and what any tree of them would hold.

With everything processed, the rows of a join of some streams do not depend on the tree: they are the living
combinations of its streams' windows that match. So sizes and rates belong to sets of streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod
from types import MappingProxyType

from watersmeet.errors import ConfigError
from watersmeet.plan import _check
from watersmeet.plan._portable import Portable
from watersmeet.plan.cells import CellCurve
from watersmeet.plan.plan import Plan
from watersmeet.plan.stay import stays
from watersmeet.plan.tree import Node, Tree, TreeLike, parse_tree

__all__ = ["Workload"]


@dataclass(frozen=True, slots=True, init=False)
class Workload(Portable):
    """Streams, their windows, and how selective each pair's predicate is.

    rates         rows per second of each stream
    windows       rows in each stream's window; of a time window, its rate times its length
    selectivity   per pair of streams: the share of pairs that match; a pair left out is not compared (1).
                  Pairs are taken to be independent.
    freshness     as in Plan
    skew          per half-way join, by its probing input: how much more, or less, often its probes match than
                  the pairs' selectivities say; 1 where it is left out. New rows may match better with waiting
                  ones of one side than of the other where both sides drift.
    curves        as in Plan
    """

    rates: Mapping[str, float]
    windows: Mapping[str, float]
    selectivity: Mapping[frozenset[str], float]
    freshness: Mapping[str, float]
    skew: Mapping[str, float]
    curves: Mapping[str, CellCurve]

    def __init__(
        self,
        *,
        rates: Mapping[str, float],
        windows: Mapping[str, float],
        selectivity: Mapping[tuple[str, str], float],
        freshness: Mapping[str, float] | None = None,
        skew: Mapping[str, float] | None = None,
        curves: Mapping[str, CellCurve] | None = None,
    ) -> None:
        if not isinstance(rates, Mapping) or len(rates) < 2:
            raise ConfigError(f"rates={rates!r}: expected a mapping with two streams or more")
        object.__setattr__(self, "rates", _check.amounts(rates, rates, argument="rates"))
        object.__setattr__(self, "windows", _check.amounts(windows, rates, argument="windows"))
        object.__setattr__(self, "selectivity", _pairs(selectivity, rates))
        object.__setattr__(self, "freshness", MappingProxyType(dict(freshness or {})))
        skews = {name: _check.amount(each, argument=f"skew[{name!r}]") for name, each in (skew or {}).items()}
        object.__setattr__(self, "skew", MappingProxyType(skews))
        object.__setattr__(self, "curves", MappingProxyType(dict(curves or {})))

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams, as given."""
        return tuple(self.rates)

    def match_share(self, one: Iterable[str], other: Iterable[str]) -> float:
        """The selectivity of joining two disjoint sets of streams: of every pair across them."""
        others = tuple(other)
        return prod(self.selectivity.get(frozenset((own, its)), 1.0) for own in one for its in others)

    def match_shares(self, join: Node) -> tuple[float, float]:
        """The selectivity of a join for the probes of its first and of its second input."""
        assert join.inputs is not None
        share = self.match_share(join.inputs[0].streams, join.inputs[1].streams)
        first, second = (min(1.0, share * self.skew.get(node.name, 1.0)) for node in join.inputs)
        return first, second

    def size(self, streams: Iterable[str]) -> float:
        """Living matching combinations of these streams when everything is processed."""
        members = tuple(streams)
        shares = (self.match_share((one,), (other,)) for one, other in combinations(members, 2))
        return prod(self.windows[name] for name in members) * prod(shares)

    def made_per_s(self, streams: Iterable[str]) -> float:
        """New matching combinations of these streams per second when everything is processed."""
        members = tuple(streams)
        size = self.size(members)
        if size == 0.0:
            return 0.0
        return size * sum(self.rates[name] / self.windows[name] for name in members)

    def stays(self, join: Node) -> tuple[float, float]:
        """Seconds that a join's combinations stay: those made by its first input's new rows, its second's."""
        assert join.inputs is not None
        return stays(join.inputs[0].streams, join.inputs[1].streams, self.rates, self.windows)

    def plan(self, tree: TreeLike, *, states: Mapping[str, float] | None = None) -> Plan:
        """The plan of a tree over these streams. States between joins are as full as with everything
        processed, unless their sizes are given.
        """
        parsed = parse_tree(tree)
        _same_streams(parsed, self.streams)
        sizes = {join.name: self.size(join.streams) for join in parsed.joins[:-1]}
        shares = {join.name: self.match_shares(join) for join in parsed.joins}
        return Plan(
            parsed,
            rates=self.rates,
            states={**self.windows, **sizes, **(states or {})},
            selectivity=shares,
            freshness=self.freshness,
            curves=self.curves,
        )


def _same_streams(tree: Tree, streams: tuple[str, ...]) -> None:
    if set(tree.streams) != set(streams):
        raise ConfigError(
            f"tree={tree.nested()!r}: expected the streams {', '.join(map(repr, streams))}, each once"
        )


def _pairs(values: object, streams: Iterable[str]) -> Mapping[frozenset[str], float]:
    names = tuple(streams)
    if not isinstance(values, Mapping):
        raise ConfigError(f"selectivity={values!r}: expected a mapping from pairs of streams to numbers")
    found: dict[frozenset[str], float] = {}
    for pair, share in values.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(names):
            allowed = ", ".join(map(repr, names))
            raise ConfigError(f"selectivity: {pair!r}: expected a pair of different streams, of {allowed}")
        if frozenset(pair) in found:
            raise ConfigError(f"selectivity: {pair!r}: given twice")
        found[frozenset(pair)] = _check.share(share, argument=f"selectivity[{pair!r}]")
    return MappingProxyType(found)
