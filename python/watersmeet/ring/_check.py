"""Argument checks of this room; each raises ConfigError naming argument, value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from watersmeet.errors import ConfigError

__all__ = ["at_least", "per_stream", "share", "whole"]


def at_least(value: float, bound: float, *, argument: str, strictly: bool = False) -> float:
    """A finite number not below `bound`, or strictly above it."""
    if not math.isfinite(value) or value < bound or (strictly and value == bound):
        allowed = f"above {bound:g}" if strictly else f"at least {bound:g}"
        raise ConfigError(f"{argument}={value!r}: expected a finite number, {allowed}")
    return float(value)


def share(value: float, *, argument: str) -> float:
    """A number in [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"{argument}={value!r}: expected a number from 0 to 1")
    return float(value)


def whole(value: int, lowest: int, *, argument: str) -> int:
    """An integer that is not below `lowest`."""
    if isinstance(value, bool) or value != int(value) or value < lowest:
        raise ConfigError(f"{argument}={value!r}: expected a whole number, at least {lowest}")
    return int(value)


def per_stream(value: float | Sequence[float], streams: int, *, argument: str) -> tuple[float, ...]:
    """One number for every stream, or one number that holds for all of them."""
    if isinstance(value, (int, float)):
        return (float(value),) * streams
    numbers = tuple(float(number) for number in value)
    if len(numbers) != streams:
        raise ConfigError(
            f"{argument}={value!r}: expected one number, or one for each of the {streams} streams"
        )
    return numbers
