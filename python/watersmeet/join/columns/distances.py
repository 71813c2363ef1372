"""Distances between vectors, in blocks of pairs: fixed-size binary (bytes) or lists of numbers of one length.

Sums that come close to the threshold are done again, exactly rounded, so that a decision does not depend on
the order in which NumPy adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.vocabulary import Distance

__all__ = ["check_vector_type", "distance_holds"]

Matrix = npt.NDArray[Any]
Truths = npt.NDArray[np.bool_]

_NEAR: Final = 1e-9
_ALLOWED: Final = "fixed-size binary, binary, or lists of numbers"


def check_vector_type(kind: pa.DataType, leaf: Distance, *, about: str) -> None:
    """SchemaError unless a column of this type holds vectors that the metric can compare."""
    if _is_bytes(kind):
        return
    if not _is_list(kind) or not (
        pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)
    ):
        raise SchemaError(f"{about} is {kind}; {leaf} needs {_ALLOWED}")
    if leaf.metric == "hamming" and not pa.types.is_integer(kind.value_type):
        raise SchemaError(f"{about} is {kind}; {leaf} counts bits, and needs bytes or integers")


def distance_holds(leaf: Distance, left: pa.ChunkedArray, right: pa.ChunkedArray) -> Truths:
    """Whether each pair of vectors is close enough; null is close to nothing."""
    valid = np.asarray(left.is_valid()) & np.asarray(right.is_valid())
    places = np.flatnonzero(valid)
    if len(places) == 0:
        return np.asarray(valid, np.bool_)
    chosen = pa.array(places)
    own, other = _matrix(left.take(chosen), leaf), _matrix(right.take(chosen), leaf)
    if own.shape != other.shape:
        raise SchemaError(
            f"{leaf}: vectors of {own.shape[1]} and of {other.shape[1]} values are not compared"
        )
    distances = _MEASURES[leaf.metric](own, other)
    with np.errstate(invalid="ignore"):
        holds = distances <= leaf.at_most
        near = np.abs(distances - leaf.at_most) <= _NEAR * np.maximum(1.0, np.abs(distances))
    for at in np.flatnonzero(near):
        exact = _EXACT[leaf.metric](own[at].tolist(), other[at].tolist())
        holds[at] = exact is not None and exact <= leaf.at_most
    result = np.zeros(len(valid), np.bool_)
    result[places] = holds
    return result


def _matrix(column: pa.ChunkedArray, leaf: Distance) -> Matrix:
    """Vectors as the rows of a matrix."""
    array = column.combine_chunks()
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    if _is_bytes(array.type):
        parts = [np.frombuffer(value, np.uint8) for value in array.to_pylist()]
    else:
        parts = [np.asarray(value) for value in array.to_pylist()]
    if len({len(part) for part in parts}) != 1:
        raise SchemaError(f"{leaf}: vectors of different lengths in one column")
    return np.stack(parts)


def _mean_abs(own: Matrix, other: Matrix) -> npt.NDArray[np.float64]:
    if own.dtype == np.uint8 and other.dtype == np.uint8:
        apart = np.maximum(own, other) - np.minimum(own, other)
        return np.asarray(apart.sum(axis=1, dtype=np.int64) / own.shape[1], np.float64)
    return np.asarray(np.abs(own.astype(np.float64) - other.astype(np.float64)).mean(axis=1))


def _l2(own: Matrix, other: Matrix) -> npt.NDArray[np.float64]:
    apart = own.astype(np.float64) - other.astype(np.float64)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", apart, apart)))


def _cosine(own: Matrix, other: Matrix) -> npt.NDArray[np.float64]:
    one, two = own.astype(np.float64), other.astype(np.float64)
    squares = np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", two, two)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1.0 - np.einsum("ij,ij->i", one, two) / np.sqrt(squares))


def _hamming(own: Matrix, other: Matrix) -> npt.NDArray[np.float64]:
    apart = np.ascontiguousarray(own ^ other).view(np.uint8)
    return np.asarray(np.unpackbits(apart, axis=1).sum(axis=1), np.float64)


def _exact_mean_abs(own: list[float], other: list[float]) -> float:
    return math.fsum(abs(one - two) for one, two in zip(own, other, strict=True)) / len(own)


def _exact_l2(own: list[float], other: list[float]) -> float:
    return math.sqrt(math.fsum((one - two) ** 2 for one, two in zip(own, other, strict=True)))


def _exact_cosine(own: list[float], other: list[float]) -> float | None:
    squares = math.fsum(one * one for one in own) * math.fsum(two * two for two in other)
    if squares == 0:
        return None
    return 1 - math.fsum(one * two for one, two in zip(own, other, strict=True)) / math.sqrt(squares)


def _exact_hamming(own: list[int], other: list[int]) -> float:
    return float(sum((one ^ two).bit_count() for one, two in zip(own, other, strict=True)))


_MEASURES: Final[dict[str, Callable[[Matrix, Matrix], npt.NDArray[np.float64]]]] = {
    "mean-abs": _mean_abs,
    "l2": _l2,
    "cosine": _cosine,
    "hamming": _hamming,
}
_EXACT: Final[dict[str, Callable[[list[Any], list[Any]], float | None]]] = {
    "mean-abs": _exact_mean_abs,
    "l2": _exact_l2,
    "cosine": _exact_cosine,
    "hamming": _exact_hamming,
}


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_fixed_size_binary(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    )


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
