"""Several DataFrames: a tree of binary joins, with the window of the whole checked at every stage.

A combination holds if its latest row is at most its window later than each of its rows: T - T(row) <= window,
for every stream, where T is the latest time. A stage therefore carries two numbers for each partial
combination: its latest time, and its deadline, the earliest of time + window over its rows. Two parts fit if
each one's latest time is within the other's deadline; the binary join runs in a window that no fitting pair
exceeds, and what does not fit is filtered out.

On streams the stages are stateful operators, one above the other. A result of a stage has a row that came in
this micro-batch, so that its latest time is above the watermark: it is as punctual as that row, and Spark's
watermark for the stage holds for the next one too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it
from pyspark.sql.types import TimestampNTZType, TimestampType

from watersmeet.errors import ConfigError, SchemaError
from watersmeet.spark.api import planned
from watersmeet.spark.asking import asked
from watersmeet.spark.watermarks import delay_of, without_watermark
from watersmeet.vocabulary import Comparisons, PerBatch, Predicate, Shed, Span, Stream, Where
from watersmeet.vocabulary.duration import NANOSECONDS
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
    delay_ms: int | None = None  # of a stream; None: of a batch, or of what another stage gives


@dataclass(frozen=True, slots=True)
class _Asked:
    """What all stages have in common."""

    streams: Mapping[str, tuple[Stream, DataFrame]]
    on: Mapping[tuple[str, str], Predicate]
    partitions: int | None
    vectors: Mapping[str, int]
    shed: Shed | None  # of each stage
    name: str
    streaming: bool


class _OfStreams:
    """A user's function, shown the columns of its own two streams under their own names."""

    def __init__(self, function: Any, first: str, second: str) -> None:
        self._function, self._first, self._second = function, first, second

    def __call__(self, first: Any, second: Any) -> Any:
        return self._function(_columns_of(self._first, first), _columns_of(self._second, second))


def _columns_of(stream: str, block: Any) -> Any:
    prefix = f"{stream}."
    names = [name for name in block.column_names if name.startswith(prefix)]
    return block.select(names).rename_columns([name.removeprefix(prefix) for name in names])


def multi_join(
    inputs: Sequence[tuple[Stream, DataFrame]],
    *,
    on: Mapping[tuple[str, str], Predicate],
    tree: Any = None,
    partitions: int | None = None,
    vectors: Mapping[str, int] | None = None,
    shed: Shed | None = None,
    name: str = "join",
) -> DataFrame:
    """Join several batch or several streaming DataFrames; columns come out as "<stream>.<column>".

    inputs   (wm.Stream(name, time=..., window=...), DataFrame) for each stream; a stream is late as its
             watermark says, or as Stream(lateness=...) does
    on       predicates by pair of streams; pairs without one meet on time alone
    tree     who is joined with whom, as nested pairs of names; None: each with all before it
    vectors  the lengths of columns that wm.distance compares: {"A.image": 64, "B.image": 64}
    shed     wm.Shed(budget=wm.per_batch("2s")) or wm.comparisons(n): over all stages, an equal part each
    name     streams: the counters of a stage are observed as "watersmeet:<name>:<stream>+<stream>..."
    """
    streams = {stream.name: (stream, frame) for stream, frame in inputs}
    if len(streams) != len(inputs) or len(inputs) < 2:
        raise ConfigError("inputs: expected at least two streams with different names")
    shape = tree if tree is not None else _chain([stream.name for stream, _ in inputs])
    if sorted(_leaves(shape)) != sorted(streams):
        raise ConfigError(f"tree={tree!r}: expected each of {', '.join(map(repr, streams))} once, in pairs")
    for pair, predicate in on.items():
        _check_pair(pair, predicate, streams)
    kinds = {stream.name: bool(frame.isStreaming) for stream, frame in inputs}
    if len(set(kinds.values())) > 1:
        live, still = ([n for n, is_live in kinds.items() if is_live == kind] for kind in (True, False))
        raise ConfigError(
            f"{', '.join(map(repr, live))} are streams and {', '.join(map(repr, still))} are not: expected"
            " all streaming or all batch DataFrames"
        )
    common = _Asked(
        streams,
        on,
        partitions,
        vectors or {},
        _shed_of_a_stage(shed, stages=len(inputs) - 1),
        name,
        streaming=any(kinds.values()),
    )
    return _joined(shape, common).frame.drop(_LATEST, _DEADLINE)


