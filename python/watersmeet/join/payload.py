"""Payload of one stream: the rows that results may still need, gathered by row number.

Values of fixed width live in growing NumPy arrays, so that a gather is one look-up per value; everything else
lives in Arrow blocks. Rows are numbered from 0 as they are pushed. append() comes before the core sees the
batch, since a user's function may ask for its rows at once; then either commit() or rollback().
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.join.block_columns import BlockColumns
from watersmeet.join.fixed_columns import FixedColumn, is_fixed
from watersmeet.join.layouts import gatherable_type, rewritten

__all__ = ["PayloadStore", "Rows"]

Rows = npt.NDArray[np.int64]

_FEWEST_ROWS = 1024


@dataclass(frozen=True, slots=True)
class _Column:
    """One column: where it is in a batch, what it becomes, and where that is kept."""

    place: int
    name: str
    given: pa.DataType
    kept: pa.DataType
    fixed: FixedColumn | None  # None: in the blocks


class PayloadStore:
    """Rows [first, end) of some columns of one stream."""

    def __init__(self, schema: pa.Schema, names: Sequence[str], *, about: str, first: int = 0) -> None:
        self._about = about
        self._columns = [_column(schema, name) for name in names]
        fields = [schema.field(c.place).with_type(c.kept) for c in self._columns]
        self.schema = pa.schema(fields)
        self._fixed = [c.fixed for c in self._columns if c.fixed is not None]
        boxed = [field for field, c in zip(fields, self._columns, strict=True) if c.fixed is None]
        self._blocks = BlockColumns(pa.schema(boxed), first) if boxed else None
        self._base = first  # the row at index 0 of the fixed columns
        self._head = first
        self._end = first
        self._before = first  # the end before the last append
        self._capacity = 0

    @property
    def first(self) -> int:
        """The first row still kept."""
        return self._head

    @property
    def bytes(self) -> int:
        """Memory held for these rows."""
        held = sum(column.width * self._capacity for column in self._fixed)
        return held + (self._blocks.bytes if self._blocks is not None else 0)

    def read_from(self, schema: pa.Schema) -> None:
        """From now on batches have these columns, the kept ones among them, in another order."""
        self._columns = [replace(c, place=schema.get_field_index(c.name)) for c in self._columns]

    def append(self, batch: pa.RecordBatch) -> None:
        """Take the next rows. SchemaError, and nothing is taken, if a column cannot be kept."""
        arrays = [self._readable(column, batch.column(column.place)) for column in self._columns]
        self._write(arrays, batch.num_rows)

    def refill(self, kept: pa.Table) -> None:
        """Take rows that kept() gave."""
        for batch in kept.to_batches():
            self._write(batch.columns, batch.num_rows)
            self.commit()

    def _write(self, arrays: Sequence[pa.Array], count: int) -> None:
        self._before = self._end
        if self._fixed and self._end - self._base + count > self._capacity:
            self._make_room(count)
        boxed = []
        place = self._end - self._base
        for column, array in zip(self._columns, arrays, strict=True):
            if column.fixed is None:
                boxed.append(array)
            else:
                column.fixed.write(place, array)
        if self._blocks is not None:
            self._blocks.append(boxed, count)
        self._end += count

    def commit(self) -> None:
        """Keep what was appended last."""
        self._before = self._end
        if self._blocks is not None:
            self._blocks.settle()

    def rollback(self) -> None:
        """Forget what was appended last and not committed."""
        if self._blocks is not None:
            self._blocks.truncate(self._before)
        self._end = self._before

    def drop_before(self, row: int) -> None:
        """Rows below this one are not needed any more."""
        if row > self._head:
            self._head = min(row, self._end)
            if self._blocks is not None:
                self._blocks.drop_before(self._head)

    def gather(self, rows: Rows, *, may_miss: bool) -> list[pa.Array | pa.ChunkedArray]:
        """The columns of these rows, in order; with `may_miss` a row of -1 is null in every column."""
        missing = None
        if may_miss:
            missing = rows < 0
            if not missing.any():
                missing = None
        index = rows - self._base
        boxed = iter(() if self._blocks is None else self._blocks.gather(rows, missing))
        return [next(boxed) if c.fixed is None else c.fixed.take(index, missing) for c in self._columns]

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

    def _make_room(self, count: int) -> None:
        """Move the rows still needed to the front of larger, or of smaller, arrays."""
        live = self._end - self._head
        self._capacity = max(2 * live + count, live + 2 * count, _FEWEST_ROWS)
        for column in self._fixed:
            column.move(self._head - self._base, live, self._capacity)
        self._base = self._head


def _column(schema: pa.Schema, name: str) -> _Column:
    place = schema.get_field_index(name)
    given = schema.field(place).type
    kept = gatherable_type(given)
    return _Column(place, name, given, kept, FixedColumn(kept) if is_fixed(kept) else None)
