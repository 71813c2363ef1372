"""The step of a plan that packs one side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watersmeet.spark.pack import PACKED_DDL
from watersmeet.spark.request import Request
from watersmeet.spark.shipped import by_split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["packed"]


def packed(request: Request, side: DataFrame, place: int) -> DataFrame:
    """The blobs of one side.

    mapInArrow looks its columns up by name and takes a dot for a field of a struct, so names are left behind
    here and found again, by position, in pack().
    """
    plain = side.toDF(*(f"c{number}" for number in range(len(side.columns))))
    return plain.mapInArrow(by_split("watersmeet.spark.pack", "pack", request, place), PACKED_DDL)
