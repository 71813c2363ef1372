"""Equal keys in one bucket: the hash that Spark computes, over types that both sides are brought to."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegralType

from watersmeet.spark.pack import BUCKET
from watersmeet.vocabulary import Equal, Predicate

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["key_terms", "with_key_bucket"]


def key_terms(on: Predicate | None) -> tuple[Equal, ...]:
    """The parts of a predicate that ask for equal columns."""
    return () if on is None else tuple(leaf for leaf in on.leaves if isinstance(leaf, Equal))


def with_key_bucket(
    sides: tuple[DataFrame, DataFrame], on: Predicate | None, *, times: tuple[str, str], buckets: int
) -> tuple[DataFrame, DataFrame]:
    """Both sides with the number of the bucket that their key belongs to.

    A row with a null in its key matches nothing; such rows are spread by their times, for all of them would
    be one bucket's.
    """
    terms = key_terms(on)
    columns: tuple[list[str], list[str]] = (
        [name for term in terms for name in term.left],
        [name for term in terms for name in term.right],
    )
    out = []
    for place, side in enumerate(sides):
        kinds = [
            _common(sides[0].schema[one].dataType, sides[1].schema[two].dataType)
            for one, two in zip(*columns, strict=True)
        ]
        keys = [_as_kind(_named(name), kind) for name, kind in zip(columns[place], kinds, strict=True)]
        missing = reduce(lambda one, two: one | two, (_named(name).isNull() for name in columns[place]))
        spread = F.when(missing, F.hash(_named(times[place]))).otherwise(F.hash(*keys))
        out.append(side.withColumn(BUCKET, F.pmod(spread, F.lit(buckets))))
    return out[0], out[1]


def _named(name: str) -> Column:
    return F.col(f"`{name.replace('`', '``')}`")


def _as_kind(column: Column, kind: str | None) -> Column:
    return column if kind is None else column.cast(kind)


def _common(one: DataType, two: DataType) -> str | None:
    """A type in which equal values of both hash alike; None: as they are."""
    if isinstance(one, IntegralType) and isinstance(two, IntegralType):
        return "long"
    reals = FloatType | DoubleType | DecimalType
    return "double" if isinstance(one, reals) and isinstance(two, reals) else None
