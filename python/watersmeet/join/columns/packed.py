"""Rows for compiled functions: the columns they name, side by side as a C struct, in one fixed-size binary.

| column                                   | member of the struct        |
|------------------------------------------|-----------------------------|
| boolean                                  | uint8_t, 0 or 1             |
| integers, float, double                  | the C type of that width    |
| date, time, timestamp, duration          | int32_t or int64_t, as stored |
| fixed-size binary of n bytes             | uint8_t[n]                  |
| fixed-size list of n numbers             | the number's type, [n]      |

A row with a null in any of them, or in an element of a list, matches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.errors import SchemaError
from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.layouts import plain_type, rewritten
from watersmeet.join.columns.term import About, TermPlan
from watersmeet.vocabulary import Compiled

__all__ = ["PackedHandover", "compiled_term", "struct_type"]

_ALLOWED = "fixed-size values: booleans, numbers, times, fixed-size binary or fixed-size lists of numbers"


@dataclass(frozen=True, slots=True)
class PackedHandover(Handover):
    """Several columns on their way to the core as one."""

    names: tuple[str, ...] = ()
    members: tuple[pa.DataType, ...] = ()
    width: int = 0

    @property
    def is_direct(self) -> bool:
        """One binary column of the right width goes as it is."""
        return len(self.names) == 1 and bool(self.kind == self.target)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it takes."""
        return self.names

    def of_batch(self, batch: pa.RecordBatch, *, about: str) -> pa.Array:
        """The structs of the batch's rows."""
        if self.is_direct:
            return batch.column(self.names[0])
        rows = np.zeros(batch.num_rows, _padded(struct_type(self.names, self.members), self.width))
        known = np.ones(batch.num_rows, np.bool_)
        for name, kind in zip(self.names, self.members, strict=True):
            try:
                values = rewritten(batch.column(name), kind)
            except pa.ArrowException as error:
                raise SchemaError(f"{about}: column {name!r}: {str(error).splitlines()[0]}") from error
            known &= np.asarray(values.is_valid())
            rows[name] = _values(values, known)
        data = pa.py_buffer(rows.view(np.uint8).reshape(-1))
        null = None if known.all() else pa.array(known).buffers()[1]
        return pa.Array.from_buffers(self.target, batch.num_rows, [null, data])


def compiled_term(leaf: Compiled, about: About) -> TermPlan:
    """The core's term for a compiled function; SchemaError if a column's values have no fixed size."""
    widths = []
    for side in (0, 1):
        members = [plain_type(kind) for kind in about.kinds[side]]
        for place, kind in enumerate(members):
            if _member(kind) is None:
                raise about.refusal(side, place, _ALLOWED)
        widths.append(struct_type(about.columns[side], tuple(members)).itemsize)
    width = max(widths)
    handovers = [
        PackedHandover(
            about.columns[side][0],
            about.kinds[side][0],
            pa.binary(width),
            names=about.columns[side],
            members=tuple(plain_type(kind) for kind in about.kinds[side]),
            width=width,
        )
        for side in (0, 1)
    ]
    return TermPlan(
        "compiled",
        "word",
        str(leaf),
        ((handovers[0],), (handovers[1],)),
        width=width,
        function=(leaf.address, leaf.user_data, leaf.swapped),
    )


def struct_type(names: tuple[str, ...], members: tuple[pa.DataType, ...]) -> np.dtype[np.void]:
    """The struct that a C compiler would lay out."""
    fields = [(name, *_known(kind)) for name, kind in zip(names, members, strict=True)]
    return np.dtype(fields, align=True)


def _padded(struct: np.dtype[np.void], width: int) -> np.dtype[np.void]:
    assert struct.names is not None
    assert struct.fields is not None
    offsets = [struct.fields[name][1] for name in struct.names]
    formats = [struct.fields[name][0] for name in struct.names]
    return np.dtype({"names": struct.names, "formats": formats, "offsets": offsets, "itemsize": width})


def _known(kind: pa.DataType) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
    member = _member(kind)
    assert member is not None  # checked when the term was made
    return member


def _member(kind: pa.DataType) -> tuple[np.dtype[np.generic], tuple[int, ...]] | None:
    """The type of one member, and its shape."""
    if pa.types.is_fixed_size_binary(kind):
        return np.dtype(np.uint8), (kind.byte_width,)
    if pa.types.is_fixed_size_list(kind):
        inner = _member(kind.value_type)
        return None if inner is None or inner[1] else (inner[0], (kind.list_size,))
    if pa.types.is_boolean(kind):
        return np.dtype(np.uint8), ()
    if pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return np.dtype(kind.to_pandas_dtype()), ()
    if pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        return np.dtype(np.int32 if kind.bit_width == 32 else np.int64), ()
    return None


def _values(array: pa.Array, known: npt.NDArray[np.bool_]) -> npt.NDArray[np.generic]:
    """The column as NumPy has it; rows that hold a null are cleared from `known`."""
    kind = array.type
    if pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        data = np.frombuffer(array.buffers()[1] or b"", np.uint8, offset=array.offset * width)
        return data[: len(array) * width].reshape(len(array), width)
    if pa.types.is_fixed_size_list(kind):
        items = array.values.slice(array.offset * kind.list_size, len(array) * kind.list_size)
        if items.null_count:
            known &= np.asarray(items.is_valid()).reshape(len(array), kind.list_size).all(axis=1)
        return _numbers(items).reshape(len(array), kind.list_size)
    return _numbers(array)


def _numbers(array: pa.Array) -> npt.NDArray[np.generic]:
    if pa.types.is_boolean(array.type):
        return np.asarray(pc.fill_null(array, False)).view(np.uint8)
    member = _known(array.type)[0]
    if len(array) == 0:
        return np.empty(0, member)
    return np.frombuffer(array.buffers()[1], member, count=len(array), offset=array.offset * member.itemsize)
