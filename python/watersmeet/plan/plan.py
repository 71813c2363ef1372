"""Plan: a tree of joins with its statistics, and what each input path makes of a probe ([JAQPOT] 4.1).

The unit of cost is one probe: a row, from a stream or from a join below, compared with its partner's state.
Inserting and purging cost nothing here ([JAQPOT] 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from types import MappingProxyType
from typing import TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.plan import _check
from watersmeet.plan._portable import Portable
from watersmeet.plan.cells import EVEN, CellCurve
from watersmeet.plan.tree import Node, Tree, TreeLike, parse_tree

__all__ = ["Path", "Plan", "Selectivity"]

Selectivity: TypeAlias = "float | tuple[float, float]"


@dataclass(frozen=True, slots=True)
class Path:
    """The half-way joins from one stream to the root.

    hops            the probing inputs, from the stream to the last join's input
    cardinalities   rows that one row of the stream has become after each hop: phi_j, eq. 5
    most            the most probes per second that the stream's rate can use, with every producer matched
    """

    stream: str
    rate: float
    hops: tuple[str, ...]
    cardinalities: tuple[float, ...]

    @property
    def probes_per_hop(self) -> tuple[float, ...]:
        """Probes at each hop for one row of the stream: 1, phi_1, ..., phi_{n-1} (eq. 7)."""
        return (1.0, *self.cardinalities[:-1])

    @property
    def probes_per_row(self) -> float:
        """Probes along the whole path for one row of the stream (eq. 6)."""
        return sum(self.probes_per_hop)

    @property
    def productivity(self) -> float:
        """Results of the query per probe spent anywhere along the path (eq. 8)."""
        return self.cardinalities[-1] / self.probes_per_row

    @property
    def most(self) -> float:
        """Departs from [JAQPOT]: the text forgets that a path cannot use more than its stream brings
        (SPEC J5).
        """
        return self.rate * self.probes_per_row


@dataclass(frozen=True, slots=True, init=False)
class Plan(Portable):
    """A tree of joins and its statistics, all per second.

    tree          nested pairs of stream names
    rates         rows per second of each stream
    states        rows kept in each stream's window and in each state between joins ("A+B")
    selectivity   of each join ("A+B"): the share of compared pairs that match; or a pair, for the probes of
                  the first and of the second input
    freshness     per stream, in seconds: the oldest a row may be when a result with it comes out; streams
                  left out may be as old as their window allows
    curves        per half-way join, where its probes may look at the best cells of a state alone: what these
                  hold; matches are spread evenly where it is left out
    filling       rows per second that must enter a state between joins whatever they are worth, until it is
                  as full as `states` says
    """

    tree: Tree
    rates: Mapping[str, float]
    states: Mapping[str, float]
    selectivity: Mapping[str, tuple[float, float]]
    freshness: Mapping[str, float]
    curves: Mapping[str, CellCurve]
    filling: Mapping[str, float]
    productivities: Mapping[str, float]  # rho_h of each half-way join, eq. 3
    paths: Mapping[str, Path]

    def __init__(
        self,
        tree: TreeLike,
        *,
        rates: Mapping[str, float],
        states: Mapping[str, float],
        selectivity: Mapping[str, Selectivity],
        freshness: Mapping[str, float] | None = None,
        curves: Mapping[str, CellCurve] | None = None,
        filling: Mapping[str, float] | None = None,
    ) -> None:
        parsed = parse_tree(tree)
        self._set("tree", parsed)
        self._set("rates", _check.amounts(rates, parsed.streams, argument="rates"))
        self._set("states", _check.amounts(states, parsed.states, argument="states"))
        self._set("selectivity", _selectivities(selectivity, parsed))
        self._set("freshness", _freshness(freshness or {}, parsed))
        self._set("curves", MappingProxyType(dict(curves or {})))
        self._set("filling", MappingProxyType(dict(filling or {})))
        self._set("productivities", MappingProxyType(self._productivities()))
        self._set("paths", MappingProxyType({stream: self._path(stream) for stream in parsed.streams}))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def window_s(self, stream: str) -> float:
        """How long a row of the stream stays in its window."""
        rate = self.rates[stream]
        return self.states[stream] / rate if rate else 0.0

    def made(self, half_join: str, *, probes: float, rows: float) -> float:
        """Rows per second that come of so many probes, of which every one of `rows` has its part."""
        if rows <= 0.0:
            return 0.0
        found = self.curves.get(half_join, EVEN).at(min(probes / rows, 1.0))
        return rows * found * self.productivities[half_join]

    def with_freshness(self, *, windows: float) -> Plan:
        """The same plan where every row may be so many of its stream's windows old: 1.5 is half a window
        late.
        """
        times = _check.amount(windows, argument="windows")
        fresh = {stream: times * self.window_s(stream) for stream in self.tree.streams if self.rates[stream]}
        return self._but(states=self.states, freshness=fresh)

    def with_states(self, states: Mapping[str, float]) -> Plan:
        """The same plan with other numbers of rows in some of its states."""
        return self._but(states={**self.states, **states}, freshness=self.freshness)

    def with_whole_probes(self) -> Plan:
        """The same plan where every probe looks at a whole state."""
        return self._but(states=self.states, freshness=self.freshness, curves={}) if self.curves else self

    def _but(
        self,
        *,
        states: Mapping[str, float],
        freshness: Mapping[str, float],
        curves: Mapping[str, CellCurve] | None = None,
    ) -> Plan:
        return Plan(
            self.tree,
            rates=self.rates,
            states=states,
            selectivity=self.selectivity,
            freshness=freshness,
            curves=self.curves if curves is None else curves,
            filling=self.filling,
        )

    def _productivities(self) -> dict[str, float]:
        found = {}
        for join in self.tree.joins:
            for side, node in enumerate(_inputs(join)):
                partner = join.partner(node.name)
                found[node.name] = self.selectivity[join.name][side] * self.states[partner.name]
        return found

    def _path(self, stream: str) -> Path:
        hops = self.tree.path(stream)
        cardinalities = tuple(accumulate((self.productivities[hop] for hop in hops), mul))
        return Path(stream, self.rates[stream], hops, cardinalities)


def _inputs(join: Node) -> tuple[Node, Node]:
    assert join.inputs is not None
    return join.inputs


def _selectivities(values: object, tree: Tree) -> Mapping[str, tuple[float, float]]:
    names = tuple(join.name for join in tree.joins)
    if not isinstance(values, Mapping):
        raise ConfigError(f"selectivity={values!r}: expected a mapping with {', '.join(map(repr, names))}")
    _check.same_names(values, names, argument="selectivity")
    return MappingProxyType({name: _selectivity(values[name], name=name) for name in names})


def _selectivity(value: object, *, name: str) -> tuple[float, float]:
    pair = value if isinstance(value, tuple) else (value, value)
    if len(pair) != 2:
        raise ConfigError(f"selectivity[{name!r}]={value!r}: expected a number, or one for each input")
    first, second = (_check.share(part, argument=f"selectivity[{name!r}]") for part in pair)
    return (first, second)


def _freshness(values: object, tree: Tree) -> Mapping[str, float]:
    if not isinstance(values, Mapping):
        raise ConfigError(f"freshness={values!r}: expected a mapping from streams to seconds")
    unknown = [name for name in values if name not in tree.streams]
    if unknown:
        allowed = ", ".join(map(repr, tree.streams))
        raise ConfigError(f"freshness: {unknown[0]!r} unknown; expected streams of the tree, of {allowed}")
    given = tuple(stream for stream in tree.streams if stream in values)
    return _check.amounts(values, given, argument="freshness")
