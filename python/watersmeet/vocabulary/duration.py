"""Spans: how far back a window reaches, in time or in rows.

Time is held as an integer number of nanoseconds, so "500ms", 0.5 and timedelta(milliseconds=500) are the same
value and nothing drifts through floating point. A number of seconds is read by its decimal digits (0.1 is a
tenth of a second, not the double nearest to it) and rounded to the nearest nanosecond.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Final, Literal, TypeAlias

import numpy as np

from watersmeet.errors import ConfigError

__all__ = ["INT64_MAX", "INT64_MIN", "NANOSECONDS", "Rounding", "Span", "SpanLike", "TimeUnit", "parse_span"]

TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
Rounding: TypeAlias = Literal["floor", "ceil"]

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1

NANOSECONDS: Final[dict[str, int]] = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
    "d": 86_400 * 1_000_000_000,
    "w": 7 * 86_400 * 1_000_000_000,
}
_CALENDAR_UNITS: Final = {"mo": "month", "q": "quarter", "y": "year"}
_NUMPY_UNITS: Final[dict[str, Fraction]] = {
    "W": Fraction(NANOSECONDS["w"]),
    "D": Fraction(NANOSECONDS["d"]),
    "h": Fraction(NANOSECONDS["h"]),
    "m": Fraction(NANOSECONDS["m"]),
    "s": Fraction(NANOSECONDS["s"]),
    "ms": Fraction(NANOSECONDS["ms"]),
    "us": Fraction(NANOSECONDS["us"]),
    "ns": Fraction(1),
    "ps": Fraction(1, 10**3),
    "fs": Fraction(1, 10**6),
    "as": Fraction(1, 10**9),
}
_TERM: Final = re.compile(r"([0-9]+)([a-zµμ]+)")
_EXAMPLES: Final = "a span such as '10s', '1h30m' or '5000i' (rows), a timedelta, or a number of seconds"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time (whole nanoseconds) or of rows; exactly one of the two is set."""

    nanoseconds: int | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if (self.nanoseconds is None) == (self.rows is None):
            raise ConfigError(f"Span({self.nanoseconds!r}, {self.rows!r}): expected one of nanoseconds, rows")

    @property
    def is_time(self) -> bool:
        """Whether this span is a stretch of time."""
        return self.nanoseconds is not None

    @property
    def is_rows(self) -> bool:
        """Whether this span counts rows."""
        return self.rows is not None

    @property
    def amount(self) -> int:
        """The nanoseconds or the rows, whichever this span has."""
        return self.rows if self.nanoseconds is None else self.nanoseconds  # type: ignore[return-value]

    @property
    def seconds(self) -> float:
        """The span in seconds, as the nearest double."""
        return self._time("seconds") / NANOSECONDS["s"]

    def in_unit(self, unit: TimeUnit, *, rounding: Rounding = "floor") -> int:
        """This span as a whole number of `unit`, rounded down or up, and clamped to what an int64 holds."""
        if unit not in ("s", "ms", "us", "ns"):
            raise ConfigError(f"unit={unit!r}: expected one of 's', 'ms', 'us', 'ns'")
        if rounding not in ("floor", "ceil"):
            raise ConfigError(f"rounding={rounding!r}: expected 'floor' or 'ceil'")
        nanoseconds, size = self._time(f"in_unit({unit!r})"), NANOSECONDS[unit]
        amount = nanoseconds // size if rounding == "floor" else -(-nanoseconds // size)
        return min(max(amount, INT64_MIN), INT64_MAX)

    def _time(self, asked: str) -> int:
        if self.nanoseconds is None:
            raise ConfigError(f"Span {self}: {asked} needs a span of time, and this one counts rows")
        return self.nanoseconds

    def __neg__(self) -> Span:
        if self.nanoseconds is None:
            raise ConfigError(f"Span {self}: only a span of time can be negative, and this one counts rows")
        return Span(nanoseconds=-self.nanoseconds)

    def __str__(self) -> str:
        """The span in the language that parse_span reads, largest units first."""
        if self.nanoseconds is None:
            return f"{self.rows}i"
        if self.nanoseconds == 0:
            return "0s"
        rest, terms = abs(self.nanoseconds), []
        for unit in ("d", "h", "m", "s", "ms", "us", "ns"):
            count, rest = divmod(rest, NANOSECONDS[unit])
            if count:
                terms.append(f"{count}{unit}")
        return ("-" if self.nanoseconds < 0 else "") + "".join(terms)


