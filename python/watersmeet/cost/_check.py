"""Argument checks of this room; each raises ConfigError naming argument, value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real

from watersmeet.errors import ConfigError

__all__ = ["Pair", "at_least", "numbers", "one_of", "pair", "positive"]

Pair = tuple[float, float]


def at_least(value: object, bound: float, *, argument: str) -> float:
    """A finite number that is not below `bound`."""
    number = _number(value)
    if not (math.isfinite(number) and number >= bound):
        raise ConfigError(f"{argument}={value!r}: expected a finite number, at least {bound:g}")
    return number


def positive(value: object, *, argument: str) -> float:
    """A finite number above 0."""
    number = _number(value)
    if not (math.isfinite(number) and number > 0.0):
        raise ConfigError(f"{argument}={value!r}: expected a finite number above 0")
    return number


def pair(value: object, *, argument: str, above_zero: bool = False) -> Pair:
    """Two finite numbers, one per stream, not negative."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ConfigError(f"{argument}={value!r}: expected two numbers, one per stream")
    check = positive if above_zero else _not_negative
    return check(value[0], argument=f"{argument}[0]"), check(value[1], argument=f"{argument}[1]")


def numbers(value: Iterable[object], *, argument: str) -> tuple[float, ...]:
    """Finite numbers that are not negative, at least one."""
    found = tuple(_not_negative(each, argument=f"{argument}[{at}]") for at, each in enumerate(value))
    if not found:
        raise ConfigError(f"{argument}=(): expected at least one number")
    return found


def one_of(value: object, allowed: Iterable[str], *, argument: str) -> str:
    """A word from a closed list."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise ConfigError(f"{argument}={value!r}: expected one of {', '.join(map(repr, words))}")
    return value


def _not_negative(value: object, *, argument: str) -> float:
    return at_least(value, 0.0, argument=argument)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
