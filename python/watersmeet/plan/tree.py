"""Trees of binary joins: written as nested pairs of stream names, `(("A", "B"), "C")`.

A node is called by its streams in the order of the tree, "A+B"; the same word names the join, its output and
the state that keeps its output for the join above. The root's output is the answer and has no state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.plan._portable import Portable

__all__ = ["Node", "Tree", "TreeLike", "every_tree", "parse_tree"]

TreeLike: TypeAlias = "str | Sequence[TreeLike] | Tree"
Nested: TypeAlias = "str | tuple[Nested, Nested]"


@dataclass(frozen=True, slots=True)
class Node:
    """A stream (no inputs) or a join (two inputs)."""

    name: str
    streams: tuple[str, ...]
    inputs: tuple[Node, Node] | None = None

    def partner(self, name: str) -> Node:
        """The other input of this join."""
        if self.inputs is None or name not in (self.inputs[0].name, self.inputs[1].name):
            raise ConfigError(f"{name!r}: not an input of {self.name!r}")
        return self.inputs[1] if self.inputs[0].name == name else self.inputs[0]


@dataclass(frozen=True, slots=True)
class Tree(Portable):
    """A tree of binary joins over two or more streams, inputs before the joins that need them."""

    root: Node
    joins: tuple[Node, ...]
    parents: Mapping[str, Node]  # the join that a node's output goes into; the root has none

    @property
    def streams(self) -> tuple[str, ...]:
        """The leaves, from the first to the last."""
        return self.root.streams

    @property
    def half_joins(self) -> tuple[str, ...]:
        """The inputs of every join: each names the probes that its rows make into their partner's state."""
        return tuple(node.name for join in self.joins for node in join.inputs or ())

    @property
    def states(self) -> tuple[str, ...]:
        """Everything that is kept to be probed: every node but the root."""
        return (*self.streams, *self.susceptible)

    @property
    def susceptible(self) -> tuple[str, ...]:
        """The states that go stale when the joins below them may not probe: streams - 2 of them in any tree
        ([JAQPOT] Lemma 2).
        """
        return tuple(join.name for join in self.joins[:-1])

    def path(self, stream: str) -> tuple[str, ...]:
        """The half-way joins from a stream to the root, named by the probing input ([JAQPOT] Def. 3)."""
        if stream not in self.streams:
            raise ConfigError(f"stream {stream!r}: expected one of {', '.join(map(repr, self.streams))}")
        hops, name = [], stream
        while name in self.parents:
            hops.append(name)
            name = self.parents[name].name
        return tuple(hops)

    def nested(self) -> Nested:
        """The tree as nested pairs."""
        return _nested(self.root)

    def __str__(self) -> str:
        return _written(self.root)


def parse_tree(value: TreeLike) -> Tree:
    """A checked tree from nested pairs of stream names."""
    if isinstance(value, Tree):
        return value
    root = _node(value, whole=value)
    if root.inputs is None:
        raise ConfigError(f"tree={value!r}: expected a join of two streams or more, as nested pairs")
    twice = sorted({name for name in root.streams if root.streams.count(name) > 1})
    if twice:
        raise ConfigError(
            f"tree={value!r}: stream {twice[0]!r} occurs twice; joined with itself it needs two names"
        )
    joins = tuple(_joins(root))
    parents = {node.name: join for join in joins for node in join.inputs or ()}
    return Tree(root, joins, MappingProxyType(parents))


def every_tree(streams: Sequence[str]) -> Iterator[Nested]:
    """Every tree over these streams, mirror images counted once: 1, 3, 15, 105, 945 for 2 to 6 streams."""
    if len(streams) == 1:
        yield streams[0]
        return
    first, rest = streams[0], streams[1:]
    for chosen in range(2 ** len(rest) - 1):
        own = [first, *(name for bit, name in enumerate(rest) if chosen >> bit & 1)]
        other = [name for bit, name in enumerate(rest) if not chosen >> bit & 1]
        for left in every_tree(own):
            for right in every_tree(other):
                yield (left, right)


def _node(value: object, *, whole: object) -> Node:
    if isinstance(value, str):
        if not value or "+" in value:
            raise ConfigError(
                f"tree={whole!r}: stream {value!r}: expected a name that is not empty, without '+'"
            )
        return Node(value, (value,))
    if not isinstance(value, Sequence) or len(value) != 2:
        raise ConfigError(f"tree={whole!r}: {value!r}: expected a stream's name or a pair")
    first, second = (_node(part, whole=whole) for part in value)
    return Node(f"{first.name}+{second.name}", first.streams + second.streams, (first, second))


def _joins(node: Node) -> Iterator[Node]:
    if node.inputs is not None:
        for part in node.inputs:
            yield from _joins(part)
        yield node


def _nested(node: Node) -> Nested:
    if node.inputs is None:
        return node.name
    return (_nested(node.inputs[0]), _nested(node.inputs[1]))


def _written(node: Node) -> str:
    if node.inputs is None:
        return node.name
    return f"({_written(node.inputs[0])} {_written(node.inputs[1])})"
