"""What the core can only check roughly, checked again in whole numbers of any size."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["ExactBand"]


@dataclass(frozen=True, slots=True)
class ExactBand:
    """|left - right| <= within, all three counted in units of 10 ** -scale."""

    left: str
    right: str
    within: int
    scale: int

    def holds(self, left: pa.Table, right: pa.Table) -> npt.NDArray[np.bool_]:
        """Whether each pair of rows, one of either table, is inside the band. Neither value is null."""
        own = self._counts(left.column(self.left))
        other = self._counts(right.column(self.right))
        pairs = zip(own, other, strict=True)
        return np.fromiter((abs(one - two) <= self.within for one, two in pairs), np.bool_, count=len(own))

    def _counts(self, column: Any) -> list[int]:
        values = column.to_pylist()
        if self.scale == 0 and not any(isinstance(value, Decimal) for value in values[:1]):
            return values  # type: ignore[no-any-return]  # integers, as the type of the column says
        return [_unscaled(value, self.scale) for value in values]


def _unscaled(value: Decimal, scale: int) -> int:
    """A value times 10 ** scale, without the rounding of decimal arithmetic."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # Arrow decimals are finite
    number: int = int("".join(map(str, digits))) * 10 ** (exponent + scale)
    return -number if sign else number
