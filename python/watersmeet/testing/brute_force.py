"""The windowed join by definition: every pair of rows is looked at, nothing is remembered.

This is the yardstick that the engine is measured with, so it is written to be read and checked by eye. It
works in Python integers (nanoseconds), which neither overflow nor round, and takes O(left rows x right rows)
steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.errors import ConfigError
from watersmeet.vocabulary.duration import Span, parse_span
from watersmeet.vocabulary.predicate import (
    And,
    Band,
    Cosine,
    Distance,
    Dot,
    Equal,
    Jaccard,
    Overlap,
    Predicate,
    SameSet,
    Subset,
    Superset,
    Where,
)

__all__ = ["brute_force_join", "matching_rows"]

How = Literal["inner", "left", "right", "full", "semi", "anti"]
Row = int | None
Pair = tuple[Row, Row]
Match = Callable[[int, int], bool]

_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_HOWS = ("inner", "left", "right", "full", "semi", "anti")
_NAN_KEY = "nan"


def brute_force_join(
    left: Any,
    right: Any,
    *,
    on: Predicate | None = None,
    window: Any = None,
    between: Any = None,
    time: str | tuple[str, str] = "ts",
    how: How = "inner",
    output: Literal["rows", "columns"] = "rows",
    time_unit: str = "us",
    suffix: str = "_right",
    admitted: tuple[Sequence[bool] | None, Sequence[bool] | None] = (None, None),
) -> pa.Table:
    """Join two tables pair by pair and return the full answer.

    The arguments mean what they mean in `watersmeet.join`. A row's place in its table is its arrival; the
    tables need not be sorted. `admitted` leaves rows out of their stream altogether, as a live join does with
    late rows. Rows come out by result timestamp, then left row, then right row; missing values last.
    """
    left_table, right_table = _as_table(left), _as_table(right)
    pairs = matching_rows(
        left_table,
        right_table,
        on=on,
        window=window,
        between=between,
        time=time,
        how=how,
        time_unit=time_unit,
        admitted=admitted,
    )
    if output == "rows":
        return _row_table(pairs, how)
    return _column_table(pairs, left_table, right_table, how=how, suffix=suffix)


def matching_rows(
    left: Any,
    right: Any,
    *,
    on: Predicate | None = None,
    window: Any = None,
    between: Any = None,
    time: str | tuple[str, str] = "ts",
    how: How = "inner",
    time_unit: str = "us",
    admitted: tuple[Sequence[bool] | None, Sequence[bool] | None] = (None, None),
) -> list[Pair]:
    """The answer of `brute_force_join` as a list of (left row, right row); None is the missing side."""
    if how not in _HOWS:
        raise ConfigError(f"how: {how!r} is unknown; allowed: {', '.join(_HOWS)}")
    left_table, right_table = _as_table(left), _as_table(right)
    left_time, right_time = (time, time) if isinstance(time, str) else time
    timeline = _Timeline.of(
        _instants(left_table, left_time, time_unit, admitted[0]),
        _instants(right_table, right_time, time_unit, admitted[1]),
    )
    inside = _window_rule(timeline, window=window, between=between)
    candidates = [
        (own, other) for own in timeline.left.rows for other in timeline.right.rows if inside(own, other)
    ]
    matched = _filter(candidates, left_table, right_table, on)
    answer = _complete(matched, timeline, how)
    return sorted(answer, key=lambda pair: _release_order(pair, timeline))


# --- time -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Instants:
    """One stream's clock: nanoseconds per row (None: a bad row) and the rows that take part."""

    nanoseconds: list[int | None]
    present: list[int]  # rows that belong to the stream, bad rows among them
    rows: list[int]  # rows that belong to the stream and have a timestamp


@dataclass(frozen=True, slots=True)
class _Timeline:
    """Both streams in processing order: by timestamp, then stream, then arrival."""

    left: _Instants
    right: _Instants
    place_of_left: dict[int, int]  # left row -> how many left rows were processed before it
    place_of_right: dict[int, int]
    left_before_right: dict[int, int]  # right row -> how many left rows were processed before it
    right_before_left: dict[int, int]

    @classmethod
    def of(cls, left: _Instants, right: _Instants) -> _Timeline:
        events = sorted(
            [(_known(left.nanoseconds[row]), 0, row) for row in left.rows]
            + [(_known(right.nanoseconds[row]), 1, row) for row in right.rows]
        )
        timeline = cls(left, right, {}, {}, {}, {})
        for _, stream, row in events:
            seen_left, seen_right = len(timeline.place_of_left), len(timeline.place_of_right)
            if stream == 0:
                timeline.place_of_left[row] = seen_left
                timeline.right_before_left[row] = seen_right
            else:
                timeline.place_of_right[row] = seen_right
                timeline.left_before_right[row] = seen_left
        return timeline


