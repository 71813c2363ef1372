"""What a join of several streams was asked to do: every argument, checked once, in one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.join.timing.ordering import held_limit
from watersmeet.join.two_way.config import Output
from watersmeet.plan import POLICIES, AdaptRule, Policy, Tree, TreeLike, parse_tree
from watersmeet.vocabulary import (
    Band,
    Compiled,
    Distance,
    Equal,
    Order,
    Predicate,
    Span,
    SpanLike,
    Stream,
    Subset,
    Superset,
    Where,
    parse_order,
    parse_span,
)

__all__ = ["Analysis", "MultiConfig", "Pair", "checked_multi_config"]

Analysis: TypeAlias = Literal["thread", "inline"]
_MOST_STREAMS: Final = 8
_MOST_ROWS: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Pair:
    """What two streams must satisfy: parts that the core checks, the best driver first, and functions."""

    streams: tuple[int, int]
    on: Predicate
    terms: tuple[Predicate, ...]
    functions: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class MultiConfig:
    """The arguments of a MultiJoin."""

    streams: tuple[Stream, ...]
    pairs: tuple[Pair, ...]
    tree: Tree
    free_tree: bool  # tree="auto"
    budget: float | None
    policy: Policy
    rule: AdaptRule
    monitor: Span
    explore: float
    analysis: Analysis
    output: Output = "columns"
    states: Mapping[str, int] | None = None
    cells: bool = True
    order: Order = None
    memory_limit: int | None = None

    @property
    def uses_cells(self) -> bool:
        """Whether probes may look at the best cells of a state; the published policies know whole probes
        only.
        """
        return self.cells and self.policy == "jaqpot" and self.budget is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the streams."""
        return tuple(stream.name for stream in self.streams)

    @property
    def joined(self) -> frozenset[frozenset[str]]:
        """The pairs of streams that have a predicate, by name."""
        return frozenset(frozenset(self.names[stream] for stream in pair.streams) for pair in self.pairs)

    def columns(self, stream: int) -> tuple[str, ...]:
        """The columns of one stream that predicates name."""
        found: list[str] = []
        for pair in self.pairs:
            if stream == pair.streams[0]:
                found += pair.on.left_columns
            if stream == pair.streams[1]:
                found += pair.on.right_columns
        return tuple(dict.fromkeys(found))


def checked_multi_config(
    streams: object,
    *,
    tree: object,
    on: object,
    budget: object,
    policy: object,
    monitor: SpanLike,
    analyse_above: float,
    actuate_above: float,
    explore: object,
    analysis: object,
    output: object = "columns",
    states: object = None,
    cells: object = True,
    order: object = None,
    memory_limit: object = None,
) -> MultiConfig:
    """The arguments as a value, or ConfigError naming the first that has no meaning."""
    given = _streams(streams)
    names = tuple(stream.name for stream in given)
    pairs = _pairs(on, names)
    free = isinstance(tree, str) and tree == "auto"
    parsed = _first_tree(names, pairs) if free else _tree(tree, names)
    if policy not in POLICIES:
        raise ConfigError(f"policy={policy!r}: expected one of {', '.join(map(repr, POLICIES))}")
    if analysis not in ("thread", "inline"):
        raise ConfigError(f"analysis={analysis!r}: expected 'thread' or 'inline'")
    if output not in ("columns", "rows"):
        raise ConfigError(f"output={output!r}: expected 'columns' or 'rows'")
    period = parse_span(monitor, argument="monitor", rows=False)
    if period.amount <= 0:
        raise ConfigError(f"monitor={monitor!r}: expected a span longer than nothing")
    return MultiConfig(
        streams=given,
        pairs=pairs,
        tree=parsed,
        free_tree=free,
        budget=_budget(budget),
        policy=policy,  # type: ignore[arg-type]  # checked above
        rule=AdaptRule(analyse_above, actuate_above),
        monitor=period,
        explore=_share(explore),
        analysis=analysis,
        output=output,
        states=_states(states, parsed, free=free),
        cells=_flag(cells),
        order=_order(order, budget),
        memory_limit=held_limit(memory_limit, order),
    )


def _streams(value: object) -> tuple[Stream, ...]:
    if not isinstance(value, Sequence) or not all(isinstance(stream, Stream) for stream in value):
        raise ConfigError(f"streams={value!r}: expected a list of wm.Stream")
    if not 2 <= len(value) <= _MOST_STREAMS:
        raise ConfigError(f"streams: {len(value)} given; expected 2 to {_MOST_STREAMS}")
    names = [stream.name for stream in value]
    for stream in value:
        if names.count(stream.name) > 1:
            raise ConfigError(f"two streams have the name {stream.name!r}; push() could not tell them apart")
        _check_stream(stream)
    return tuple(value)


