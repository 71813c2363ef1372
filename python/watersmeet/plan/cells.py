"""What the best cells of a state give: shedding inside a half-way join, priced in the plan's own unit.

A state is cut into cells by the age of its rows, all of one size; looking at one costs that share of a
probe. Where matches come together in some cells, a row that looks at these alone finds more than their
share. Since the curve is concave, an allowance that does not suffice for all rows is spent best by letting
every row look at the best cells, and not some rows at everything; where matches are spread evenly the two
come to the same.

Joins the shedding of [Gedik] V-A, which cells, to the allocation of [JAQPOT], how many probes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from watersmeet.errors import ConfigError
from watersmeet.plan import _check

__all__ = ["EVEN", "CellCurve", "cell_curve"]

_UNEVEN = 0.05  # matches beyond the cells' share, at the best place to stop, from which on cells are worth it


@dataclass(frozen=True, slots=True)
class CellCurve:
    """The share of a whole probe's matches that the best cells hold.

    order   the cells from the densest to the emptiest; none where matches are spread evenly
    found   after none, one, two, ... of them
    """

    order: tuple[int, ...]
    found: tuple[float, ...]

    @property
    def is_even(self) -> bool:
        """Whether it makes no difference at which cells a row looks."""
        return not self.order

    def at(self, fraction: float) -> float:
        """The share of the matches in the best `fraction` of the cells."""
        if not self.order:
            return fraction
        place = min(max(fraction, 0.0), 1.0) * len(self.order)
        cell = min(int(place), len(self.order) - 1)
        return self.found[cell] + (place - cell) * (self.found[cell + 1] - self.found[cell])

    def slope(self, fraction: float) -> float:
        """What a little more would find, in shares of the matches per share of the cells."""
        if not self.order:
            return 1.0
        cell = min(int(fraction * len(self.order)), len(self.order) - 1)
        return (self.found[cell + 1] - self.found[cell]) * len(self.order)


EVEN = CellCurve((), (0.0, 1.0))


def cell_curve(densities: Sequence[float]) -> CellCurve:
    """The curve of a state whose cells, from the newest to the oldest, hold so many matches per row."""
    if len(densities) < 1:
        raise ConfigError("densities: expected one for every cell")
    values = [_check.amount(each, argument="densities") for each in densities]
    total = sum(values)
    if total == 0.0:
        return EVEN
    order = sorted(range(len(values)), key=lambda cell: -values[cell])
    found = (0.0, *accumulate(values[cell] / total for cell in order))
    share = 1.0 / len(values)
    if max(part - place * share for place, part in enumerate(found)) < _UNEVEN:
        return EVEN
    assert all(one <= two for one, two in pairwise(found))
    return CellCurve(tuple(order), (*found[:-1], 1.0))
