"""What a RingJoin was asked to do: every argument, checked once, in one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from watersmeet.errors import ConfigError
from watersmeet.join.timing.ordering import held_limit
from watersmeet.ring import Slicing
from watersmeet.vocabulary import Compiled, Order, Predicate, Shed, Stream, Where, parse_order

__all__ = ["PairTest", "RingConfig", "Topology", "checked_ring_config"]

Topology: TypeAlias = Literal["ring", "split"]
Edge: TypeAlias = Literal["inclusive", "exclusive"]
MOST_STREAMS: Final = 8
MOST_SLICES: Final = 1024


@dataclass(frozen=True, slots=True)
class PairTest:
    """A simple predicate between two streams, by their numbers: `left` is the predicate's left side."""

    left: int
    right: int
    leaf: Predicate


@dataclass(frozen=True, slots=True)
class RingConfig:
    """The arguments of a RingJoin. `whole` is a user's function of one block per stream."""

    streams: tuple[Stream, ...]
    tests: tuple[PairTest, ...]
    whole: Where | None
    slices: int
    lengths: tuple[int, ...]  # into how many of them each window is cut at first; (): into all
    interleave: int
    topology: Topology
    edge: Edge
    orderings: tuple[tuple[int, ...], ...] | None  # None: by measured selectivities
    order: Order = None
    memory_limit: int | None = None
    shed: Shed | None = None
    seed: int = 0
    auto: bool = False  # slices by measured load; `slices` is what the join starts with
    test_seeds: tuple[int | None, int | None] = (None, None)  # of a drawn schedule, of drawn delays

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the streams."""
        return tuple(stream.name for stream in self.streams)

    @property
    def has_functions(self) -> bool:
        """Whether any part is code of the user's, which no snapshot can hold."""
        return self.whole is not None or any(isinstance(test.leaf, Compiled | Where) for test in self.tests)

    def columns(self, stream: int) -> tuple[str, ...]:
        """The columns of one stream that predicates name."""
        names: list[str] = []
        for test in self.tests:
            if test.left == stream:
                names.extend(test.leaf.left_columns)
            if test.right == stream:
                names.extend(test.leaf.right_columns)
        return tuple(dict.fromkeys(names))


def checked_ring_config(
    streams: object,
    *,
    on: object,
    slices: object,
    interleave: object,
    topology: object,
    edge: object,
    orderings: object,
    order: object = None,
    memory_limit: object = None,
    shed: object = None,
    seed: int = 0,
    test_seeds: tuple[int | None, int | None] = (None, None),
) -> RingConfig:
    """The arguments as a value, or ConfigError naming the first that has no meaning."""
    known = _streams(streams)
    names = [stream.name for stream in known]
    lengths = _lengths(slices, len(names), topology)
    if lengths:
        slices = max(lengths)
    tests, whole = _predicates(on, names)
    return RingConfig(
        streams=known,
        tests=tests,
        whole=whole,
        slices=1 if slices == "auto" else _whole_number(slices, "slices", MOST_SLICES),
        lengths=lengths,
        auto=slices == "auto",
        interleave=_whole_number(interleave, "interleave", 1 << 20),
        topology=cast("Topology", _one_of(topology, ("ring", "split"), "topology")),
        edge=cast("Edge", _one_of(edge, ("inclusive", "exclusive"), "edge")),
        orderings=_orderings(orderings, names),
        order=parse_order(order),
        memory_limit=held_limit(memory_limit, order),
        shed=_shed(shed),
        seed=seed,
        test_seeds=test_seeds,
    )


def _shed(value: object) -> Shed | None:
    if value is not None and not isinstance(value, Shed):
        raise ConfigError(f"shed={value!r}: expected wm.Shed(...) or None")
    return value


def _streams(value: object) -> tuple[Stream, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigError(f"streams={value!r}: expected a list of wm.Stream")
    for stream in value:
        if not isinstance(stream, Stream):
            raise ConfigError(f"streams: {stream!r}: expected a wm.Stream")
    if not 2 <= len(value) <= MOST_STREAMS:
        raise ConfigError(f"streams: {len(value)} streams: expected from 2 to {MOST_STREAMS}")
    names = [stream.name for stream in value]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two streams have the name {name!r}; push() could not tell them apart")
    for stream in value:
        _check_stream(stream)
    return tuple(value)


def _check_stream(stream: Stream) -> None:
    if stream.window is None:
        raise ConfigError(f"Stream {stream.name!r}: window is missing")
    if stream.freshness is not None:
        raise ConfigError(f"Stream {stream.name!r}: freshness is not in this version of RingJoin")


def _predicates(on: object, names: list[str]) -> tuple[tuple[PairTest, ...], Where | None]:
    if on is None:
        return (), None
    if isinstance(on, Mapping):
        tests = [
            PairTest(*_pair(key, names), leaf)
            for key, predicate in on.items()
            for leaf in _predicate(predicate, key).leaves
        ]
        return tuple(tests), None
    if not isinstance(on, Predicate):
        raise ConfigError(f"on={on!r}: expected a predicate per pair of streams, wm.where(...), or None")
    if len(names) == 2:
        return tuple(PairTest(0, 1, leaf) for leaf in on.leaves), None
    if isinstance(on, Where):
        return (), on
    raise ConfigError(
        f"on={on}: with {len(names)} streams, say which pair it is about:"
        f" on={{({names[0]!r}, {names[1]!r}): ...}}"
    )


def _pair(key: object, names: list[str]) -> tuple[int, int]:
    if (
        not isinstance(key, tuple)
        or len(key) != 2
        or any(name not in names for name in key)
        or key[0] == key[1]
    ):
        raise ConfigError(f"on: key {key!r}: expected two of the streams {', '.join(map(repr, names))}")
    return names.index(key[0]), names.index(key[1])


def _predicate(value: object, key: object) -> Predicate:
    if not isinstance(value, Predicate):
        raise ConfigError(f"on[{key!r}]={value!r}: expected a predicate such as wm.equal('key')")
    return value


def _orderings(value: object, names: list[str]) -> tuple[tuple[int, ...], ...] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"orderings={value!r}: expected a stream's name to the names of the others, in order"
        )
    result = []
    for own, name in enumerate(names):
        others = [other for at, other in enumerate(names) if at != own]
        given: Any = value.get(name, others)
        if isinstance(given, str) or not isinstance(given, Sequence) or sorted(given) != sorted(others):
            raise ConfigError(f"orderings[{name!r}]={given!r}: expected each of {others!r} once")
        result.append(tuple(names.index(other) for other in given))
    return tuple(result)


def _lengths(value: object, streams: int, topology: object) -> tuple[int, ...]:
    """Those of a slicing by plan; () for a number of slices."""
    if not isinstance(value, Slicing):
        return ()
    if len(value.lengths) != streams:
        raise ConfigError(f"slices={value!r}: expected a slicing of {streams} streams")
    if topology != "ring":
        raise ConfigError(f"slices={value!r}: only topology='ring' cuts windows by age, got {topology!r}")
    return value.lengths


def _whole_number(value: object, argument: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        or_auto = ", or 'auto', or what wm.ring.slice_initially() gives" if argument == "slices" else ""
        raise ConfigError(f"{argument}={value!r}: expected a whole number from 1 to {most}{or_auto}")
    return value


def _one_of(value: object, allowed: tuple[str, ...], argument: str) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ConfigError(f"{argument}={value!r}: expected one of {', '.join(map(repr, allowed))}")
    return value
