"""Several DataFrames: a tree of binary joins, with the window of the whole checked at every stage.

A combination holds if its latest row is at most its window later than each of its rows: T - T(row) <= window,
for every stream, where T is the latest time. A stage therefore carries two numbers for each partial
combination: its latest time, and its deadline, the earliest of time + window over its rows. Two parts fit if
each one's latest time is within the other's deadline; the binary join runs in a window that no fitting pair
exceeds, and what does not fit is filtered out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it
from pyspark.sql.types import TimestampNTZType, TimestampType

from watersmeet.errors import ConfigError, SchemaError
from watersmeet.spark.api import join
from watersmeet.vocabulary import Predicate, Span, Stream, Where
from watersmeet.vocabulary.predicate import Cosine, Dot, Equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["multi_join"]

Tree: TypeAlias = "str | tuple[Tree, Tree]"

_LATEST: Final = "__watersmeet_latest"
_DEADLINE: Final = "__watersmeet_deadline"
_RIGHT: Final = "__right"


@dataclass(frozen=True, slots=True)
class _Part:
    """A node of the tree: combinations of some streams, with columns named <stream>.<column>."""

    frame: DataFrame
    streams: tuple[str, ...]
    widest_us: int  # the longest window among its streams


def multi_join(
    inputs: Sequence[tuple[Stream, DataFrame]],
    *,
    on: Mapping[tuple[str, str], Predicate],
    tree: Any = None,
    partitions: int | None = None,
) -> DataFrame:
    """Join several batch DataFrames; columns come out as "<stream>.<column>".

    inputs   (wm.Stream(name, time=..., window=...), DataFrame) for each stream
    on       predicates by pair of streams; pairs without one meet on time alone
    tree     who is joined with whom, as nested pairs of names; None: each with all before it
    """
    streams = {stream.name: (stream, frame) for stream, frame in inputs}
    if len(streams) != len(inputs) or len(inputs) < 2:
        raise ConfigError("inputs: expected at least two streams with different names")
    shape = tree if tree is not None else _chain([stream.name for stream, _ in inputs])
    if sorted(_leaves(shape)) != sorted(streams):
        raise ConfigError(f"tree={tree!r}: expected each of {', '.join(map(repr, streams))} once, in pairs")
    for pair, predicate in on.items():
        _check_pair(pair, predicate, streams)
    for stream, frame in inputs:
        if frame.isStreaming:
            raise ConfigError(
                f"stream {stream.name!r} is a streaming DataFrame: multi_join takes batch DataFrames in this"
                " version; write join()'s result to a table and join that table as a stream"
            )
    whole = _joined(shape, streams, on, partitions)
    return whole.frame.drop(_LATEST, _DEADLINE)


def _joined(
    shape: Any, streams: Any, on: Mapping[tuple[str, str], Predicate], partitions: int | None
) -> _Part:
    if isinstance(shape, str):
        return _leaf(*streams[shape])
    left, right = (_joined(part, streams, on, partitions) for part in shape)
    both = join(
        left.frame,
        right.frame,
        on=_between(left, right, on),
        between=(Span(nanoseconds=-right.widest_us * 1000), Span(nanoseconds=left.widest_us * 1000)),
        time=_LATEST,
        suffix=_RIGHT,
        partitions=partitions,
    )
    latest, deadline = (F.col(name) for name in (_LATEST, _DEADLINE))
    other_latest, other_deadline = (F.col(name + _RIGHT) for name in (_LATEST, _DEADLINE))
    fitting = both.filter((other_latest <= deadline) & (latest <= other_deadline))
    frame = (
        fitting.withColumn(_LATEST, F.greatest(latest, other_latest))
        .withColumn(_DEADLINE, F.least(deadline, other_deadline))
        .drop(_LATEST + _RIGHT, _DEADLINE + _RIGHT)
    )
    return _Part(frame, left.streams + right.streams, max(left.widest_us, right.widest_us))


def _leaf(stream: Stream, frame: DataFrame) -> _Part:
    window = stream.window
    if window is None or not window.is_time:
        raise ConfigError(f"Stream {stream.name!r}: expected a window of time, such as '10s'")
    if stream.time not in frame.columns:
        raise SchemaError(f"stream {stream.name!r}: there is no column {stream.time!r}")
    kind = frame.schema[stream.time].dataType
    if not isinstance(kind, TimestampType | TimestampNTZType):
        raise SchemaError(
            f"stream {stream.name!r}: time column {stream.time!r} is {kind.simpleString()};"
            " expected timestamp or timestamp_ntz"
        )
    width = window.in_unit("us")
    named = frame.select(*(F.col(f"`{c}`").alias(f"{stream.name}.{c}") for c in frame.columns))
    time = F.unix_micros(F.col(f"`{stream.name}.{stream.time}`").cast("timestamp"))
    timed = named.withColumn(_LATEST, time).withColumn(_DEADLINE, time + F.lit(width))
    return _Part(timed, (stream.name,), width)


def _between(left: _Part, right: _Part, on: Mapping[tuple[str, str], Predicate]) -> Predicate | None:
    """All predicates that have one stream on each side, over the parts' columns."""
    found = []
    for (one, two), predicate in on.items():
        for leaf in predicate.leaves:
            if one in left.streams and two in right.streams:
                found.append(_renamed(leaf, one, two))
            elif two in left.streams and one in right.streams:
                found.append(_renamed(leaf.mirrored(), two, one))
    return reduce(lambda p, q: p & q, found) if found else None


def _renamed(leaf: Predicate, left: str, right: str) -> Predicate:
    value: Any = leaf
    if isinstance(leaf, Equal):
        return Equal(
            tuple(f"{left}.{name}" for name in leaf.left), tuple(f"{right}.{name}" for name in leaf.right)
        )
    if isinstance(leaf, Dot | Cosine):
        weights = {
            f"{side}_weights": name if name is None else f"{stream}.{name}"
            for side, stream, name in (
                ("left", left, leaf.left_weights),
                ("right", right, leaf.right_weights),
            )
        }
        items = {"left_items": f"{left}.{leaf.left_items}", "right_items": f"{right}.{leaf.right_items}"}
        renamed: Predicate = replace(value, **items, **weights)
        return renamed
    other: Predicate = replace(value, left=f"{left}.{value.left}", right=f"{right}.{value.right}")
    return other


def _check_pair(pair: Any, predicate: Any, streams: Mapping[str, Any]) -> None:
    if not isinstance(pair, tuple) or len(pair) != 2 or any(name not in streams for name in pair):
        raise ConfigError(f"on[{pair!r}]: expected a pair of {', '.join(map(repr, streams))}")
    if not isinstance(predicate, Predicate):
        raise ConfigError(f"on[{pair!r}]={predicate!r}: expected a predicate such as wm.equal('key')")
    if any(isinstance(leaf, Where) for leaf in predicate.leaves):
        raise ConfigError(
            f"on[{pair!r}]={predicate}: a function of your own is not in this version of multi_join"
        )


def _chain(names: list[str]) -> Any:
    tree: Any = names[0]
    for name in names[1:]:
        tree = (tree, name)
    return tree


def _leaves(tree: Any) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    if not isinstance(tree, tuple | list) or len(tree) != 2:
        raise ConfigError(f"tree={tree!r}: expected nested pairs of stream names")
    return [name for part in tree for name in _leaves(part)]