def _known(nanoseconds: int | None) -> int:
    assert nanoseconds is not None  # only rows with a timestamp are in _Instants.rows
    return nanoseconds


def _instants(table: pa.Table, column: str, time_unit: str, admitted: Sequence[bool] | None) -> _Instants:
    values = table.column(column)
    if pa.types.is_timestamp(values.type):
        scale = _NANOSECONDS[values.type.unit]
        numbers = values.cast(pa.int64()).to_pylist()
    elif pa.types.is_integer(values.type):
        scale = _NANOSECONDS[time_unit]
        numbers = values.to_pylist()
    else:
        raise ConfigError(
            f"time column {column!r}: {values.type} is no time; timestamps or integers are allowed"
        )
    nanoseconds = [None if number is None else number * scale for number in numbers]
    present = [row for row in range(len(numbers)) if admitted is None or admitted[row]]
    return _Instants(nanoseconds, present, [row for row in present if nanoseconds[row] is not None])


def _window_rule(timeline: _Timeline, *, window: Any, between: Any) -> Match:
    if (window is None) == (between is None):
        raise ConfigError("window, between: exactly one of them must be given")
    left_ns, right_ns = timeline.left.nanoseconds, timeline.right.nanoseconds
    if between is not None:
        lowest = parse_span(between[0], argument="between[0]", signed=True, rows=False).amount
        highest = parse_span(between[1], argument="between[1]", signed=True, rows=False).amount

        def inside_bounds(own: int, other: int) -> bool:
            return lowest <= _known(right_ns[other]) - _known(left_ns[own]) <= highest

        return inside_bounds
    pair = window if isinstance(window, tuple | list) else (window, window)
    left_span = parse_span(pair[0], argument="window[0]")
    right_span = parse_span(pair[1], argument="window[1]")

    def inside_windows(own: int, other: int) -> bool:
        own_ns, other_ns = _known(left_ns[own]), _known(right_ns[other])
        if own_ns <= other_ns:  # the left row was processed first: is it still in the left window?
            age_rows = timeline.left_before_right[other] - timeline.place_of_left[own]
            return _holds(left_span, age_ns=other_ns - own_ns, age_rows=age_rows)
        age_rows = timeline.right_before_left[own] - timeline.place_of_right[other]
        return _holds(right_span, age_ns=own_ns - other_ns, age_rows=age_rows)

    return inside_windows


def _holds(span: Span, *, age_ns: int, age_rows: int) -> bool:
    """Does a window of this span still hold a row of this age? The newest row has an age of one row."""
    return (age_rows if span.is_rows else age_ns) <= span.amount


# --- predicates -----------------------------------------------------------------------------------


def _filter(
    candidates: list[tuple[int, int]], left: pa.Table, right: pa.Table, on: Predicate | None
) -> list[tuple[int, int]]:
    """The candidates for which every part of the predicate holds; a user's function sees them all at once."""
    for part in _parts(on):
        if isinstance(part, Where):
            candidates = _filter_by_function(candidates, left, right, part)
        else:
            match = _match_rule(part, left, right)
            candidates = [pair for pair in candidates if match(*pair)]
    return candidates


def _parts(on: Predicate | None) -> tuple[Predicate, ...]:
    if on is None:
        return ()
    return tuple(on.parts) if isinstance(on, And) else (on,)


def _filter_by_function(
    candidates: list[tuple[int, int]], left: pa.Table, right: pa.Table, where: Where
) -> list[tuple[int, int]]:
    left_rows = pa.array([own for own, _ in candidates], pa.int64())
    right_rows = pa.array([other for _, other in candidates], pa.int64())
    verdict = where.fn(left.take(left_rows), right.take(right_rows))
    return [pair for pair, holds in zip(candidates, _plain(verdict), strict=True) if holds]


def _plain(verdict: Any) -> list[bool | None]:
    if hasattr(verdict, "to_pylist"):
        return list(verdict.to_pylist())
    return [None if holds is None else bool(holds) for holds in verdict]


