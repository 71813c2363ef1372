"""Worth more, shed less: fractions per window and type of the probing row ([Gedik] V-C, Algorithm 5).

The problem is a fractional knapsack whose items are (window, cell, type of the probing row). [Gedik] keeps
the best item of every (window, type) in a heap; here all items are sorted at once, which gives the same
picks in the same order because cells of one (window, type) have falling values by construction, and NumPy
sorts thousands of them in no time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from watersmeet.control._check import FloatArray, above, frozen_array, share
from watersmeet.errors import ConfigError

__all__ = [
    "PairUtility",
    "Pick",
    "UtilityPlan",
    "allocate_by_utility",
    "expected_utilities",
    "pair_utility",
    "type_values",
]

PairUtility: TypeAlias = Literal["max", "mean"]


@dataclass(frozen=True, slots=True)
class Pick:
    """One item of the knapsack: rows of `type` visit this share of a cell of a window."""

    window: int
    cell: int
    type: int
    share: float


@dataclass(frozen=True, slots=True)
class UtilityPlan:
    """Fractions by window and type, the picks that led to them (best first), and the share of the budget
    they use.
    """

    fractions: tuple[tuple[float, ...], tuple[float, ...]]
    picks: tuple[Pick, ...]
    spent_share: float


def pair_utility(one: float, other: float, combine: PairUtility = "max") -> float:
    """The utility of a result from the utilities of its two members."""
    return max(one, other) if combine == "max" else 0.5 * (one + other)


def expected_utilities(
    values: Sequence[float],
    frequencies: tuple[Sequence[float], Sequence[float]],
    *,
    densities: tuple[float, float] = (1.0, 1.0),
    combine: PairUtility = "max",
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """u_{i,z}: utility expected from comparing a type-z row with a row of window i.

    Types are matched independently of each other: density of the window, times the mean utility of the pair
    over the types that the window's stream holds. Use measured utility per comparison instead where it is
    known.
    """
    _check_frequencies(frequencies, types=len(values))

    def against(value: float, window: int) -> float:
        partners = zip(frequencies[window], values, strict=True)
        return densities[window] * sum(
            weight * pair_utility(value, other, combine) for weight, other in partners
        )

    return tuple(against(value, 0) for value in values), tuple(against(value, 1) for value in values)


def allocate_by_utility(
    *,
    fraction: float,
    windows_s: tuple[float, float],
    basic_window_s: float | tuple[float, float],
    densities: tuple[Sequence[float], Sequence[float]],
    utilities: tuple[Sequence[float], Sequence[float]],
    frequencies: tuple[Sequence[float], Sequence[float]],
    as_printed: bool = False,
) -> UtilityPlan:
    """[Gedik] Algorithm 5: the most utility from `fraction` of both windows' comparisons.

    Windows and basic windows may be in any unit in which comparisons are counted alike: seconds, or, where a
    window counts rows, comparisons per second; a pair gives each window its own basic window.

    `densities[i]` are window i's cells; `utilities[i][z]` is what a type-z row may expect from window i;
    `frequencies[i][z]` is the share of type z in stream i. A probe of window i comes from the *other*
    stream, so its volume carries that stream's frequency (SPEC G5).

    Departs from [Gedik] unless `as_printed`: a cell adds b / w_i to the fraction, not 1 / n_i, which spent
    only w / (w + b) of the budget, and a window is not charged beyond its whole (SPEC G4b).
    """
    share(fraction, argument="fraction")
    cells_s = basic_window_s if isinstance(basic_window_s, tuple) else (basic_window_s, basic_window_s)
    for cell_s in cells_s:
        above(cell_s, 0.0, argument="basic_window_s")
    _check_frequencies(frequencies, types=len(utilities[0]))
    items = _Items.of(windows_s, cells_s, densities, utilities, frequencies)
    order = np.lexsort((items.type, items.cell, items.window, -items.value))
    volumes = items.volumes(order, whole_cells=as_printed)
    budget = fraction * (windows_s[0] + windows_s[1])
    taken = np.clip(budget - (np.cumsum(volumes) - volumes), 0.0, volumes)
    shares = np.divide(taken, volumes, out=np.zeros_like(taken), where=volumes > 0.0)
    whole = items.volume_of_whole[order]  # 0 for a type that never comes
    own_gain = np.divide(volumes, whole, out=np.zeros_like(volumes), where=whole > 0.0)
    gains = shares * (items.printed_gain[order] if as_printed else own_gain)
    fractions = np.zeros((2, len(utilities[0])))
    np.add.at(fractions, (items.window[order], items.type[order]), gains)
    picks = tuple(
        Pick(int(items.window[at]), int(items.cell[at]), int(items.type[at]), float(part))
        for at, part in zip(order, shares, strict=True)
        if part > 1e-12
    )
    first, second = (tuple(min(1.0, float(value)) for value in row) for row in fractions)
    return UtilityPlan((first, second), picks, _spent(first, second, windows_s, frequencies, budget))


def _spent(
    first: tuple[float, ...],
    second: tuple[float, ...],
    windows_s: tuple[float, float],
    frequencies: tuple[Sequence[float], Sequence[float]],
    budget: float,
) -> float:
    used = windows_s[0] * float(np.dot(first, frequencies[1])) + windows_s[1] * float(
        np.dot(second, frequencies[0])
    )
    return used / budget if budget > 0.0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """The knapsack's items as columns. Volumes are in seconds of window, since rates are common to all."""

    window: npt.NDArray[np.int64]
    cell: npt.NDArray[np.int64]
    type: npt.NDArray[np.int64]
    value: FloatArray  # v_{i,j,z}: utility per unit of volume, up to a common factor
    volume: FloatArray
    volume_of_whole: FloatArray  # of a window and type: the other stream's frequency times w_i
    printed_gain: FloatArray

    @classmethod
    def of(
        cls,
        windows_s: tuple[float, float],
        cells_s: tuple[float, float],
        densities: tuple[Sequence[float], Sequence[float]],
        utilities: tuple[Sequence[float], Sequence[float]],
        frequencies: tuple[Sequence[float], Sequence[float]],
    ) -> _Items:
        columns: list[list[npt.NDArray[np.float64]]] = [[] for _ in range(7)]
        for window, (cells, worth) in enumerate(zip(densities, utilities, strict=True)):
            density = frozen_array(cells, argument="densities")
            total = float(density.sum())
            relative = density * density.size / total if total > 0.0 else density
            weights = frozen_array(frequencies[1 - window], argument="frequencies")
            value = np.outer(frozen_array(worth, argument="utilities"), relative)
            type_index, cell_index = np.indices(value.shape)
            spread = np.broadcast_to(weights[:, None], value.shape)
            parts = (
                np.full(value.shape, window), cell_index, type_index, value, spread * cells_s[window],
                spread * windows_s[window], np.full(value.shape, 1.0 / density.size),
            )  # fmt: skip
            for column, part in zip(columns, parts, strict=True):
                column.append(np.asarray(part, dtype=np.float64).ravel())
        window_, cell, type_, value, volume, whole, gain = (np.concatenate(column) for column in columns)
        integers = (window_.astype(np.int64), cell.astype(np.int64), type_.astype(np.int64))
        return cls(*integers, value, volume, whole, gain)

    def volumes(self, order: npt.NDArray[np.intp], *, whole_cells: bool) -> FloatArray:
        """Volumes in picking order; unless `whole_cells`, cut so that no (window, type) is charged beyond
        its whole.
        """
        volumes = self.volume[order].copy()
        if whole_cells:
            return volumes
        group = self.window[order] * (int(self.type.max()) + 1) + self.type[order]
        for key in np.unique(group):
            members = np.flatnonzero(group == key)
            whole = self.volume_of_whole[order[members]]
            before = np.cumsum(volumes[members]) - volumes[members]
            volumes[members] = np.clip(whole - before, 0.0, volumes[members])
        return volumes


def _check_frequencies(frequencies: tuple[Sequence[float], Sequence[float]], *, types: int) -> None:
    for weights in frequencies:
        if len(weights) != types:
            raise ConfigError(f"frequencies: expected {types} numbers per stream, got {len(weights)}")
        if abs(sum(weights) - 1.0) > 1e-6:
            raise ConfigError(f"frequencies={tuple(weights)!r}: expected shares that sum to 1")


def type_values(utility: Mapping[str, float], types: Sequence[str]) -> tuple[float, ...]:
    """The utility of each type in order; one that the user did not value counts 0."""
    return tuple(float(utility.get(name, 0.0)) for name in types)
