"""Moments in time, as users give them to advance(): numbers, datetimes, NumPy, pandas and Arrow scalars."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.errors import ConfigError
from watersmeet.vocabulary.duration import INT64_MAX, INT64_MIN, NANOSECONDS

__all__ = ["Promise", "promise"]

_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_UTC: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NUMPY_NANOSECONDS: Final = {"W": NANOSECONDS["w"], "D": NANOSECONDS["d"], "h": NANOSECONDS["h"]} | {
    unit: NANOSECONDS[unit] for unit in ("m", "s", "ms", "us", "ns")
}


@dataclass(frozen=True, slots=True)
class Promise:
    """A moment: nanoseconds since the epoch, or a count in the unit of a time column not yet known."""

    nanoseconds: int | None = None
    count: int | None = None

    def in_unit(self, *, column_ns: int, unit_ns: int) -> int:
        """The first instant of the join's unit that is not before this moment, as far as an int64 goes."""
        moment = self.nanoseconds if self.count is None else self.count * column_ns
        assert moment is not None  # one of the two is set
        return min(max(-(-moment // unit_ns), INT64_MIN), INT64_MAX)


def promise(to: Any) -> Promise:
    """Read advance()'s argument; a whole number counts the unit of the stream's time column."""
    if isinstance(to, pa.Scalar):
        return _from_arrow(to)
    if hasattr(to, "to_datetime64"):  # pandas
        to = to.to_datetime64()
    if isinstance(to, np.datetime64):
        return Promise(_numpy_nanoseconds(to))
    if isinstance(to, dt.datetime):
        since = to - (_EPOCH if to.tzinfo is None else _EPOCH_UTC)
        return Promise((since.days * 86_400 + since.seconds) * NANOSECONDS["s"] + since.microseconds * 1_000)
    if isinstance(to, int | np.integer) and not isinstance(to, bool):
        return Promise(count=int(to))
    raise _refusal(to)


def _from_arrow(to: pa.Scalar) -> Promise:
    if to.is_valid and pa.types.is_timestamp(to.type):
        return Promise(to.value * NANOSECONDS[to.type.unit])
    if to.is_valid and pa.types.is_integer(to.type):
        return Promise(count=to.as_py())
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
