"""The last look at candidate pairs, in blocks: exact bands, then the user's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.join.columns.exact import ExactBand
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.vocabulary import Where

__all__ = ["Keep", "make_keep", "truths"]

Truths = npt.NDArray[np.bool_]
Keep = Callable[[Rows, Rows], Truths]


def make_keep(
    exact: tuple[ExactBand, ...],
    functions: tuple[Where, ...],
    stores: tuple[PayloadStore | None, PayloadStore | None],
) -> Keep | None:
    """What the core asks of its candidates; None if its own answer is final."""
    checks = [band.holds for band in exact] + [_function_check(where) for where in functions]
    left, right = stores
    if not checks or left is None or right is None:  # without rows of both sides there is no candidate
        return None

    def keep(left_rows: Rows, right_rows: Rows) -> Truths:
        own, other = left.table(left_rows), right.table(right_rows)
        kept = checks[0](own, other)
        for check in checks[1:]:
            places = np.flatnonzero(kept)
            if len(places) == 0:
                break
            chosen = pa.array(places)
            kept[places] = check(own.take(chosen), other.take(chosen))
        return kept

    return keep


def _function_check(where: Where) -> Callable[[pa.Table, pa.Table], Truths]:
    def check(left: pa.Table, right: pa.Table) -> Truths:
        verdict = where.fn(right, left) if where.swapped else where.fn(left, right)
        return truths(verdict, left.num_rows, where)

    return check


def truths(verdict: Any, count: int, where: Where) -> Truths:
    """The function's answer as booleans, null counting as false; SchemaError if it is no such answer."""
    if isinstance(verdict, pa.Array | pa.ChunkedArray):
        if not pa.types.is_boolean(verdict.type):
            raise _refusal(where, f"values of type {verdict.type}", count)
        array = verdict.fill_null(False).to_numpy(zero_copy_only=False)
    elif isinstance(verdict, np.ndarray | list | tuple):
        array = np.asarray([bool(v) if v is None else v for v in verdict] if _has_none(verdict) else verdict)
    elif hasattr(verdict, "to_numpy"):  # a pandas or Polars series
        array = verdict.to_numpy()
    else:
        raise _refusal(where, f"{type(verdict).__name__}", count)
    if array.dtype != np.bool_ and len(array):
        raise _refusal(where, f"values of type {array.dtype}", count)
    if array.shape != (count,):
        raise _refusal(where, f"an array of shape {array.shape}", count)
    return np.array(array, np.bool_)


def _has_none(verdict: Any) -> bool:
    return not isinstance(verdict, np.ndarray) and any(value is None for value in verdict)


def _refusal(where: Where, got: str, count: int) -> SchemaError:
    return SchemaError(f"{where}: the function gave {got}; expected one boolean for each of {count} pairs")
