"""Checks shared by this room; each raises ConfigError naming argument, value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TypeGuard

from watersmeet.errors import ConfigError

__all__ = [
    "as_float",
    "column_name",
    "column_names",
    "finite_number",
    "is_number",
    "is_whole",
    "one_of",
    "share",
    "whole_number",
]


def column_name(value: object, *, argument: str) -> str:
    """The name of one column: a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{argument}={value!r}: expected the name of a column")
    return value


def column_names(value: object, *, argument: str) -> tuple[str, ...]:
    """One or more column names, given as a string or a sequence of strings."""
    if isinstance(value, str):
        return (column_name(value, argument=argument),)
    if not isinstance(value, Sequence) or not value:
        raise ConfigError(f"{argument}={value!r}: expected the name of a column, or a sequence of names")
    return tuple(column_name(name, argument=argument) for name in value)


def one_of(value: object, allowed: Iterable[str], *, argument: str) -> str:
    """A word from a closed list."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise ConfigError(f"{argument}={value!r}: expected one of {', '.join(map(repr, words))}")
    return value


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a real number of Python's or NumPy's; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: float) -> bool:
    """Whether this number is of an integer type."""
    return isinstance(value, Integral)


def whole_number(value: object, *, argument: str, lowest: int) -> int:
    """An integer that is not below `lowest`; 3.0 is taken as 3, True is not taken as 1."""
    if not is_number(value) or not math.isfinite(value) or value != int(value) or value < lowest:
        raise ConfigError(f"{argument}={value!r}: expected a whole number, at least {lowest}")
    return int(value)


def finite_number(
    value: object, *, argument: str, above: float | None = None, lowest: float | None = None
) -> float:
    """A finite number, strictly above `above` or at least `lowest` when these are given."""
    allowed = "a finite number"
    if above is not None:
        allowed += f" above {above:g}"
    if lowest is not None:
        allowed += f", at least {lowest:g}"
    number = as_float(value)
    too_low = (above is not None and number <= above) or (lowest is not None and number < lowest)
    if not math.isfinite(number) or too_low:
        raise ConfigError(f"{argument}={value!r}: expected {allowed}")
    return number


def share(value: object, *, argument: str) -> float:
    """A number above 0 and at most 1."""
    number = as_float(value)
    if not 0.0 < number <= 1.0:
        raise ConfigError(f"{argument}={value!r}: expected a number above 0 and at most 1")
    return number


def as_float(value: object) -> float:
    """The number as a double; NaN, which passes no check, where it is not a number or too large for one."""
    try:
        return float(value) if is_number(value) else math.nan
    except OverflowError:
        return math.nan
