"""DuckDB on W4: two equi-joins with the three time conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.contract import Engine, Job, Variant
from bench.relational import duckdb_job
from bench.workloads import Case

__all__ = ["ENGINE"]

QUERY = """
SELECT one.row, two.row, three.row FROM one
JOIN two ON one.key = two.key AND one.ts - two.ts BETWEEN -{window} AND {window}
JOIN three ON one.key = three.key AND one.ts - three.ts BETWEEN -{window} AND {window}
AND two.ts - three.ts BETWEEN -{window} AND {window}
"""


def _prepare(case: Case, options: Mapping[str, Any]) -> Job:
    return duckdb_job(case, QUERY.format(window=case.window_us))


ENGINE = Engine(kind="batch", needs="duckdb", prepare=_prepare, variants=(Variant("plain", rehearsed=True),))
