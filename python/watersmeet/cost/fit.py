"""Unit costs from timings: least squares of the relative error, no cost below 0.

A time is a difference of two, and where it is small its error is not in proportion to it: under two
nanoseconds, or where the difference may be wrong by more than a tenth, it counts like that of a longer time.

The runs of one structure at one size make few different operations, so every set of operations that could
have a cost is tried: exact, and there are at most a hundred of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from itertools import combinations

import numpy as np
import numpy.typing as npt

from watersmeet.cost.unit_costs import OperationCosts
from watersmeet.cost.work import Work
from watersmeet.errors import ConfigError

__all__ = ["fit_costs"]

_LEAST_NS = 2.0
_TRUSTED = 0.1  # share of a long time by which the costs may miss it
_FloatArray = npt.NDArray[np.float64]


def fit_costs(
    works: Sequence[Work], nanoseconds: Sequence[float], *, noise: Sequence[float] | None = None
) -> OperationCosts:
    """The costs, none negative, under which the works take most nearly the times given.

    noise   what each time may be wrong by, in nanoseconds
    """
    if len(works) != len(nanoseconds) or not works:
        raise ConfigError(
            f"fit: {len(works)} works and {len(nanoseconds)} times: expected as many, at least 1"
        )
    times = np.maximum(np.asarray(nanoseconds, dtype=np.float64), 0.0)
    least = np.maximum(_LEAST_NS, np.asarray(noise or [0.0] * len(works), dtype=np.float64) / _TRUSTED)
    weights = 1.0 / np.maximum(times, least)
    counts = np.asarray([astuple(work) for work in works], dtype=np.float64) * weights[:, None]
    used = [int(at) for at in np.flatnonzero(counts.any(axis=0))]
    values = np.zeros(counts.shape[1])
    values[used] = _not_negative(counts[:, used], times * weights)
    names = [each.name for each in fields(OperationCosts)]
    return OperationCosts(**{name: float(value) for name, value in zip(names, values, strict=True)})


def _not_negative(counts: _FloatArray, times: _FloatArray) -> _FloatArray:
    """The solution of counts @ x = times with the smallest squared error and no negative entry."""
    scale = np.abs(counts).max(axis=0)
    scaled, columns = counts / scale, counts.shape[1]
    best, best_error = np.zeros(columns), float(np.sum(times**2))
    for size in range(1, columns + 1):
        for chosen in combinations(range(columns), size):
            part = scaled[:, chosen]
            solution = np.linalg.lstsq(part, times, rcond=None)[0]
            error = float(np.sum((part @ solution - times) ** 2))
            # A larger set must earn its place: equal errors leave the simpler explanation.
            if (solution >= 0.0).all() and error < best_error * (1.0 - 1e-9) - 1e-15:
                best = np.zeros(columns)
                best[list(chosen)] = solution
                best_error = error
    return np.asarray(best / scale, dtype=np.float64)