def _shed_of_a_stage(shed: Any, *, stages: int) -> Any:
    """Stages come one after the other in a micro-batch, each with its part of the budget."""
    if not isinstance(shed, Shed):
        return shed  # None, or what asked() refuses in words
    if shed.utility is not None:
        raise ConfigError(
            "Shed(utility) with multi_join: rows of partial results have no type; expected None"
        )
    budget = shed.budget
    if isinstance(budget, Comparisons):
        return replace(shed, budget=replace(budget, per_second=budget.per_second / stages))
    if isinstance(budget, PerBatch):
        return replace(shed, budget=PerBatch(Span(nanoseconds=max(1, budget.span.amount // stages))))
    return shed


def _joined(shape: Any, common: _Asked) -> _Part:
    if isinstance(shape, str):
        return _leaf(*common.streams[shape], streaming=common.streaming)
    left, right = (_joined(part, common) for part in shape)
    streams = left.streams + right.streams
    request = asked(
        (left.frame, right.frame),
        on=_between(left, right, common.on),
        window=None,
        between=(Span(nanoseconds=-right.widest_us * 1000), Span(nanoseconds=left.widest_us * 1000)),
        time=_LATEST,
        how="inner",
        suffix=_RIGHT,
        time_unit="us",
        partitions=common.partitions,
        slice_span=None,
        skew=None,
        shed=common.shed,
        type_columns=None,
        vectors=_present(common.vectors, left.frame, right.frame),
        streaming=common.streaming,
    )
    both = planned(
        request,
        (left.frame, right.frame),
        delays_ms=(left.delay_ms, right.delay_ms) if common.streaming else None,
        name=f"{common.name}:{'+'.join(streams)}",
    )
    latest, deadline = (F.col(name) for name in (_LATEST, _DEADLINE))
    other_latest, other_deadline = (F.col(name + _RIGHT) for name in (_LATEST, _DEADLINE))
    fitting = both.filter((other_latest <= deadline) & (latest <= other_deadline))
    frame = (
        fitting.withColumn(_LATEST, F.greatest(latest, other_latest))
        .withColumn(_DEADLINE, F.least(deadline, other_deadline))
        .drop(_LATEST + _RIGHT, _DEADLINE + _RIGHT)
    )
    return _Part(frame, streams, max(left.widest_us, right.widest_us))


def _leaf(stream: Stream, frame: DataFrame, *, streaming: bool) -> _Part:
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
    delay = None
    if streaming:
        delay = _delay_ms(stream, frame)
        frame = without_watermark(frame, f"stream {stream.name!r}")
    named = frame.select(*(F.col(f"`{c}`").alias(f"{stream.name}.{c}") for c in frame.columns))
    time = F.unix_micros(F.col(f"`{stream.name}.{stream.time}`").cast("timestamp"))
    timed = named.withColumn(_LATEST, time).withColumn(_DEADLINE, time + F.lit(width))
    return _Part(timed, (stream.name,), width, delay)


def _delay_ms(stream: Stream, frame: DataFrame) -> int:
    if stream.lateness is None:
        return delay_of(frame, stream.time, f"stream {stream.name!r}")
    if not isinstance(stream.lateness, Span):
        raise ConfigError(
            f"Stream {stream.name!r}: lateness={stream.lateness!r} is not for Spark, whose watermark has a"
            " fixed delay; expected a span of time"
        )
    return -(-stream.lateness.amount // NANOSECONDS["ms"])


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
    if isinstance(leaf, Where):
        first, second = (right, left) if leaf.swapped else (left, right)
        return Where(_OfStreams(leaf.fn, first, second), swapped=leaf.swapped)
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


def _present(vectors: Mapping[str, int], *frames: DataFrame) -> dict[str, int]:
    return {name: length for name, length in vectors.items() if any(name in f.columns for f in frames)}


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
