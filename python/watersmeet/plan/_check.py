"""Checks shared by this room; each raises ConfigError naming argument, value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from types import MappingProxyType

from watersmeet.errors import ConfigError

__all__ = ["amount", "amounts", "one_of", "same_names", "share"]


def amount(value: object, *, argument: str) -> float:
    """A finite number, at least 0."""
    number = _as_float(value)
    if not 0.0 <= number < math.inf:
        raise ConfigError(f"{argument}={value!r}: expected a finite number, at least 0")
    return number


def share(value: object, *, argument: str) -> float:
    """A number from 0 to 1."""
    number = _as_float(value)
    if not 0.0 <= number <= 1.0:
        raise ConfigError(f"{argument}={value!r}: expected a number from 0 to 1")
    return number


def amounts(values: object, names: Iterable[str], *, argument: str) -> Mapping[str, float]:
    """One amount for every name, no more and no fewer; frozen, in the order of the names."""
    wanted = tuple(names)
    if not isinstance(values, Mapping):
        raise ConfigError(f"{argument}={values!r}: expected a mapping with {_listed(wanted)}")
    same_names(values, wanted, argument=argument)
    return MappingProxyType({name: amount(values[name], argument=f"{argument}[{name!r}]") for name in wanted})


def same_names(values: Mapping[str, object], wanted: tuple[str, ...], *, argument: str) -> None:
    """The mapping's keys are the wanted names."""
    missing = [name for name in wanted if name not in values]
    if missing:
        raise ConfigError(f"{argument}: {_listed(missing)} missing; expected {_listed(wanted)}")
    unknown = [name for name in values if name not in wanted]
    if unknown:
        raise ConfigError(f"{argument}: {_listed(unknown)} unknown; expected {_listed(wanted)}")


def one_of(value: object, allowed: Iterable[str], *, argument: str) -> str:
    """A word from a closed list."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise ConfigError(f"{argument}={value!r}: expected one of {_listed(words)}")
    return value


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names)) or "nothing"


def _as_float(value: object) -> float:
    """The number as a double; NaN, which passes no check, where it is not a number or too large for one."""
    try:
        return math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        return math.nan
