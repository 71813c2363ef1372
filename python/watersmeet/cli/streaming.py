"""Driving a live join from two sources, so that neither file has to fit in memory.

The source whose last time is older is read next. Both streams then advance together, windows stay as small
as the data allow, and nothing but the windows and one batch of each side is held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.cli.files import Source
from watersmeet.errors import SchemaError
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["LiveJoin", "Side", "Step", "drive"]

_STRING_TIMES: Final = (
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
)


class LiveJoin(Protocol):
    """The part of wm.WindowJoin that is used here."""

    def push(self, stream: str, batch: Any) -> pa.Table:
        """Take a batch, give the results that it releases."""
        ...

    def finish(self) -> pa.Table:
        """Give the remaining results."""
        ...


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the join: where its rows come from, and how to read their time."""

    stream: str
    source: Source
    time: str
    time_unit: str
    split: tuple[tuple[str, str], ...] = ()  # (column, separator): text columns that hold sets


@dataclass(frozen=True, slots=True)
class Step:
    """What one push took and brought; no table where it could bring nothing."""

    table: pa.Table | None
    rows: int


class _Reader:
    """Reads one side batch by batch, and remembers how far in time it has come."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._kind: pa.DataType | None = None
        self.frontier = -math.inf

    def next_batch(self) -> pa.RecordBatch | None:
        batch = next(self._side.source.batches, None)
        if batch is None:
            self.frontier = math.inf
            return None
        batch = self._with_times(_with_sets(batch, self._side))
        self.frontier = max(self.frontier, _latest(batch, self._side))
        return batch

    def _with_times(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Times written as text are read as timestamps, in the first form that fits the first batch."""
        place = batch.schema.get_field_index(self._side.time)
        if place < 0 or not _is_text(batch.schema.field(place).type):
            return batch
        column = batch.column(place)
        if self._kind is None:
            self._kind = _time_kind(column, self._side)
        try:
            return batch.set_column(place, self._side.time, column.cast(self._kind))
        except pa.ArrowInvalid as error:
            raise SchemaError(f"{self._side.source.name}: column {self._side.time!r}: {error}") from None


def drive(join: LiveJoin, sides: tuple[Side, Side]) -> Iterator[Step]:
    """Push both sources to their ends, the one that is behind first; then finish."""
    readers = {side.stream: _Reader(side) for side in sides}
    first, second = sides
    step = _push(join, first, readers[first.stream])
    # Without rows of the second side there is no result yet, nor are its columns known.
    yield Step(None, step.rows)
    yield _push(join, second, readers[second.stream])
    while True:
        behind = min(sides, key=lambda side: readers[side.stream].frontier)
        if readers[behind.stream].frontier == math.inf:
            break
        yield _push(join, behind, readers[behind.stream])
    yield Step(join.finish(), 0)


def _push(join: LiveJoin, side: Side, reader: _Reader) -> Step:
    batch = reader.next_batch()
    return Step(None, 0) if batch is None else Step(join.push(side.stream, batch), batch.num_rows)


def _with_sets(batch: pa.RecordBatch, side: Side) -> pa.RecordBatch:
    for column, separator in side.split:
        place = batch.schema.get_field_index(column)
        if place >= 0 and _is_text(batch.schema.field(place).type):
            batch = batch.set_column(place, column, pc.split_pattern(batch.column(place), separator))
    return batch


def _latest(batch: pa.RecordBatch, side: Side) -> float:
    """The batch's largest time in nanoseconds; -inf where that cannot be told, and the join will say why."""
    place = batch.schema.get_field_index(side.time)
    if place < 0:
        return -math.inf
    column = batch.column(place)
    if pa.types.is_timestamp(column.type):
        unit, column = column.type.unit, column.cast(pa.int64())
    elif pa.types.is_integer(column.type):
        unit = side.time_unit
    else:
        return -math.inf
    largest = pc.max(column).as_py()
    return -math.inf if largest is None else largest * NANOSECONDS[unit]


def _time_kind(column: pa.Array, side: Side) -> pa.DataType:
    for kind in _STRING_TIMES:
        try:
            column.cast(kind)
        except pa.ArrowInvalid:
            continue
        return kind
    raise SchemaError(
        f"{side.source.name}: column {side.time!r} holds text that is not an ISO 8601 time;"
        " expected e.g. 2026-01-31T12:00:00.5, or integers in --time-unit"
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
