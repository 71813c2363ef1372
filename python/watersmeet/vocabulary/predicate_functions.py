"""The functions by which users write predicates: wm.equal("key"), wm.overlap("tags", at_least=3), ...

One column name stands for the same column on both sides; left= and right= name different ones.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from watersmeet.errors import ConfigError
from watersmeet.vocabulary.compiled import Compiled, compiled_test
from watersmeet.vocabulary.duration import Span
from watersmeet.vocabulary.predicate import (
    Band,
    Cosine,
    Distance,
    Dot,
    Equal,
    Jaccard,
    Metric,
    Overlap,
    SameSet,
    Subset,
    Superset,
    Where,
)

__all__ = [
    "band",
    "cosine",
    "distance",
    "dot",
    "equal",
    "jaccard",
    "overlap",
    "same_set",
    "subset",
    "superset",
    "where",
]

WeightedSide: TypeAlias = str | tuple[str, str]


def equal(
    *columns: str, left: str | Sequence[str] | None = None, right: str | Sequence[str] | None = None
) -> Equal:
    """Rows whose columns are equal; of several columns, all."""
    if columns and left is None and right is None:
        return Equal(columns, columns)
    if columns or left is None or right is None:
        raise ConfigError(
            f"equal({', '.join(map(repr, columns))}, left={left!r}, right={right!r}):"
            " expected either column names, or both left= and right="
        )
    return Equal(left, right)  # type: ignore[arg-type]  # the value turns a name or sequence into its tuple


def overlap(
    column: str | None = None, *, at_least: int, left: str | None = None, right: str | None = None
) -> Overlap:
    """Sets that share at least so many items."""
    return Overlap(*_sides("overlap", column, left, right), at_least)


def subset(column: str | None = None, *, left: str | None = None, right: str | None = None) -> Subset:
    """The left set is contained in the right one."""
    return Subset(*_sides("subset", column, left, right))


def superset(column: str | None = None, *, left: str | None = None, right: str | None = None) -> Superset:
    """The left set contains the right one."""
    return Superset(*_sides("superset", column, left, right))


def same_set(column: str | None = None, *, left: str | None = None, right: str | None = None) -> SameSet:
    """Sets with the same items, in whatever order they are listed."""
    return SameSet(*_sides("same_set", column, left, right))


def jaccard(
    column: str | None = None, *, at_least: float, left: str | None = None, right: str | None = None
) -> Jaccard:
    """Sets whose shared items are at least so large a part of all their items."""
    return Jaccard(*_sides("jaccard", column, left, right), at_least)


def dot(
    items: str | None = None,
    weights: str | None = None,
    *,
    at_least: float,
    left: WeightedSide | None = None,
    right: WeightedSide | None = None,
) -> Dot:
    """Weighted sets whose dot product is at least so much.

    The items and weights are two list columns, or one map column (no weights=). For different columns on the
    two sides: left=("items", "weights"), right=("items", "weights"), or the name of a map column.
    """
    return Dot(*_weighted_sides("dot", items, weights, left, right), at_least)


def cosine(
    items: str | None = None,
    weights: str | None = None,
    *,
    at_least: float,
    left: WeightedSide | None = None,
    right: WeightedSide | None = None,
) -> Cosine:
    """Weighted sets whose cosine similarity is at least so much; columns are given as for `dot`."""
    return Cosine(*_weighted_sides("cosine", items, weights, left, right), at_least)


def band(
    column: str | None = None,
    *,
    within: float | Decimal | Span | str | dt.timedelta | np.timedelta64,
    left: str | None = None,
    right: str | None = None,
) -> Band:
    """Values that differ by at most `within`: a number, or a span such as "2s" for timestamp columns."""
    return Band(*_sides("band", column, left, right), within)  # type: ignore[arg-type]  # the value parses spans


def distance(
    column: str | None = None,
    *,
    metric: Metric,
    at_most: float,
    left: str | None = None,
    right: str | None = None,
) -> Distance:
    """Vectors that are at most so far apart by "mean-abs", "l2", "cosine" or "hamming"."""
    return Distance(*_sides("distance", column, left, right), metric, at_most)


def where(
    fn: Any,
    *columns: str,
    left: str | Sequence[str] | None = None,
    right: str | Sequence[str] | None = None,
) -> Where | Compiled:
    """Your own test: fn(left_block, right_block) gets blocks of candidate pairs and returns booleans.

    With columns, named once for both sides or by left= and right=, fn is compiled: a scipy.LowLevelCallable,
    a numba cfunc, a ctypes function, a capsule or an address of
    `int matches(const void *left, const void *right, void *user_data)`. Each pointer is to a C struct of the
    columns of one row. It is called without the GIL, from several threads at once, for every candidate.
    """
    if not columns and left is None and right is None:
        return Where(fn)
    if columns and left is None and right is None:
        return compiled_test(fn, columns, columns)
    if columns or left is None or right is None:
        raise ConfigError(
            f"where({columns!r}, left={left!r}, right={right!r}):"
            " expected either column names, or both left= and right="
        )
    return compiled_test(fn, _names(left), _names(right))


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _sides(name: str, column: str | None, left: str | None, right: str | None) -> tuple[str, str]:
    if column is not None and left is None and right is None:
        return column, column
    if column is not None or left is None or right is None:
        raise ConfigError(
            f"{name}({column!r}, left={left!r}, right={right!r}):"
            " expected either one column name, or both left= and right="
        )
    return left, right


def _weighted_sides(
    name: str, items: str | None, weights: str | None, left: WeightedSide | None, right: WeightedSide | None
) -> tuple[str, str | None, str, str | None]:
    if items is not None and left is None and right is None:
        return items, weights, items, weights
    if items is not None or weights is not None or left is None or right is None:
        raise ConfigError(
            f"{name}(items={items!r}, weights={weights!r}, left={left!r}, right={right!r}):"
            " expected either items= (with weights=, unless it is a map column), or both left= and right="
        )
    return *_weighted_side(name, "left", left), *_weighted_side(name, "right", right)


def _weighted_side(name: str, side: str, value: WeightedSide) -> tuple[str, str | None]:
    if isinstance(value, str):
        return value, None
    if not isinstance(value, Sequence) or len(value) != 2:
        raise ConfigError(f"{name}({side})={value!r}: expected (items, weights), or the name of a map column")
    return value[0], value[1]
