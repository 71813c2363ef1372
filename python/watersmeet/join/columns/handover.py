"""How one column goes to the core: decoded, brought to the form in which both sides meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.join.columns.layouts import rewritten

__all__ = ["Handover", "Recoding"]

# as-is      the values of `target`
# top-bit    uint64 as int64 in the same order
# half       integers beyond int64 divided by two, rounded down: candidates, verified exactly afterwards
# unscaled   decimals of at most 18 digits as the integers they are made of
# nearest    wide decimals as the nearest doubles: candidates, verified exactly afterwards
Recoding: TypeAlias = Literal["as-is", "top-bit", "half", "unscaled", "nearest"]

_TOP_BIT = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class Handover:
    """One column of one stream on its way to the core."""

    name: str
    kind: pa.DataType  # as it comes
    target: pa.DataType
    recoding: Recoding = "as-is"

    @property
    def is_direct(self) -> bool:
        """Whether the column can go as it comes."""
        return self.recoding == "as-is" and bool(self.kind == self.target)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it takes."""
        return (self.name,)

    def of_batch(self, batch: pa.RecordBatch, *, about: str) -> pa.Array:
        """The batch's column as the core reads it."""
        return self(batch.column(self.name), about=about)

    def __call__(self, array: pa.Array, *, about: str) -> pa.Array:
        """The column as the core reads it; SchemaError for values that do not fit."""
        if self.is_direct:
            return array
        try:
            return _RECODERS[self.recoding](rewritten(array, self.target))
        except pa.ArrowException as error:
            said = str(error).splitlines()[0]
            raise SchemaError(f"{about}: column {self.name!r}: {said} (needed as {self.target})") from error


def _as_is(array: pa.Array) -> pa.Array:
    return array


def _top_bit(array: pa.Array) -> pa.Array:
    return _like(array, (_numbers(array).view(np.uint64) ^ _TOP_BIT).view(np.int64))


def _half(array: pa.Array) -> pa.Array:
    numbers = _numbers(array)
    if pa.types.is_uint64(array.type):
        return _like(array, (numbers.view(np.uint64) >> np.uint64(1)).view(np.int64))
    return _like(array, numbers >> 1)


def _unscaled(array: pa.Array) -> pa.Array:
    """The low words of 128-bit decimals, which are the whole number where it fits 64 bits."""
    words = np.frombuffer(array.buffers()[1], np.int64, count=2 * len(array), offset=16 * array.offset)
    return _like(array, np.ascontiguousarray(words[::2]))


def _nearest(array: pa.Array) -> pa.Array:
    return array.cast(pa.float64())


def _numbers(array: pa.Array) -> npt.NDArray[np.int64]:
    """The 64-bit words of an array, whatever they hold where it is null."""
    return np.frombuffer(array.buffers()[1], np.int64, count=len(array), offset=8 * array.offset)


def _like(array: pa.Array, numbers: npt.NDArray[np.int64]) -> pa.Array:
    """int64 values that are null where `array` is."""
    return pa.array(numbers, mask=np.asarray(array.is_null())) if array.null_count else pa.array(numbers)


_RECODERS = {
    "as-is": _as_is,
    "top-bit": _top_bit,
    "half": _half,
    "unscaled": _unscaled,
    "nearest": _nearest,
}
