"""Distances between vectors of one width: fixed-size binaries and fixed-size lists of numbers.

The core compares bytes, floats or doubles by value, and words bit by bit; both sides go to it as the same.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.layouts import plain_type
from watersmeet.join.columns.term import About, TermPlan
from watersmeet.vocabulary import Distance

__all__ = ["distance_term", "has_native_vectors"]

_VECTORS: Final = (
    "vectors of one length: fixed-size binary, or fixed-size lists of numbers (cast other lists)"
)
_BITS: Final = "whole numbers, whose bits it counts: fixed-size binary, or fixed-size lists of integers"


def has_native_vectors(given: tuple[pa.DataType, pa.DataType]) -> bool:
    """Whether the core can compare columns of these types, of one width each, by value or by bits."""
    return all(_width(plain_type(kind)) is not None for kind in given)


def distance_term(leaf: Distance, given: tuple[pa.DataType, pa.DataType], about: About) -> TermPlan:
    """The core's term for a distance over columns of these types; SchemaError if they are no vectors."""
    kinds = (plain_type(given[0]), plain_type(given[1]))
    for side, kind in enumerate(kinds):
        if _width(kind) is None:
            raise about.refusal(side, 0, _VECTORS)
        if leaf.metric == "hamming" and not _is_whole(kind):
            raise about.refusal(side, 0, _BITS)
    element = _element(leaf, kinds)
    binaries = any(pa.types.is_fixed_size_binary(kind) for kind in kinds)
    if _width(kinds[0]) != _width(kinds[1]) or (binaries and element != "byte"):
        raise about.mismatch(0)
    columns = [Handover(about.columns[side][0], given[side], kinds[side]) for side in (0, 1)]
    return TermPlan(
        "distance",
        "word",
        str(leaf),
        ((columns[0],), (columns[1],)),
        metric=leaf.metric,
        at_most=leaf.at_most,
        element=element,
        width=_width(kinds[0]) or 0,
    )


def _element(leaf: Distance, kinds: tuple[pa.DataType, pa.DataType]) -> str:
    if all(_is_bytes(kind) for kind in kinds):
        return "byte"
    if leaf.metric == "hamming":
        return "word"
    floats = all(_is_list(kind) and pa.types.is_float32(kind.value_type) for kind in kinds)
    return "float" if floats else "real"


def _width(kind: pa.DataType) -> int | None:
    """Elements per vector; None if the type does not say, or if it is none of vectors."""
    if pa.types.is_fixed_size_binary(kind):
        return int(kind.byte_width)
    if not _is_list(kind) or not (
        pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)
    ):
        return None
    return int(kind.list_size)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_list(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_fixed_size_binary(kind) or (_is_list(kind) and pa.types.is_uint8(kind.value_type))
    )


def _is_whole(kind: pa.DataType) -> bool:
    return _is_bytes(kind) or bool(_is_list(kind) and pa.types.is_integer(kind.value_type))
