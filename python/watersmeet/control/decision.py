"""What the controllers read and what they decide: frozen values, the same for every policy.

A *cell* is a basic window seen from a probe: cell 0 is the newest, still filling. Window 0 belongs to the
first stream and is probed by rows of the second, window 1 the other way round. Arrays per window have the
shape (types, cells); a stream without types has one type. Types are those of the *probing* row ([Gedik]
V-C, SPEC G5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from watersmeet.control._check import FloatArray, frozen_array, same_shape, share
from watersmeet.errors import ConfigError

__all__ = ["CellCounts", "WindowPlan", "WindowStatistics"]


@dataclass(frozen=True, slots=True, eq=False)
class CellCounts:
    """Comparisons made and matches found, by type of the probing row and cell of the probed window."""

    comparisons: FloatArray
    matches: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "comparisons", _by_type(self.comparisons, argument="comparisons"))
        object.__setattr__(self, "matches", _by_type(self.matches, argument="matches"))
        same_shape(self.comparisons, self.matches, arguments="comparisons, matches")

    @classmethod
    def nothing(cls, cells: int, *, types: int = 1) -> CellCounts:
        """Counts before the first probe."""
        return cls(np.zeros((types, cells)), np.zeros((types, cells)))

    def faded(self, factor: float) -> CellCounts:
        """These counts, trusted only `factor` as much."""
        return CellCounts(self.comparisons * factor, self.matches * factor)

    def plus(self, other: CellCounts) -> CellCounts:
        """Both together."""
        return CellCounts(self.comparisons + other.comparisons, self.matches + other.matches)

    def by_cell(self) -> CellCounts:
        """The same counts with all types taken together."""
        return CellCounts(self.comparisons.sum(axis=0), self.matches.sum(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class WindowStatistics:
    """What one period of probing one window showed.

    `seen` counts every comparison; `sampled` those of full probes alone, which are free of the plan's
    choice. `due` is the number of comparisons per second that probing everything would cost, by type and
    cell: the volume of the knapsack. It comes from rates and window contents, so it is known for cells that
    nobody looked at.
    """

    seen: CellCounts
    sampled: CellCounts
    due: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "due", _by_type(self.due, argument="due"))
        same_shape(self.seen.comparisons, self.sampled.comparisons, arguments="seen, sampled")
        same_shape(self.seen.comparisons, self.due, arguments="seen, due")


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """How rows that probe one window go about it: cells in visiting order, the fraction per type, the
    sampling.
    """

    order: tuple[int, ...]  # s_i^j, [Gedik] V-A
    fractions: tuple[float, ...]  # r_{i,z}, [Gedik] V-C; one entry when rows have no type
    full_probe_share: float = 0.0  # r * sampling probability, [Gedik] Alg. 3 line 2

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.order))):
            raise ConfigError(
                f"order={self.order!r}: expected each cell from 0 to {len(self.order) - 1} once"
            )
        if not self.fractions:
            raise ConfigError("fractions=(): expected one fraction per type")
        for fraction in self.fractions:
            share(fraction, argument="fractions")
        share(self.full_probe_share, argument="full_probe_share")

    @property
    def fraction(self) -> float:
        """The largest fraction of any type: the fraction itself where there is one type."""
        return max(self.fractions)


def _by_type(value: npt.ArrayLike, *, argument: str) -> FloatArray:
    array = frozen_array(value, argument=argument)
    if array.ndim == 1:
        array = array.reshape(1, -1)
        array.setflags(write=False)
    if array.ndim != 2 or array.size == 0:
        raise ConfigError(
            f"{argument}: expected an array of cells, or of types by cells, got shape {array.shape}"
        )
    return array
