"""wm.join: two whole tables in, their windowed join out, in order.

The tables go through the same engine as live streams, in chunks, the side that is behind in time first, so
that windows stay small. Tables that are not sorted are read through a permutation, which keeps ties in place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet._core import _native
from watersmeet.errors import ConfigError, SchemaError
from watersmeet.join.columns.block_columns import taken
from watersmeet.join.columns.inputs import as_batch, as_table
from watersmeet.join.columns.late import kept_schema
from watersmeet.join.columns.layouts import plain_type, rewritten
from watersmeet.join.columns.payload import Rows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.two_way.config import How, Index, JoinConfig, Output, checked_config, pair_of
from watersmeet.join.two_way.engine import Engine
from watersmeet.join.two_way.results import output_schema, row_schema, row_table
from watersmeet.vocabulary import Predicate, SpanLike, Stream, TimeUnit, Where

__all__ = ["join"]

_CHUNK_ROWS = 1 << 16


def join(
    left: Any,
    right: Any,
    *,
    on: Predicate | None = None,
    window: SpanLike | tuple[SpanLike, SpanLike] | None = None,
    between: tuple[SpanLike, SpanLike] | None = None,
    time: str | tuple[str, str] = "ts",
    how: How = "inner",
    output: Output = "columns",
    time_unit: TimeUnit = "us",
    suffix: str = "_right",
    index: Index | tuple[Index, Index] = "auto",
    merge: Literal["auto", "heap", "count", "bitmap"] = "auto",
    expiry: Literal["active", "lazy"] = "active",
    basic_window: SpanLike | None = None,
    threads: int = 1,
) -> pa.Table:
    """Join two tables on a predicate, inside a window of time or rows.

    left, right   pyarrow, anything with the Arrow PyCapsule interface, pandas, or a dict of NumPy arrays
    window        one for both sides or (left, right): "10s", a timedelta, seconds, or "5000i" rows
    between       instead: (lowest, highest) of ts_right - ts_left, inclusive
    time          the time column, or (left, right): timestamps, or integers in `time_unit`
    output        "columns" of both sides, or "rows": row numbers in the two tables

    The other arguments are those of WindowJoin. Results are ordered by result time (the later of the pair's
    two), then left row, then right row; the tables need not be sorted.
    """
    if (window is None) == (between is None):
        raise ConfigError(f"window={window!r}, between={between!r}: expected exactly one of them")
    times, windows = pair_of(time, argument="time"), pair_of(window, argument="window")
    streams = [
        Stream(name, time=times[side], window=windows[side], time_unit=time_unit)
        for side, name in enumerate(("left", "right"))
    ]
    config = checked_config(
        *streams,
        on=on,
        how=how,
        output=output,
        suffix=suffix,
        between=between,
        basic_window=basic_window,
        order=None,
        index=index,
        merge=merge,
        expiry=expiry,
        seed=0,
        threads=threads,
    )
    tables = [as_table(source, about=name) for source, name in ((left, "left"), (right, "right"))]
    return _join(config, (tables[0], tables[1]))


def _join(config: JoinConfig, tables: tuple[pa.Table, pa.Table]) -> pa.Table:
    columns = (config.columns(0), config.columns(1))
    for stream, table, needed in zip(config.streams, tables, columns, strict=True):
        StreamSchema(stream, table.schema, needed=needed)
    shown = [_shown(table) if config.output == "columns" else None for table in tables]
    schema = row_schema(config.how)
    if shown[0] is not None and shown[1] is not None:
        schema = output_schema(config, shown[0].schema, shown[1].schema)
    whole = any(isinstance(leaf, Where) for leaf in config.leaves)  # a function may look at any column
    left, right = (
        _Side.of(table if whole else table.select(_unique(stream.time, *needed)), stream)
        for stream, table, needed in zip(config.streams, tables, columns, strict=True)
    )
    # The core can give results in order, unless rows have other numbers there or come out when they expire.
    in_order = config.how == "inner" and left.order is None and right.order is None
    engine = Engine(replace(config, output="rows", order="filter-order" if in_order else None))
    rows = _run(engine, (left, right))
    if not in_order:
        rows = _ordered(rows, _instants(engine, (left, right)))
    if shown[0] is None or shown[1] is None:
        return row_table(schema, rows, _native.Outbox())
    return _gathered(schema, (shown[0], shown[1]), rows)


@dataclass(frozen=True, slots=True)
class _Side:
    """One table on its way through the engine."""

    batch: pa.RecordBatch  # the columns that the engine needs, sorted by time
    times: npt.NDArray[np.int64]  # of the table's own rows, in their own unit; 0 where there is none
    has_time: npt.NDArray[np.bool_] | None  # None: every row has one
    order: Rows | None  # the table's row at each place of the batch; None: as they are

    @classmethod
    def of(cls, table: pa.Table, stream: Stream) -> _Side:
        batch = as_batch(_shown(table), about=stream.name)
        about = f"stream {stream.name!r}: time column {stream.time!r}"
        column = _time_numbers(batch.column(stream.time), about)
        has_time = None if column.null_count == 0 else np.asarray(column.is_valid())
        times = np.asarray(column.fill_null(0))
        order = _sorting(times, has_time)
        if order is not None:
            batch = batch.take(pa.array(order))
        return cls(batch, times, has_time, order)

    def table_rows(self, rows: Rows) -> Rows:
        """The table's rows for rows as they were pushed; -1 stays."""
        return rows if self.order is None else np.where(rows < 0, -1, self.order[rows])

    def chunk_ends(self) -> list[int]:
        """The latest time up to the end of each chunk, as far as times tell."""
        times = self.times if self.order is None else self.times[self.order]
        starts = range(0, len(times), _CHUNK_ROWS)
        highest = [int(times[start : start + _CHUNK_ROWS].max()) for start in starts]
        return list(accumulate(highest, max))


