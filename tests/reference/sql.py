"""DuckDB as a second oracle: the same windowed joins, said in SQL."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["connection", "jaccard", "overlap", "sql_pairs", "with_row_numbers"]

RowPairs = npt.NDArray[np.int64]


def connection() -> duckdb.DuckDBPyConnection:
    """A database in memory that leaves the other core alone."""
    database = duckdb.connect()
    database.execute("SET threads = 1")
    return database


def with_row_numbers(table: pa.Table) -> pa.Table:
    """The table with its row numbers as column `at`."""
    return table.append_column("at", pa.array(np.arange(len(table)), pa.int64()))


def overlap(left: str, right: str, at_least: int) -> str:
    """SQL: two list columns share `at_least` distinct values."""
    return f"len(list_intersect({left}, {right})) >= {at_least}"


def jaccard(left: str, right: str, numerator: int, denominator: int) -> str:
    """SQL: the Jaccard coefficient of two sets reaches numerator / denominator, in whole numbers.

    The size filter comes first: it is implied, and spares most intersections.
    """
    return (
        f"len({left}) * {denominator} >= len({right}) * {numerator}"
        f" AND len({right}) * {denominator} >= len({left}) * {numerator}"
        f" AND len({left}) > 0 AND len({right}) > 0"
        f" AND len(list_intersect({left}, {right})) * {denominator + numerator}"
        f" >= (len({left}) + len({right})) * {numerator}"
    )


def sql_pairs(
    left: pa.Table,
    right: pa.Table,
    *,
    condition: str,
    between: tuple[int, int],
    bucketed: bool = False,
) -> RowPairs:
    """Sorted row numbers of all pairs with between[0] <= r.ts - l.ts <= between[1] and the condition.

    The time columns are integers >= 0 named ts. `bucketed` lays each left row into the one or two stretches
    of time that its bounds touch, which turns a join of inequalities into one with an equality.
    """
    own = connection()
    views: dict[str, Any] = {"left_stream": with_row_numbers(left), "right_stream": with_row_numbers(right)}
    for name, table in views.items():
        own.register(name, table)
    bounds = f"r.ts >= l.ts + ({between[0]}) AND r.ts <= l.ts + ({between[1]})"
    source = "left_stream l JOIN right_stream r ON true"
    if bucketed:
        width = between[1] - between[0] + 1
        first, last = f"(ts + ({between[0]})) // {width}", f"(ts + ({between[1]})) // {width}"
        source = (
            f"(SELECT *, unnest(range({first}, {last} + 1)) AS bucket FROM left_stream) l"
            f" JOIN right_stream r ON l.bucket = r.ts // {width}"
        )
    found = own.execute(f"SELECT l.at, r.at FROM {source} AND {bounds} AND ({condition})").fetchnumpy()
    for name in views:
        own.unregister(name)
    columns = list(found.values())
    return sorted_pairs(np.asarray(columns[0]), np.asarray(columns[1]))


def sorted_pairs(left_rows: npt.ArrayLike, right_rows: npt.ArrayLike) -> RowPairs:
    """Two columns of row numbers as one sorted array of pairs."""
    left, right = np.asarray(left_rows, np.int64), np.asarray(right_rows, np.int64)
    order = np.lexsort((right, left))
    return np.stack([left[order], right[order]], axis=1)
