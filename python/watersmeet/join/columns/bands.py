"""Bands: |left - right| <= within, exactly, for every type that has differences.

The core compares int64 with a whole width, or doubles. Integers beyond int64 and wide decimals go to it in a
rougher form that never loses a pair, and what it finds is checked again in full (exact.py).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from watersmeet.join.columns.exact import ExactBand
from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.layouts import plain_type
from watersmeet.join.columns.meeting import common_unit
from watersmeet.join.columns.term import About, TermPlan
from watersmeet.vocabulary import Band, Span

__all__ = ["band_term"]

_WIDEST: Final = 2**64 - 1
_WORD_DIGITS: Final = 18
_LARGEST_DOUBLE: Final = 1.7976931348623157e308
_NUMBERS: Final = "numbers with a number as within, or timestamps, dates, times with a span such as '2s'"


def band_term(leaf: Band, given: tuple[pa.DataType, pa.DataType], about: About) -> TermPlan:
    """The core's term for a band over columns of the types `given`; SchemaError where they have no band."""
    left, right = (plain_type(kind) for kind in given)
    if pa.types.is_null(left):
        left = right
    if pa.types.is_null(right):
        right = left
    if pa.types.is_null(left):
        left = right = pa.timestamp("ns") if isinstance(leaf.within, Span) else pa.int64()
    for side, kind in enumerate((left, right)):
        if not (_is_temporal(kind) if isinstance(leaf.within, Span) else _is_number(kind)):
            raise about.refusal(side, 0, _NUMBERS)
    if isinstance(leaf.within, Span):
        parts = _temporal(leaf.within, left, right)
    elif pa.types.is_decimal(left) or pa.types.is_decimal(right):
        parts = _decimals(leaf, left, right)
    elif pa.types.is_floating(left) or pa.types.is_floating(right):
        parts = {"coding": "real", "targets": (left, right), "within_real": _as_double(leaf.within)}
    else:
        parts = _integers(leaf, left, right)
    if parts is None:
        raise about.mismatch(0)
    targets, recoding = parts.pop("targets"), parts.pop("recoding", "as-is")
    columns = [Handover(about.columns[side][0], given[side], targets[side], recoding) for side in (0, 1)]
    return TermPlan(kind="band", label=str(leaf), columns=((columns[0],), (columns[1],)), **parts)


def _integers(leaf: Band, left: pa.DataType, right: pa.DataType) -> dict[str, Any]:
    within = min(math.floor(_exactly(leaf.within)), _WIDEST)
    wide = [pa.types.is_uint64(kind) for kind in (left, right)]
    if not any(wide):
        return {"coding": "word", "targets": (left, right), "within_integer": within}
    if all(pa.types.is_unsigned_integer(kind) for kind in (left, right)):
        targets = (pa.uint64(), pa.uint64())
        return {"coding": "word", "targets": targets, "recoding": "top-bit", "within_integer": within}
    # |a - b| <= w makes |floor(a / 2) - floor(b / 2)| <= ceil(w / 2).
    targets = tuple(pa.uint64() if is_wide else pa.int64() for is_wide in wide)
    exact = ExactBand(leaf.left, leaf.right, math.floor(_exactly(leaf.within)), 0)
    return {
        "coding": "word",
        "targets": targets,
        "recoding": "half",
        "within_integer": (within + 1) // 2,
        "exact": exact,
    }


def _decimals(leaf: Band, left: pa.DataType, right: pa.DataType) -> dict[str, Any] | None:
    if not (pa.types.is_decimal(left) and pa.types.is_decimal(right)):
        return None
    scale = max(left.scale, right.scale, 0)
    whole_digits = max(left.precision - left.scale, right.precision - right.scale, 0)
    within = math.floor(_exactly(leaf.within) * 10**scale)
    if whole_digits + scale <= _WORD_DIGITS:
        kind = pa.decimal128(_WORD_DIGITS, scale)
        return {
            "coding": "word",
            "targets": (kind, kind),
            "recoding": "unscaled",
            "within_integer": min(within, _WIDEST),
        }
    # A decimal and its nearest double differ by less than 1e-15 of it; the margin is a thousand times that.
    margin = _as_double(10**whole_digits) * 1e-12
    return {
        "coding": "real",
        "targets": (left, right),
        "recoding": "nearest",
        "within_real": min(_as_double(leaf.within) * (1 + 1e-9) + margin, _LARGEST_DOUBLE),
        "exact": ExactBand(leaf.left, leaf.right, within, scale),
    }


def _temporal(within: Span, left: pa.DataType, right: pa.DataType) -> dict[str, Any] | None:
    common = common_unit(left, right)
    if common is None:
        return None
    steps = min(within.amount // common[2], _WIDEST)
    return {"coding": "word", "targets": common[:2], "within_integer": steps}


def _exactly(within: int | float | Decimal | Span) -> Fraction:
    assert not isinstance(within, Span)  # numbers only come here
    return Fraction(within)


def _as_double(number: Any) -> float:
    """The number as a double; the largest one where it is beyond all doubles."""
    try:
        return min(float(number), _LARGEST_DOUBLE)
    except OverflowError:
        return _LARGEST_DOUBLE


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_temporal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
