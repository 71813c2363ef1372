"""Which types of the two sides can be compared, and in which common form.

Values are compared by value: integers of any widths, strings of any layout, decimals of any scales, times of
any units. Types whose values would need a rule of conversion (1 and 1.0, 1 and "1", text and bytes) do not
meet: the user casts one of them and so says which rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Coding", "Meeting", "common_unit", "meet"]

Coding: TypeAlias = Literal["word", "real", "bytes", "composite"]

_UNITS: Final = ("s", "ms", "us", "ns")
_DIGITS_128: Final = 38
_DIGITS_256: Final = 76


@dataclass(frozen=True, slots=True)
class Meeting:
    """How two types meet: the form that either is brought to, and how the core codes their values."""

    coding: Coding
    targets: tuple[pa.DataType, pa.DataType]


def meet(left: pa.DataType, right: pa.DataType) -> Meeting | None:
    """How values of two plain types are compared for equality; None if they are not."""
    if pa.types.is_null(left):
        left = right
    if pa.types.is_null(right):
        right = left
    if pa.types.is_null(left):
        return Meeting("word", (left, right))
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return Meeting("composite" if _wraps(left, right) else "word", (left, right))
    if pa.types.is_floating(left) and pa.types.is_floating(right):
        return Meeting("real", (left, right))
    if (_is_text(left) and _is_text(right)) or (_is_binary(left) and _is_binary(right)):
        return Meeting("bytes", (left, right))
    if pa.types.is_boolean(left) and pa.types.is_boolean(right):
        return Meeting("word", (left, right))
    if pa.types.is_decimal(left) and pa.types.is_decimal(right):
        return _decimals(left, right)
    return _times(left, right)


def common_unit(left: pa.DataType, right: pa.DataType) -> tuple[pa.DataType, pa.DataType, int] | None:
    """Two temporal types in their finer unit, and the nanoseconds of that unit; None if they do not meet."""
    if pa.types.is_date(left) and pa.types.is_date(right):
        if pa.types.is_date32(left) and pa.types.is_date32(right):
            return left, right, NANOSECONDS["d"]
        return pa.date64(), pa.date64(), NANOSECONDS["ms"]
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right):
        unit = _finer(left, right)
        if (left.tz is None) != (right.tz is None):
            return None
        return pa.timestamp(unit, left.tz), pa.timestamp(unit, right.tz), NANOSECONDS[unit]
    if pa.types.is_duration(left) and pa.types.is_duration(right):
        unit = _finer(left, right)
        return pa.duration(unit), pa.duration(unit), NANOSECONDS[unit]
    if pa.types.is_time(left) and pa.types.is_time(right):
        unit = _finer(left, right)
        kind = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        return kind, kind, NANOSECONDS[unit]
    return None


def _times(left: pa.DataType, right: pa.DataType) -> Meeting | None:
    common = common_unit(left, right)
    return None if common is None else Meeting("word", common[:2])


def _finer(left: pa.DataType, right: pa.DataType) -> str:
    return str(max(left.unit, right.unit, key=_UNITS.index))


def _wraps(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether one side has values that look like negative ones of the other: uint64 against signed."""
    return any(
        pa.types.is_uint64(one) and pa.types.is_signed_integer(two)
        for one, two in ((left, right), (right, left))
    )


def _decimals(left: pa.DataType, right: pa.DataType) -> Meeting | None:
    """Decimals of one scale and width have equal bytes if and only if they are equal."""
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale
    if digits <= _DIGITS_128:
        kind = pa.decimal128(_DIGITS_128, scale)
    elif digits <= _DIGITS_256:
        kind = pa.decimal256(_DIGITS_256, scale)
    else:
        return None
    return Meeting("bytes", (kind, kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    )
