"""A row that a user asks about: by its number, as it was pushed, or given as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import ConfigError
from watersmeet.join.columns.inputs import as_batch
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.two_way.engine import Engine

__all__ = ["AskedRow", "asked_row"]


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A row of one stream; the number is None for one given as it is, the batch None where it is not kept.

    The core counts only the rows that it was given; under a memory limit that may not be all.
    """

    side: int
    stream: str
    number: int | None
    core_number: int | None  # None also of a row that was not taken in
    batch: pa.RecordBatch | None
    time_ns: int | None  # nanoseconds since the epoch; None: it has none, or is not kept

    def __str__(self) -> str:
        which = "the row given" if self.number is None else f"row {self.number}"
        return f"{which} of {self.stream!r}"

    def shown(self, columns: tuple[str, ...]) -> str:
        """The values of some columns."""
        assert self.batch is not None
        return ", ".join(f"{name}={self.batch.column(name)[0].as_py()!r}" for name in columns)

    def is_null(self, columns: tuple[str, ...]) -> bool:
        """Whether one of the columns is null."""
        assert self.batch is not None
        return any(self.batch.column(name).null_count for name in columns)


def asked_row(engine: Engine, side: int, row: object, *, argument: str) -> AskedRow:
    """Read why_not()'s argument."""
    stream = engine.config.streams[side]
    if isinstance(row, int | np.integer) and not isinstance(row, bool):
        number = int(row)
        own = engine.numberings[side].own(number)
        batch = None if own is None else _kept(engine, side, own)
    else:
        number, own, batch = None, None, _given(engine, side, row, argument=argument)
    time_ns = None if batch is None else _time_ns(engine, side, batch)
    return AskedRow(side, stream.name, number, own, batch, time_ns)


def _kept(engine: Engine, side: int, row: int) -> pa.RecordBatch | None:
    store, stream = engine.setup.stores[side], engine.config.streams[side]
    if store is None or not store.first <= row < engine.pushed[side]:
        return None
    table = store.table(np.array([row], np.int64))
    if not {stream.time, *engine.config.columns(side)} <= set(table.schema.names):
        return None
    return as_batch(table, about=stream.name)


def _given(engine: Engine, side: int, row: object, *, argument: str) -> pa.RecordBatch:
    schema = engine.setup.schemas[side]
    if isinstance(row, Mapping) and not any(
        isinstance(value, np.ndarray | pa.Array) for value in row.values()
    ):
        unknown = {engine.config.streams[side].time: pa.int64()} if None in row.values() else {}
        kinds = unknown if schema is None else schema.kinds
        row = pa.table({name: pa.array([value], kinds.get(name)) for name, value in row.items()})
    batch = as_batch(row, about=argument)
    if batch.num_rows != 1:
        raise ConfigError(f"{argument}: {batch.num_rows} rows; expected one, or its number")
    StreamSchema(engine.config.streams[side], batch.schema, needed=engine.config.columns(side))
    return batch


def _time_ns(engine: Engine, side: int, batch: pa.RecordBatch) -> int | None:
    stream = engine.config.streams[side]
    column = batch.column(stream.time)
    if column.null_count:
        return None
    step_ns: Any = StreamSchema(stream, batch.schema, needed=()).time_ns
    return int(column.cast(pa.int64())[0].as_py()) * int(step_ns)
