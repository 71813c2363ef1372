"""Similarities of two columns of sets, row by row, computed for whole Arrow columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["cosines", "jaccards", "overlaps"]

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


def overlaps(left: Any, right: Any) -> pa.Array:
    """How many items each pair of sets shares."""
    rows = len(left)
    own, other = (np.unique(keys) for keys in _keys(rows, left, right))
    shared = np.intersect1d(own, other, assume_unique=True)
    return _masked(_per_row(shared, rows), pa.int32(), left, right)


def jaccards(left: Any, right: Any) -> pa.Array:
    """Shared items over all items of each pair of sets."""
    rows = len(left)
    own, other = (np.unique(keys) for keys in _keys(rows, left, right))
    shared = _per_row(np.intersect1d(own, other, assume_unique=True), rows)
    every = _per_row(own, rows) + _per_row(other, rows) - shared
    return _masked(shared / np.maximum(every, 1), pa.float64(), left, right)


def cosines(left_items: Any, left_weights: Any, right_items: Any, right_weights: Any) -> pa.Array:
    """The cosine of each pair of weighted sets."""
    rows = len(left_items)
    keys = _keys(rows, left_items, right_items)
    (own, own_weights), (other, other_weights) = (
        _summed(key, _weights(items, weights))
        for key, items, weights in zip(
            keys, (left_items, right_items), (left_weights, right_weights), strict=True
        )
    )
    shared, at_own, at_other = np.intersect1d(own, other, assume_unique=True, return_indices=True)
    dots = np.bincount(shared // _BASE, own_weights[at_own] * other_weights[at_other], minlength=rows)
    norms = [
        np.sqrt(np.bincount(key // _BASE, weights**2, minlength=rows))
        for key, weights in ((own, own_weights), (other, other_weights))
    ]
    product = norms[0] * norms[1]
    cosine = np.divide(dots, product, out=np.zeros(rows), where=product > 0)
    return _masked(cosine, pa.float64(), left_items, right_items, left_weights, right_weights)


_BASE = 1 << 32  # keys are row * _BASE + number of the item


def _keys(rows: int, left: Any, right: Any) -> tuple[Numbers, Numbers]:
    """Each item of each side as one number that tells its row and its value; null items are left out."""
    values = [_whole(column).flatten() for column in (left, right)]
    codes = pa.chunked_array(values).combine_chunks().dictionary_encode()
    numbers = (codes.indices if isinstance(codes, pa.DictionaryArray) else codes.chunk(0).indices).cast(
        pa.int64()
    )
    cut = len(values[0])
    out = []
    for column, part in ((left, numbers.slice(0, cut)), (right, numbers.slice(cut))):
        parents = np.asarray(pc.list_parent_indices(_whole(column))).astype(np.int64)
        valid = np.asarray(part.is_valid())
        out.append(parents[valid] * _BASE + np.asarray(part.fill_null(0))[valid])
    return out[0], out[1]


def _weights(items: Any, weights: Any) -> Reals:
    values = _whole(weights).flatten().cast(pa.float64())
    known = np.asarray(_whole(items).flatten().is_valid())
    if len(values) != len(known):
        raise ValueError("cosine: a row has not as many weights as items")
    out: Reals = np.asarray(values.fill_null(0.0))[known]
    return out


def _summed(keys: Numbers, weights: Reals) -> tuple[Numbers, Reals]:
    unique, place = np.unique(keys, return_inverse=True)
    return unique, np.bincount(place, weights, minlength=len(unique)).astype(np.float64)


def _per_row(keys: Numbers, rows: int) -> Numbers:
    return np.bincount(keys // _BASE, minlength=rows)


def _masked(values: Any, kind: pa.DataType, *columns: Any) -> pa.Array:
    missing = np.zeros(len(values), np.bool_)
    for column in columns:
        missing |= np.asarray(column.is_null())
    return pa.array(values, mask=missing).cast(kind)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
