"""Argument checks shared by the controllers; each raises ConfigError naming argument, value and what is
allowed.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from watersmeet.errors import ConfigError

__all__ = ["BoolArray", "FloatArray", "above", "at_least", "frozen_array", "same_shape", "share"]

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


def share(value: float, *, argument: str) -> float:
    """A number in [0, 1]."""
    if not (math.isfinite(value) and 0.0 <= value <= 1.0):
        raise ConfigError(f"{argument}={value!r}: expected a number from 0 to 1")
    return float(value)


def above(value: float, bound: float, *, argument: str) -> float:
    """A finite number strictly above `bound`."""
    if not (math.isfinite(value) and value > bound):
        raise ConfigError(f"{argument}={value!r}: expected a finite number above {bound:g}")
    return float(value)


def at_least(value: float, bound: float, *, argument: str) -> float:
    """A finite number that is not below `bound`."""
    if not (math.isfinite(value) and value >= bound):
        raise ConfigError(f"{argument}={value!r}: expected a finite number, at least {bound:g}")
    return float(value)


def frozen_array(value: npt.ArrayLike, *, argument: str) -> FloatArray:
    """A read-only float copy of finite numbers that are not negative: frozen values may hold arrays only
    this way.
    """
    array = np.array(value, dtype=np.float64)
    if array.size and not (np.isfinite(array).all() and array.min() >= 0.0):
        raise ConfigError(f"{argument}: expected finite numbers, at least 0, got {array!r}")
    array.setflags(write=False)
    return array


def same_shape(one: FloatArray, two: FloatArray, *, arguments: str) -> None:
    """Two arrays that speak about the same cells."""
    if one.shape != two.shape:
        raise ConfigError(f"{arguments}: expected arrays of one shape, got {one.shape} and {two.shape}")