def _match_rule(part: Predicate, left: pa.Table, right: pa.Table) -> Match:
    if isinstance(part, Equal):
        return _both(_keys(left, part.left), _keys(right, part.right), lambda own, other: own == other)
    if isinstance(part, Band):
        return _band_rule(part, left, right)
    if isinstance(part, Distance):
        return _both(
            left.column(part.left).to_pylist(), right.column(part.right).to_pylist(), _distance_rule(part)
        )
    if isinstance(part, Dot | Cosine):
        return _both(
            _weighted_sets(left, part.left_items, part.left_weights),
            _weighted_sets(right, part.right_items, part.right_weights),
            _dot_rule(part) if isinstance(part, Dot) else _cosine_rule(part),
        )
    rule = _set_rule(part)
    sides: Any = part  # every set predicate has a left and a right column
    return _both(_sets(left, sides.left), _sets(right, sides.right), rule)


def _both(own_values: Sequence[Any], other_values: Sequence[Any], rule: Callable[[Any, Any], bool]) -> Match:
    """Look both rows up; null on either side matches nothing."""

    def match(own: int, other: int) -> bool:
        one, two = own_values[own], other_values[other]
        return one is not None and two is not None and rule(one, two)

    return match


def _keys(table: pa.Table, columns: Iterable[str]) -> list[tuple[Hashable, ...] | None]:
    """Composite keys; a null in any part makes the key null. NaN equals NaN, and 0.0 equals -0.0."""
    parts = [[_comparable(value) for value in table.column(name).to_pylist()] for name in columns]
    return [None if any(value is None for value in key) else key for key in zip(*parts, strict=True)]


def _comparable(value: Any) -> Any:
    return _NAN_KEY if isinstance(value, float) and math.isnan(value) else value


def _sets(table: pa.Table, column: str) -> list[frozenset[Hashable] | None]:
    """Sets of a list column, or sets of one item of a plain column. Null items do not count."""
    values = table.column(column)
    if _is_list(values.type):
        return [
            None if items is None else frozenset(item for item in items if item is not None)
            for items in values.to_pylist()
        ]
    return [None if item is None else frozenset([item]) for item in values.to_pylist()]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _set_rule(part: Predicate) -> Callable[[frozenset[Hashable], frozenset[Hashable]], bool]:
    if isinstance(part, Overlap):
        return lambda own, other: len(own & other) >= part.at_least
    if isinstance(part, Subset):
        return lambda own, other: own <= other
    if isinstance(part, Superset):
        return lambda own, other: own >= other
    if isinstance(part, SameSet):
        return lambda own, other: own == other
    if isinstance(part, Jaccard):
        return lambda own, other: bool(own | other) and len(own & other) / len(own | other) >= part.at_least
    raise ConfigError(f"on: {part!r} is a predicate that brute_force_join does not know")


def _weighted_sets(
    table: pa.Table, items_column: str, weights_column: str | None
) -> list[dict[Hashable, float] | None]:
    """Weighted sets of a map column, or of two list columns. The first weight of an item counts."""
    if weights_column is None:
        return [
            None if entries is None else _first(entries) for entries in table.column(items_column).to_pylist()
        ]
    both = zip(table.column(items_column).to_pylist(), table.column(weights_column).to_pylist(), strict=True)
    return [
        None if items is None or weights is None else _first(zip(items, weights, strict=True))
        for items, weights in both
    ]


def _first(entries: Iterable[tuple[Hashable, float | None]]) -> dict[Hashable, float]:
    weights: dict[Hashable, float] = {}
    for item, weight in entries:
        if item is not None and weight is not None:
            weights.setdefault(item, float(weight))
    return weights


def _dot(own: dict[Hashable, float], other: dict[Hashable, float]) -> float:
    return math.fsum(weight * other[item] for item, weight in own.items() if item in other)


def _dot_rule(part: Dot) -> Callable[[dict[Hashable, float], dict[Hashable, float]], bool]:
    return lambda own, other: _dot(own, other) >= part.at_least


def _cosine_rule(part: Cosine) -> Callable[[dict[Hashable, float], dict[Hashable, float]], bool]:
    def holds(own: dict[Hashable, float], other: dict[Hashable, float]) -> bool:
        squared = _dot(own, own) * _dot(other, other)
        return squared > 0 and _dot(own, other) / math.sqrt(squared) >= part.at_least

    return holds


def _band_rule(part: Band, left: pa.Table, right: pa.Table) -> Match:
    own, own_scale = _numbers(left.column(part.left))
    other, other_scale = _numbers(right.column(part.right))
    within: Any = part.within
    if isinstance(within, Span):
        within = within.amount
    if own_scale == other_scale == 1:

        def close(one: Any, two: Any) -> bool:
            difference = abs(one - two)
            if isinstance(difference, float):
                return difference <= float(within)
            return Fraction(difference) <= Fraction(within)

        return _both(own, other, close)
    return _both(own, other, lambda one, two: abs(one * own_scale - two * other_scale) <= within)


