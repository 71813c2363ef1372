"""One payload column of fixed width: values in a NumPy array, nulls in another once there are any."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["FixedColumn", "is_fixed"]

Places = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]


def is_fixed(kind: pa.DataType) -> bool:
    """Whether values of this type are so many bytes each, or one bit."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


class FixedColumn:
    """Values by place; the store decides which place is which row, and when to move."""

    __slots__ = ("_bits", "_dtype", "_kind", "_valid", "_values", "width")

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._bits = bool(pa.types.is_boolean(kind))
        self.width = 1 if self._bits else kind.bit_width // 8
        self._dtype = np.dtype(np.bool_ if self._bits else f"V{self.width}")
        if self.width in (1, 2, 4, 8) and not self._bits:
            self._dtype = np.dtype(f"u{self.width}")
        self._values = np.empty(0, self._dtype)
        self._valid: Truths | None = None

    def write(self, place: int, array: pa.Array) -> None:
        """Put an array's values at [place, place + its length). Requires: there is room."""
        end = place + len(array)
        validity, data = array.buffers()
        self._values[place:end] = self._read(data, array.offset, len(array))
        if validity is not None and array.null_count:
            if self._valid is None:
                self._valid = np.ones(len(self._values), np.bool_)
            self._valid[place:end] = _bits(validity, array.offset, len(array))
        elif self._valid is not None:
            self._valid[place:end] = True

    def move(self, head: int, count: int, capacity: int) -> None:
        """Keep [head, head + count) alone, at place 0 of arrays with room for `capacity`."""
        values = np.empty(capacity, self._dtype)
        values[:count] = self._values[head : head + count]
        self._values = values
        if self._valid is not None:
            old = self._valid[head : head + count]
            if old.all():
                self._valid = None
            else:
                self._valid = np.ones(capacity, np.bool_)
                self._valid[:count] = old

    def take(self, places: Places, missing: Truths | None) -> pa.Array:
        """The values at these places; null where `missing`, whatever the place."""
        if missing is not None:
            places = np.where(missing, 0, places)
            if not len(self._values):  # nothing has come yet, so everything is missing
                return pa.nulls(len(places), self._kind)
        values = self._values.take(places)
        valid = None if self._valid is None else self._valid.take(places)
        if missing is not None:
            valid = ~missing if valid is None else valid & ~missing
        return self._array(values, valid)

    def _array(self, values: npt.NDArray[np.generic], valid: Truths | None) -> pa.Array:
        data = np.packbits(values.view(np.bool_), bitorder="little") if self._bits else values
        if valid is None or valid.all():
            buffers, nulls = [None, pa.py_buffer(data)], 0
        else:
            packed = np.packbits(valid, bitorder="little")
            buffers, nulls = [pa.py_buffer(packed), pa.py_buffer(data)], -1
        return pa.Array.from_buffers(self._kind, len(values), buffers, null_count=nulls)

    def _read(self, data: pa.Buffer | None, offset: int, count: int) -> npt.NDArray[np.generic]:
        if count == 0 or data is None:
            return np.zeros(count, self._dtype)
        if self._bits:
            return _bits(data, offset, count)
        return np.frombuffer(data, self._dtype, count=count, offset=offset * self.width)


def _bits(data: pa.Buffer, offset: int, count: int) -> Truths:
    """`count` bits from bit `offset` on."""
    first = offset // 8
    whole = np.frombuffer(data, np.uint8, count=(offset + count + 7) // 8 - first, offset=first)
    bits = np.unpackbits(whole, bitorder="little")[offset - 8 * first :][:count]
    return bits.view(np.bool_)
