"""Payload of one stream: the rows that results may still need, gathered by row number.

Values of fixed width are kept and gathered by the core; all else lives in Arrow blocks. Rows are numbered
from 0 as they are pushed. append() comes before the core sees the batch, since a user's function may ask for
its rows at once; then either commit() or rollback().
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet._core import _native
from watersmeet.errors import SchemaError
from watersmeet.join.columns.block_columns import BlockColumns
from watersmeet.join.columns.layouts import gatherable_type, rewritten

__all__ = ["PayloadStore", "Rows"]

Rows = npt.NDArray[np.int64]

_PIECES: Final = 64  # in which payload that fills a memory limit is kept
_HUGE_PAGE: Final = 1 << 21


@dataclass(frozen=True, slots=True)
class _Column:
    """One column: where it is in a batch, and what it becomes."""

    place: int
    name: str
    given: pa.DataType
    kept: pa.DataType
    width: int | None  # bytes of a value, 0 for a bit; None: in the blocks, as is what has to be rewritten


class PayloadStore:
    """Rows [first, end) of some columns of one stream."""

    def __init__(
        self,
        schema: pa.Schema,
        names: Sequence[str],
        *,
        about: str,
        first: int = 0,
        limit: int | None = None,
        asked: bool = False,
    ) -> None:
        """`limit`: the join's memory limit, which makes pieces small enough to be given back one by one.
        `asked`: functions will ask for stretches of rows.
        """
        self._about = about
        self._columns = [_column(schema, name) for name in names]
        self._given = len(schema)  # columns of a batch
        fields = [schema.field(c.place).with_type(c.kept) for c in self._columns]
        self.schema = pa.schema(fields)
        fixed: list[pa.Field] = []
        boxed: list[pa.Field] = []
        for column, field in zip(self._columns, fields, strict=True):
            (boxed if column.width is None else fixed).append(field)
        widths = [c.width for c in self._columns if c.width is not None]
        self._fixed = (
            _native.PayloadColumns(widths, first=first, chunk_bytes=_chunk(limit)) if fixed else None
        )
        self._blocks = (
            BlockColumns(
                pa.schema(boxed),
                first,
                most_bytes=None if limit is None else limit // _PIECES,
                asked=asked,
            )
            if boxed
            else None
        )
        self._fixed_schema = pa.schema(fixed)
        self._outbox = _native.Outbox()
        self._head = self._before = self._end = first  # _before: the end before the last append
        self._set_places()

    def _set_places(self) -> None:
        self._fixed_places = [c.place for c in self._columns if c.width is not None]
        self._is_whole = self._fixed_places == list(range(self._given))
        self._boxed = [c for c in self._columns if c.width is None]

    @property
    def first(self) -> int:
        """The first row still kept."""
        return self._head

    @property
    def end(self) -> int:
        """The number that the next row gets."""
        return self._end

    @property
    def bytes(self) -> int:
        """Memory held for these rows."""
        held = 0 if self._fixed is None else self._fixed.bytes
        return held + (0 if self._blocks is None else self._blocks.bytes)

    @property
    def block_starts(self) -> Rows:
        """The first rows of the blocks, out of which table() gives consecutive rows without copying them."""
        return np.empty(0, np.int64) if self._blocks is None else self._blocks.starts

    def trim(self) -> None:
        """Give back what is only kept to be used again."""
        if self._fixed is not None:
            self._fixed.trim()

    def read_from(self, schema: pa.Schema) -> None:
        """From now on batches have these columns, the kept ones among them, in another order."""
        self._columns = [replace(c, place=schema.get_field_index(c.name)) for c in self._columns]
        self._given = len(schema)
        self._set_places()

    def append(self, batch: pa.RecordBatch) -> None:
        """Take the next rows. SchemaError, and nothing is taken, if a column cannot be kept."""
        boxed = [self._readable(column, batch.column(column.place)) for column in self._boxed]
        self._take_in(None if self._fixed is None else self.fixed_of(batch), boxed, batch.num_rows)

    def refill(self, kept: pa.Table) -> None:
        """Take rows that kept() gave."""
        for batch in kept.to_batches():
            fixed = None if self._fixed is None else batch.select(self._fixed_schema.names)
            self._take_in(fixed, [batch.column(column.name) for column in self._boxed], batch.num_rows)
            self.commit()

    def _take_in(self, fixed: pa.RecordBatch | None, boxed: Sequence[pa.Array], count: int) -> None:
        self._before = self._end
        if self._fixed is not None:
            self._fixed.append(fixed)
        if self._blocks is not None:
            self._blocks.append(boxed, count)
        self._end += count

    def fixed_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of fixed width of a batch of the stream."""
        return batch if self._is_whole else batch.select(self._fixed_places)

    def took(self, count: int) -> None:
        """So many rows have been appended to `fixed` itself. Requires: is_fixed."""
        self._end += count
        self._before = self._end

    def commit(self) -> None:
        """Keep what was appended last."""
        self._before = self._end
        if self._blocks is not None:
            self._blocks.settle()

    def rollback(self) -> None:
        """Forget what was appended last and not committed."""
        if self._fixed is not None:
            self._fixed.truncate(self._before)
        if self._blocks is not None:
            self._blocks.truncate(self._before)
        self._end = self._before

    def drop_before(self, row: int) -> None:
        """Rows below this one are not needed any more."""
        if row > self._head:
            self._head = min(row, self._end)
            if self._fixed is not None:
                self._fixed.drop_before(self._head)
            if self._blocks is not None:
                self._blocks.drop_before(self._head)

    @property
    def is_fixed(self) -> bool:
        """Whether every column is of fixed width, so that gather_into() gives them all."""
        return self._blocks is None and self._fixed is not None

    @property
    def fixed(self) -> _native.PayloadColumns:
        """The columns of fixed width, where is_fixed."""
        assert self._fixed is not None
        return self._fixed

    def gather_into(self, outbox: _native.Outbox, rows: Rows, *, may_miss: bool) -> None:
        """Add the columns of fixed width to a batch on its way out."""
        if self._fixed is not None:
            self._fixed.gather(rows, outbox, may_miss=may_miss)

    def gather(self, rows: Rows, *, may_miss: bool) -> list[pa.Array | pa.ChunkedArray]:
        """The columns of these rows, in order; with `may_miss` a row of -1 is null in every column."""
        fixed: list[pa.Array] = []
        if self._fixed is not None:
            self._outbox.begin(len(rows), len(self._fixed_schema))
            self._fixed.gather(rows, self._outbox, may_miss=may_miss)
            fixed = pa.RecordBatch._import_from_c(self._outbox.address, self._fixed_schema).columns
        if self._blocks is None:
            return fixed
        missing = rows < 0 if may_miss else None
        boxed = self._blocks.gather(rows, missing if missing is not None and missing.any() else None)
        both = {True: iter(boxed), False: iter(fixed)}
        return [next(both[column.width is None]) for column in self._columns]

    def table(self, rows: Rows) -> pa.Table:
        """The rows as a table."""
        return pa.Table.from_arrays(self.gather(rows, may_miss=False), schema=self.schema)

    def kept(self) -> pa.Table:
        """All rows still kept."""
        return self.table(np.arange(self._head, self._end, dtype=np.int64))

    def _readable(self, column: _Column, array: pa.Array) -> pa.Array:
        if column.given == column.kept:
            return array
        try:
            return rewritten(array, column.kept)
        except pa.ArrowException as error:
            raise SchemaError(f"{self._about}: column {column.name!r}: {error}") from error


def _chunk(limit: int | None) -> int:
    """Bytes of a chunk of the core's; 0: its own choice."""
    if limit is None or limit // _PIECES >= _HUGE_PAGE:
        return 0
    return 1 << max(12, (limit // _PIECES).bit_length() - 1)


def _column(schema: pa.Schema, name: str) -> _Column:
    place = schema.get_field_index(name)
    given = schema.field(place).type
    kept = gatherable_type(given)
    return _Column(place, name, given, kept, _width(kept) if kept == given else None)


def _width(kind: pa.DataType) -> int | None:
    """How many bytes a value is, 0 for a bit; None where values differ in size."""
    if pa.types.is_boolean(kind):
        return 0
    return kind.bit_width // 8 if pa.types.is_primitive(kind) or pa.types.is_decimal(kind) else None