def _numbers(column: pa.ChunkedArray) -> tuple[list[Any], int]:
    """A column's numbers and, for a timestamp column, how many nanoseconds one of them stands for."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist(), _NANOSECONDS[column.type.unit]
    return column.to_pylist(), 1


def _distance_rule(part: Distance) -> Callable[[Any, Any], bool]:
    measure = _DISTANCES[part.metric]

    def holds(own: Any, other: Any) -> bool:
        distance = measure(list(own), list(other))
        return distance is not None and distance <= part.at_most

    return holds


def _mean_abs(own: list[float], other: list[float]) -> float:
    return math.fsum(abs(one - two) for one, two in zip(own, other, strict=True)) / len(own)


def _l2(own: list[float], other: list[float]) -> float:
    return math.sqrt(math.fsum((one - two) ** 2 for one, two in zip(own, other, strict=True)))


def _cosine_distance(own: list[float], other: list[float]) -> float | None:
    squared = math.fsum(one * one for one in own) * math.fsum(two * two for two in other)
    if squared == 0:
        return None
    return 1 - math.fsum(one * two for one, two in zip(own, other, strict=True)) / math.sqrt(squared)


def _hamming(own: list[int], other: list[int]) -> float:
    return float(sum((one ^ two).bit_count() for one, two in zip(own, other, strict=True)))


_DISTANCES: dict[str, Callable[[list[Any], list[Any]], float | None]] = {
    "mean-abs": _mean_abs,
    "l2": _l2,
    "cosine": _cosine_distance,
    "hamming": _hamming,
}


# --- answer ---------------------------------------------------------------------------------------


def _complete(matched: list[tuple[int, int]], timeline: _Timeline, how: How) -> list[Pair]:
    """Add or keep the rows that `how` asks for. A bad row has no partner, so it counts as unmatched."""
    left_matched = {own for own, _ in matched}
    right_matched = {other for _, other in matched}
    left_alone: list[Pair] = [(row, None) for row in timeline.left.present if row not in left_matched]
    right_alone: list[Pair] = [(None, row) for row in timeline.right.present if row not in right_matched]
    pairs: list[Pair] = list(matched)
    match how:
        case "inner":
            return pairs
        case "left":
            return pairs + left_alone
        case "right":
            return pairs + right_alone
        case "full":
            return pairs + left_alone + right_alone
        case "semi":
            return [(row, None) for row in left_matched]
        case "anti":
            return left_alone


def _release_order(pair: Pair, timeline: _Timeline) -> tuple[float, int, float, float]:
    own, other = pair
    times = [
        nanoseconds
        for row, stream in ((own, timeline.left), (other, timeline.right))
        if row is not None and (nanoseconds := stream.nanoseconds[row]) is not None
    ]
    unknown = math.inf
    return (
        0 if times else 1,
        max(times, default=0),
        unknown if own is None else own,
        unknown if other is None else other,
    )


def _row_table(pairs: list[Pair], how: How) -> pa.Table:
    left_rows = pa.array([own for own, _ in pairs], pa.int64())
    if how in ("semi", "anti"):
        return pa.table({"left_row": left_rows})
    return pa.table({"left_row": left_rows, "right_row": pa.array([other for _, other in pairs], pa.int64())})


def _column_table(pairs: list[Pair], left: pa.Table, right: pa.Table, *, how: How, suffix: str) -> pa.Table:
    taken = left.take(pa.array([own for own, _ in pairs], pa.int64()))
    if how in ("semi", "anti"):
        return taken
    right_taken = right.take(pa.array([other for _, other in pairs], pa.int64()))
    for name, column in zip(right.column_names, right_taken.columns, strict=True):
        taken = taken.append_column(name + suffix if name in left.column_names else name, column)
    return taken


def _as_table(source: Any) -> pa.Table:
    """Arrow columns of layouts that pyarrow can gather rows of: views and runs are written out."""
    table = source if isinstance(source, pa.Table) else pa.table(source)
    kinds = [_gatherable(kind) for kind in table.schema.types]
    if kinds == table.schema.types:
        return table
    return pa.table(
        {
            name: _decoded(column).cast(kind)
            for name, column, kind in zip(table.column_names, table.columns, kinds, strict=True)
        }
    )


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_run_end_encoded(column.type):
        return column
    return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)


def _gatherable(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_run_end_encoded(kind):
        return _gatherable(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.list_(_gatherable(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_gatherable(kind.value_type))
    return kind
