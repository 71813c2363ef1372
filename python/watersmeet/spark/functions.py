"""Set similarities as Spark column functions, for those who only want the numbers.

Vectorised over Arrow columns: items become numbers once per batch, and no row becomes a Python object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it

from watersmeet.errors import ConfigError
from watersmeet.spark.shipped import by_columns

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["cosine", "jaccard", "overlap"]

ColumnLike: TypeAlias = "Column | str"


def overlap(left: ColumnLike, right: ColumnLike) -> Column:
    """How many items the two sets share (int); null where a set is null."""
    return _made("overlap", "int", left, right)


def jaccard(left: ColumnLike, right: ColumnLike) -> Column:
    """Shared items over all items of the two sets (double); 0 for two empty sets, null where one is null."""
    return _made("jaccard", "double", left, right)


def cosine(
    left_items: ColumnLike, left_weights: ColumnLike, right_items: ColumnLike, right_weights: ColumnLike
) -> Column:
    """The cosine of two weighted sets, each as items beside weights (double); 0 where one is a zero vector.

    An item listed twice counts with the sum of its weights. For map columns: F.map_keys and F.map_values.
    """
    return _made("cosine", "double", left_items, left_weights, right_items, right_weights)


def _made(name: str, kind: str, *columns: ColumnLike) -> Column:
    if not hasattr(F, "arrow_udf"):
        raise ConfigError("watersmeet.spark.functions needs arrow_udf, which came with pyspark 4.1")
    make: Any = F.arrow_udf
    function = by_columns("watersmeet.spark.similarity", f"{name}s", len(columns))
    function.__name__ = name  # Spark calls the column after it
    made: Column = make(function, kind)(*columns)
    return made
