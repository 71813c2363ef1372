"""Keeping the slices equally full while rates change: bounds in rows, with a tail in time ([PSP] 6, P10).

Every slice but the tail hands its oldest rows on when it holds more than its bound. Only the tail decides
what leaves the window, and it does so by time, so the answer does not depend on the bounds.
Departs from [PSP]: the other slices hand on, too, what is older than the window. After a fall in the rate a
slice under its bound would otherwise keep, and join, rows that are no longer in the window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from watersmeet.errors import ConfigError
from watersmeet.ring._check import at_least, whole

__all__ = ["SliceBounds", "SmoothingRule", "SmoothingState", "rows_handed_on", "smooth"]


@dataclass(frozen=True, slots=True)
class SliceBounds:
    """How many rows each slice may hold; None for the tail, which is bounded by time."""

    rows: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if not self.rows or self.rows[-1] is not None or None in self.rows[:-1]:
            raise ConfigError(
                f"rows={self.rows!r}: expected a bound for every slice but the last, and None for that"
            )


@dataclass(frozen=True, slots=True)
class SmoothingRule:
    """Bounds move when the fullest slice holds `tolerance` more than its share, or the rows in the window
    are that much more or fewer than when the bounds were set.
    """

    tolerance: float = 0.1
    memory: float = 0.5  # weight of the newest count of rows in the running mean

    def __post_init__(self) -> None:
        at_least(self.tolerance, 0.0, argument="tolerance")
        if not 0.0 < self.memory <= 1.0:
            raise ConfigError(f"memory={self.memory!r}: expected a number above 0, at most 1")


@dataclass(frozen=True, slots=True)
class SmoothingState:
    """The bounds in force, the mean count of rows they were set for, and the running mean."""

    bounds: SliceBounds
    set_for: float = 0.0
    mean: float | None = None
    changes: int = 0

    @classmethod
    def start(cls, slices: int) -> SmoothingState:
        """Before anything was counted: everything stays at the head, and nothing is out of balance."""
        whole(slices, 1, argument="slices")
        return cls(SliceBounds((*([2**62] * (slices - 1)), None)))


def smooth(
    state: SmoothingState, rows: Sequence[int], rule: SmoothingRule
) -> tuple[SmoothingState, SliceBounds]:
    """One period: `rows` are the rows of one stream that each slice holds, from head to tail."""
    slices = len(state.bounds.rows)
    if len(rows) != slices:
        raise ConfigError(f"rows={tuple(rows)!r}: expected a count for each of the {slices} slices")
    total = float(sum(rows))
    mean = total if state.mean is None else rule.memory * total + (1 - rule.memory) * state.mean
    drifted = abs(mean - state.set_for) > rule.tolerance * state.set_for
    uneven = max(rows) * slices > total * (1 + rule.tolerance) + slices
    if state.set_for and not (drifted or uneven):
        state = replace(state, mean=mean)
        return state, state.bounds
    bound = max(1, math.ceil(mean / slices))
    bounds = SliceBounds((*([bound] * (slices - 1)), None))
    changed = bounds != state.bounds
    return SmoothingState(bounds, mean, mean, state.changes + int(changed)), bounds


def rows_handed_on(rows: int, *, expired: int, bound: int | None) -> int:
    """How many of its oldest rows a slice hands on (the tail: drops), `expired` of them out of the window."""
    at_least(rows - expired, 0.0, argument="rows - expired")
    return expired if bound is None else max(expired, rows - bound)
