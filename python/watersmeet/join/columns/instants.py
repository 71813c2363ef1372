"""Moments in time, as users give them to advance(): numbers, datetimes, NumPy, pandas and Arrow scalars."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.errors import ConfigError
from watersmeet.vocabulary.duration import INT64_MAX, INT64_MIN, NANOSECONDS

__all__ = ["in_unit", "instant"]

_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_UTC: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NUMPY_NANOSECONDS: Final = {"W": NANOSECONDS["w"], "D": NANOSECONDS["d"], "h": NANOSECONDS["h"]} | {
    unit: NANOSECONDS[unit] for unit in ("m", "s", "ms", "us", "ns")
}


def instant(to: Any, *, step_ns: int) -> int:
    """Nanoseconds since the epoch of what advance() was given; a whole number counts steps of `step_ns`."""
    if isinstance(to, pa.Scalar):
        return _from_arrow(to, step_ns)
    if hasattr(to, "to_datetime64"):  # pandas
        to = to.to_datetime64()
    if isinstance(to, np.datetime64):
        return _numpy_nanoseconds(to)
    if isinstance(to, dt.datetime):
        since = to - (_EPOCH if to.tzinfo is None else _EPOCH_UTC)
        return (since.days * 86_400 + since.seconds) * NANOSECONDS["s"] + since.microseconds * 1_000
    if isinstance(to, int | np.integer) and not isinstance(to, bool):
        return int(to) * step_ns
    raise _refusal(to)


def in_unit(instant_ns: int, unit_ns: int, *, is_known: bool) -> int:
    """A promise of this instant in the join's unit, as far as an int64 goes.

    It is the first whole unit not before the instant, if the stream's rows are known to be whole units.
    Otherwise they may turn out to be finer, and only the whole unit not after the instant is safe to promise.
    """
    units = -(-instant_ns // unit_ns) if is_known else instant_ns // unit_ns
    return min(max(units, INT64_MIN), INT64_MAX)


def _from_arrow(to: pa.Scalar, step_ns: int) -> int:
    if to.is_valid and pa.types.is_timestamp(to.type):
        return int(to.value) * NANOSECONDS[to.type.unit]
    if to.is_valid and pa.types.is_integer(to.type):
        return int(to.as_py()) * step_ns
    raise _refusal(to)


def _numpy_nanoseconds(to: np.datetime64) -> int:
    unit, step = np.datetime_data(to.dtype)
    if np.isnat(to) or unit not in _NUMPY_NANOSECONDS:
        raise _refusal(to)
    return int(to.astype(np.int64)) * step * _NUMPY_NANOSECONDS[unit]


def _refusal(to: object) -> ConfigError:
    return ConfigError(
        f"advance(to)={to!r}: expected a whole number in the unit of the time column, a datetime,"
        " a numpy.datetime64 or a pyarrow timestamp"
    )