def _check_stream(stream: Stream) -> None:
    if "+" in stream.name:
        raise ConfigError(f"Stream {stream.name!r}: a '+' in the name would be taken for a join of streams")
    if stream.window is None:
        raise ConfigError(
            f"Stream {stream.name!r}: window is missing; expected a span such as '10s' or '500i'"
        )
    if stream.freshness is not None and stream.freshness.is_rows:
        raise ConfigError(f"Stream {stream.name!r}: freshness counts rows; expected a span of time")


def _pairs(on: object, names: tuple[str, ...]) -> tuple[Pair, ...]:
    if on is None:
        return ()
    if not isinstance(on, Mapping):
        raise ConfigError(f"on={on!r}: expected a mapping from pairs of streams to predicates")
    pairs: list[Pair] = []
    for key, predicate in on.items():
        if not isinstance(key, tuple) or len(key) != 2 or key[0] == key[1] or not set(key) <= set(names):
            raise ConfigError(
                f"on: {key!r}: expected a pair of different streams, of {', '.join(map(repr, names))}"
            )
        if not isinstance(predicate, Predicate):
            raise ConfigError(f"on[{key!r}]={predicate!r}: expected a predicate such as wm.equal('key')")
        streams = (names.index(key[0]), names.index(key[1]))
        if any(set(pair.streams) == set(streams) for pair in pairs):
            raise ConfigError(f"on: {key!r}: this pair of streams is given twice; join predicates with &")
        pairs.append(_pair(streams, predicate))
    return tuple(pairs)


def _pair(streams: tuple[int, int], on: Predicate) -> Pair:
    functions = tuple(leaf for leaf in on.leaves if isinstance(leaf, Where))
    native = [leaf for leaf in on.leaves if not isinstance(leaf, Where)]
    return Pair(streams, on, tuple(sorted(native, key=_rank)), functions)


def _rank(leaf: Predicate) -> int:
    """Most selective first: a key meets few rows, a set more, most where empty sets match; then bands."""
    if isinstance(leaf, Equal):
        return 0
    if isinstance(leaf, Band | Compiled | Distance):
        return 3
    return 2 if isinstance(leaf, Subset | Superset) else 1


def _tree(value: object, names: tuple[str, ...]) -> Tree:
    tree = parse_tree(value)  # type: ignore[arg-type]
    if set(tree.streams) != set(names):
        raise ConfigError(f"tree={value!r}: expected the streams {', '.join(map(repr, names))}, each once")
    return tree


def _first_tree(names: tuple[str, ...], pairs: tuple[Pair, ...]) -> Tree:
    """A tree to begin with, before anything is known: each stream joined to those it has a predicate with."""
    joined = {0}
    tree: TreeLike = names[0]
    while len(joined) < len(names):
        linked = {other for pair in pairs if len(set(pair.streams) & joined) == 1 for other in pair.streams}
        left = [stream for stream in range(len(names)) if stream not in joined]
        following = next((stream for stream in left if stream in linked), left[0])
        tree = (tree, names[following])
        joined.add(following)
    return parse_tree(tree)


def _states(value: object, tree: Tree, *, free: bool) -> Mapping[str, int] | None:
    if value is None:
        return None
    if free:
        raise ConfigError("states: needs a tree of its own; expected tree=... as nested pairs of names")
    if not isinstance(value, Mapping):
        raise ConfigError(f"states={value!r}: expected a mapping from joins to rows, such as {{'A+B': 200}}")
    wanted = tree.susceptible
    if set(value) != set(wanted):
        listed = ", ".join(map(repr, wanted)) or "none, two streams have no state between joins"
        raise ConfigError(
            f"states={dict(value)!r}: expected the rows of {listed}, as the tree {tree} has them"
        )
    for name, rows in value.items():
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= _MOST_ROWS:
            raise ConfigError(f"states[{name!r}]={rows!r}: expected a number of rows, at least 1")
    return {name: value[name] for name in wanted}


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"cells={value!r}: expected True or False")
    return value


def _order(value: object, budget: object) -> Order:
    order = parse_order(value)
    if budget is not None and order not in (None, "sync-filter"):
        raise ConfigError(
            f"order={value!r}: a budget is spent in the order of time; expected None or 'sync-filter' with"
            f" budget={budget!r}"
        )
    return order


def _budget(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ConfigError(f"budget={value!r}: expected probes per second, more than 0, or None: exact")
    return float(value)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 0.5:
        raise ConfigError(f"explore={value!r}: expected a share from 0 to 0.5")
    return float(value)