SpanLike: TypeAlias = Span | str | dt.timedelta | np.timedelta64 | int | float | Decimal | Fraction


def parse_span(value: object, *, argument: str, signed: bool = False, rows: bool = True) -> Span:
    """Read a span from any of the forms that users write.

    `argument` is named in the error. A negative span is refused unless `signed`, a row count unless `rows`.
    """
    span = value if isinstance(value, Span) else _read(value, argument)
    if span.is_rows and not rows:
        raise ConfigError(f"{argument}={_shown(value)}: expected a span of time, not a number of rows")
    if span.amount < 0 and (span.is_rows or not signed):
        raise ConfigError(f"{argument}={_shown(value)}: expected a span that is not negative")
    return span


def _shown(value: object) -> str:
    return f"'{value}'" if isinstance(value, Span) else repr(value)


def _read(value: object, argument: str) -> Span:
    if isinstance(value, str):
        return _read_text(value, argument)
    if isinstance(value, np.timedelta64):
        return _read_numpy(value, argument)
    if isinstance(value, dt.timedelta):
        return Span(nanoseconds=_timedelta_nanoseconds(value))
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise ConfigError(f"{argument}={value!r}: expected {_EXAMPLES}")
    return Span(nanoseconds=_seconds_nanoseconds(value, argument))


def _read_text(text: str, argument: str) -> Span:
    sign = -1 if text.startswith("-") else 1
    body = text[1:] if text[:1] in ("-", "+") else text
    terms = _TERM.findall(body)
    if not terms or "".join(count + unit for count, unit in terms) != body:
        raise ConfigError(f"{argument}={text!r}: expected {_EXAMPLES}")
    total = 0
    for count, unit in terms:
        unit = unit.replace("µ", "u").replace("μ", "u")
        if unit == "i":
            if len(terms) > 1:
                raise ConfigError(f"{argument}={text!r}: a number of rows ('i') cannot be mixed with time")
            return Span(rows=sign * int(count))
        if unit in _CALENDAR_UNITS:
            raise ConfigError(
                f"{argument}={text!r}: a {_CALENDAR_UNITS[unit]} has no fixed length;"
                " expected the units w, d, h, m, s, ms, us, ns, or i for rows"
            )
        if unit not in NANOSECONDS:
            raise ConfigError(
                f"{argument}={text!r}: unknown unit {unit!r};"
                " expected w, d, h, m, s, ms, us, ns, or i for rows"
            )
        total += int(count) * NANOSECONDS[unit]
    return Span(nanoseconds=sign * total)


def _read_numpy(value: np.timedelta64, argument: str) -> Span:
    unit, count = np.datetime_data(value.dtype)
    if np.isnat(value):
        raise ConfigError(f"{argument}={value!r}: expected {_EXAMPLES}, not 'not a time'")
    if unit not in _NUMPY_UNITS:
        raise ConfigError(f"{argument}={value!r}: unit {unit!r} has no fixed length; expected W to ns")
    return Span(nanoseconds=round(int(value.astype(np.int64)) * count * _NUMPY_UNITS[unit]))


def _timedelta_nanoseconds(value: dt.timedelta) -> int:
    micros = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    # pandas.Timedelta is a timedelta with up to 999 further nanoseconds.
    return micros * 1_000 + int(getattr(value, "nanoseconds", 0))


def _seconds_nanoseconds(value: Real | Decimal, argument: str) -> int:
    if not math.isfinite(value):
        raise ConfigError(f"{argument}={value!r}: expected a finite number of seconds")
    if isinstance(value, Integral):
        return int(value) * NANOSECONDS["s"]
    exact = Fraction(value) if isinstance(value, Decimal | Fraction) else Fraction(repr(float(value)))
    return round(exact * NANOSECONDS["s"])
