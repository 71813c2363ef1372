"""Payload columns of any other type: Arrow blocks of consecutive rows.

Small blocks are merged as they pile up, so that a gather touches few; not those of wide rows, which cost more
to copy than a gather saves. A gather sorts the rows asked for by
block, takes from each block once, and puts the values back in the order asked for. Vectors of rows one after
the other are not copied at all; that of one row many times, as a probing row is asked for, is kept at hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.join.columns.layouts import can_share, shared

__all__ = ["BlockColumns", "taken"]

_MOST_ROWS = 1 << 17  # of a merged block: what has left the window can then be given back in pieces
_MOST_BYTES = 1 << 28
_MOST_REPEATED_BYTES = 1 << 22
_WIDE_BYTES = 1 << 19  # of a block whose rows are so wide that it stays as it is,
_WIDE_ASKED_BYTES = 1 << 21  # also where functions ask for stretches of rows, which end with a block
_WIDE_ROW_BYTES = 1 << 11


@dataclass(frozen=True, slots=True)
class _Block:
    first: int
    rows: int
    columns: tuple[pa.Array, ...]
    bytes: int

    def is_wide(self, least_bytes: int) -> bool:
        """Whether copying it costs more than a gather that touches one block more."""
        return self.bytes >= max(least_bytes, self.rows * _WIDE_ROW_BYTES)


@dataclass(frozen=True, slots=True)
class _Repeated:
    row: int
    count: int
    columns: tuple[Any, ...]


class BlockColumns:
    """Rows of some columns, in blocks by first row."""

    def __init__(
        self, schema: pa.Schema, first: int, *, most_bytes: int | None = None, asked: bool = False
    ) -> None:
        """`most_bytes`, of a block: under a memory limit, where buffers shared with others are copied too.
        `asked`: functions will ask for stretches of rows.
        """
        self._wide_bytes = _WIDE_ASKED_BYTES if asked else _WIDE_BYTES
        self._kinds = schema.types
        self._shares = all(can_share(kind) for kind in schema.types)
        self._end = first
        self._blocks: list[_Block] = []
        self._most_bytes = _MOST_BYTES if most_bytes is None else most_bytes
        self._is_limited = most_bytes is not None
        self._repeated: _Repeated | None = None
        self._copied: dict[int, npt.NDArray[np.uint8]] = {}  # by column, what _repeated's were written to

    @property
    def bytes(self) -> int:
        """Memory held by the blocks."""
        repeated = 0 if self._repeated is None else _bytes(self._repeated.columns)
        return sum(block.bytes for block in self._blocks) + repeated

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """The first row of each block."""
        return np.array([block.first for block in self._blocks], np.int64)

    def append(self, columns: Sequence[pa.Array], rows: int) -> None:
        """Add the next rows as a block."""
        if rows:
            if self._is_limited:
                columns = [_owned(column) for column in columns]
            self._blocks.append(_Block(self._end, rows, tuple(columns), _bytes(columns)))
            self._end += rows

    def truncate(self, end: int) -> None:
        """Forget the rows from `end` on. Requires: a block begins there, or nothing does."""
        while self._blocks and self._blocks[-1].first >= end:
            self._blocks.pop()
        self._end = end
        self._repeated = None  # another row may get its number

    def settle(self) -> None:
        """Merge small blocks at the end: each block stays at least twice the size of the next.

        Without memory to merge them they stay as they are: it saves time, and changes nothing.
        """
        blocks = self._blocks
        while (
            len(blocks) > 1
            and blocks[-2].rows < 2 * blocks[-1].rows
            and not (blocks[-2].is_wide(self._wide_bytes) and blocks[-1].is_wide(self._wide_bytes))
            and self._may_merge(blocks[-2], blocks[-1])
        ):
            before, last = blocks[-2:]
            try:
                columns = [pa.concat_arrays(pair) for pair in zip(before.columns, last.columns, strict=True)]
            except MemoryError:
                return
            blocks[-2:] = [_Block(before.first, before.rows + last.rows, tuple(columns), _bytes(columns))]

    def _may_merge(self, one: _Block, two: _Block) -> bool:
        return one.rows + two.rows <= _MOST_ROWS and one.bytes + two.bytes <= self._most_bytes

    def drop_before(self, row: int) -> None:
        """Give back the blocks that lie before this row."""
        gone = 0
        while gone < len(self._blocks) and self._blocks[gone].first + self._blocks[gone].rows <= row:
            gone += 1
        if gone:
            del self._blocks[:gone]
        if self._repeated is not None and self._repeated.row < row:
            self._repeated = None

    def gather(self, rows: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_] | None) -> list[Any]:
        """The columns of these rows; null where `missing`."""
        present = rows if missing is None else rows[~missing]
        if len(present) == 0:
            return [pa.nulls(len(rows), kind) for kind in self._kinds]
        if missing is None and self._shares:
            at_hand = self._at_hand(rows)
            if at_hand is not None:
                return at_hand
        parts, order = self._parts(present)
        back = _back(order, len(rows), missing)
        return [_in_order(self._take(parts, place), back) for place in range(len(self._kinds))]

    def _at_hand(self, rows: npt.NDArray[np.int64]) -> list[pa.Array] | None:
        first, last, count = int(rows[0]), int(rows[-1]), len(rows)
        if last - first == count - 1 and bool((rows[1:] - rows[:-1] == 1).all()):
            return self._stretch(first, count)
        if first == last and bool((rows == first).all()):
            return self._same(first, count)
        return None

    def _stretch(self, first: int, count: int) -> list[pa.Array] | None:
        """The columns of rows one after the other, without a copy; None where that cannot be."""
        block = next(block for block in self._blocks if first < block.first + block.rows)
        if first + count > block.first + block.rows:
            return None
        return _all(shared(column, first - block.first, count) for column in block.columns)

    def _same(self, row: int, count: int) -> list[pa.Array] | None:
        """The columns of one row, so many times; None where it cannot be kept at hand."""
        kept = self._repeated
        if kept is None or kept.row != row or kept.count < count:
            block = next(block for block in self._blocks if row < block.first + block.rows)
            most = _MOST_REPEATED_BYTES // max(1, block.bytes // block.rows)
            if count > most:
                return None
            # The next stretch may be as long as those before.
            times = count if kept is None else min(most, max(count, kept.count))
            kept = self._repeated = None  # nobody but a caller may hold what is written anew
            columns = enumerate(block.columns)
            at = row - block.first
            kept = _Repeated(row, times, tuple(self._copies(n, column, at, times) for n, column in columns))
            self._repeated = kept
        return _all(shared(column, 0, count) for column in kept.columns)

    def _copies(self, place: int, column: pa.Array, row: int, times: int) -> pa.Array:
        """A row so many times, where the last were if nobody kept those: fresh memory costs more."""
        kind = column.type
        if not pa.types.is_fixed_size_binary(kind) or column.null_count or not kind.byte_width:
            return column.take(pa.array(np.full(times, row)))
        width = kind.byte_width
        first = (column.offset + row) * width
        value = np.frombuffer(column.buffers()[1], np.uint8, count=width, offset=first)
        copies = self._copied.pop(place, None)
        # Arrow's buffers, and arrays made of them, hold a reference: here are two, the name's and the call's.
        if copies is None or len(copies) != times or sys.getrefcount(copies) > 2:
            copies = np.empty((times, width), np.uint8)
        copies[:] = value
        self._copied[place] = copies
        return pa.FixedSizeBinaryArray.from_buffers(kind, times, [None, pa.py_buffer(copies)])

    def _parts(
        self, rows: npt.NDArray[np.int64]
    ) -> tuple[list[tuple[_Block, npt.NDArray[np.int64]]], npt.NDArray[np.int64] | None]:
        """Which rows to take from which block, and the order that sorts the rows by block (None: as is)."""
        blocks = self._blocks
        low, high = int(rows.min()), int(rows.max())
        one = next(block for block in blocks if low < block.first + block.rows)
        if high < one.first + one.rows:
            return [(one, rows - one.first)], None
        firsts = self.starts
        kind = np.int16 if len(blocks) < 1 << 15 else np.int64  # int16: a radix sort
        which = (np.searchsorted(firsts, rows, side="right") - 1).astype(kind)
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(len(blocks)), side="right")
        parts, begin = [], 0
        for block, end in zip(blocks, ends.tolist(), strict=True):
            if end > begin:
                parts.append((block, rows[order[begin:end]] - block.first))
            begin = end
        return parts, order

    @staticmethod
    def _take(parts: list[tuple[_Block, npt.NDArray[np.int64]]], place: int) -> list[pa.Array]:
        return [array for block, rows in parts for array in taken(block.columns[place], pa.array(rows))]


def taken(column: pa.Array, rows: pa.Array) -> list[pa.Array]:
    """column.take(rows), in pieces where the values are too many bytes for one Arrow array."""
    try:
        return [column.take(rows)]
    except pa.ArrowException:
        if len(rows) < 2:
            raise
        middle = len(rows) // 2
        return taken(column, rows.slice(0, middle)) + taken(column, rows.slice(middle))


def _all(columns: Iterable[pa.Array | None]) -> list[pa.Array] | None:
    found = []
    for column in columns:
        if column is None:
            return None
        found.append(column)
    return found


def _back(
    order: npt.NDArray[np.int64] | None, count: int, missing: npt.NDArray[np.bool_] | None
) -> pa.Array | None:
    """Where each row asked for is among the rows taken; None: they are in order already."""
    if order is None and missing is None:
        return None
    taken = count if missing is None else count - int(missing.sum())
    places = np.arange(taken)
    if order is not None:
        places = np.empty(taken, np.int64)
        places[order] = np.arange(taken)
    if missing is None:
        return pa.array(places)
    every = np.zeros(count, np.int64)
    every[~missing] = places
    return pa.array(every, mask=missing)


def _in_order(pieces: list[pa.Array], back: pa.Array | None) -> Any:
    if back is None:
        return pieces[0] if len(pieces) == 1 else pa.chunked_array(pieces)
    try:
        whole = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
    except pa.ArrowException:  # too many bytes for one array
        whole = pa.chunked_array(pieces)
    return whole.take(back)


def _owned(column: pa.Array) -> pa.Array:
    """The column in buffers that hold little else; a slice would keep all that it was cut from."""
    if column.get_total_buffer_size() <= column.nbytes + column.nbytes // 4 + 1024:
        return column
    return pa.concat_arrays([column, column.slice(0, 0)])


def _bytes(columns: Sequence[pa.Array]) -> int:
    return sum(column.nbytes for column in columns)