def _unique(*names: str) -> list[str]:
    return list(dict.fromkeys(names))


def _shown(table: pa.Table) -> pa.Table:
    """The table in one chunk, and in layouts of which rows can be gathered."""
    schema = kept_schema(table.schema.remove_metadata())
    if schema.types != table.schema.types:
        columns = [
            pa.chunked_array([rewritten(chunk, kind) for chunk in column.chunks], kind)
            for column, kind in zip(table.columns, schema.types, strict=True)
        ]
        table = pa.Table.from_arrays(columns, schema=schema)
    return table.combine_chunks()


def _time_numbers(column: pa.Array, about: str) -> pa.Array:
    try:
        return rewritten(column, plain_type(column.type)).cast(pa.int64())
    except pa.ArrowException as error:
        raise SchemaError(f"{about}: {str(error).splitlines()[0]}") from error


def _sorting(times: npt.NDArray[np.int64], has_time: npt.NDArray[np.bool_] | None) -> Rows | None:
    """The stable order by time, rows without a time last; None where the times are in order already."""
    known = times if has_time is None else times[has_time]
    if np.all(known[1:] >= known[:-1]):
        return None
    return np.argsort(times, kind="stable") if has_time is None else np.lexsort((times, ~has_time))


def _run(engine: Engine, sides: tuple[_Side, _Side]) -> tuple[Rows, Rows]:
    """Push both sides to their ends; returns the rows of every result, in the tables' numbers."""
    for place, side in enumerate(sides):
        engine.push_rows(
            place, side.batch.slice(0, 0)
        )  # declares its types: the plan is final from the start
    found: tuple[list[Rows], list[Rows]] = ([], [])
    for place, start in _turns(engine, sides):
        out = engine.push_rows(place, sides[place].batch.slice(start, _CHUNK_ROWS))
        engine.trim()
        for rows, more in zip(found, out, strict=True):
            rows.append(more)
    for rows, more in zip(found, engine.finish_rows(), strict=True):
        rows.append(more)
    left, right = (own.table_rows(np.concatenate(rows)) for own, rows in zip(sides, found, strict=True))
    return left, right


def _turns(engine: Engine, sides: tuple[_Side, _Side]) -> list[tuple[int, int]]:
    """(side, first row) of every chunk of both sides, the one that ends first before the other."""
    multipliers = _multipliers(engine)
    chunks = [
        (end * multipliers[place], place, number)
        for place, side in enumerate(sides)
        for number, end in enumerate(side.chunk_ends())
    ]
    return [(place, number * _CHUNK_ROWS) for _, place, number in sorted(chunks)]


def _multipliers(engine: Engine) -> tuple[int, int]:
    """How many of the join's units one step of each time column is."""
    assert engine.setup.plan is not None  # both schemas have been declared
    return engine.setup.plan.multipliers


def _instants(engine: Engine, sides: tuple[_Side, _Side]) -> tuple[_Side, _Side]:
    """Both sides with their times in the join's unit."""
    left, right = (
        replace(side, times=side.times * step) for side, step in zip(sides, _multipliers(engine), strict=True)
    )
    return left, right


def _ordered(rows: tuple[Rows, Rows], sides: tuple[_Side, _Side]) -> tuple[Rows, Rows]:
    """By result time, then left row, then right row; what is missing comes last."""
    lowest = np.iinfo(np.int64).min
    latest = np.full(len(rows[0]), lowest)
    timeless = np.ones(len(rows[0]), np.bool_)
    for own, side in zip(rows, sides, strict=True):
        present = own >= 0
        if side.has_time is not None:
            present[present] = side.has_time[own[present]]
        latest[present] = np.maximum(latest[present], side.times[own[present]])
        timeless &= ~present
    keys = [np.where(own < 0, np.iinfo(np.int64).max, own) for own in rows]
    order = np.lexsort((keys[1], keys[0], latest, timeless))
    return rows[0][order], rows[1][order]


def _gathered(schema: pa.Schema, tables: tuple[pa.Table, pa.Table], rows: tuple[Rows, Rows]) -> pa.Table:
    columns: list[Any] = []
    for table, own in zip(tables, rows, strict=True):
        if len(columns) < len(schema):  # semi and anti joins have the left columns only
            chosen = pa.array(own, mask=own < 0) if len(own) and own.min() < 0 else pa.array(own)
            columns += [_picked(column, chosen) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=schema)


def _picked(column: pa.ChunkedArray, chosen: pa.Array) -> Any:
    if column.num_chunks == 0:
        return pa.nulls(len(chosen), column.type)
    if column.num_chunks > 1:  # more bytes than one array holds
        return column.take(chosen)
    pieces = taken(column.chunk(0), chosen)
    return pieces[0] if len(pieces) == 1 else pa.chunked_array(pieces)
