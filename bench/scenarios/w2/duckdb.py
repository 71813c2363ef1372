"""DuckDB on W2: join item by item within the window, count per pair. Compares every pair that shares an item,
so it gets the first 8 s of the streams; its cost per tuple grows with the window, which these 8 s do not
fill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.contract import Engine, Job, Variant
from bench.relational import duckdb_job
from bench.workloads import Case

__all__ = ["ENGINE", "prepare"]

QUERY = """
SELECT one.row, two.row FROM one JOIN two
ON one.item = two.item AND one.ts - two.ts BETWEEN -{window} AND {window}
GROUP BY one.row, two.row HAVING {measure} >= {threshold}
"""


def prepare(case: Case, options: Mapping[str, Any]) -> Job:
    measure = "sum(one.weight * two.weight)" if case.kind == "weighted" else "count(*)"
    query = QUERY.format(window=case.window_us, measure=measure, threshold=case.threshold)
    return duckdb_job(case, query)


ENGINE = Engine(
    kind="batch", needs="duckdb", prepare=prepare, variants=(Variant("8 s prefix", resize={"rows": 4_000}),)
)
