"""DuckDB on W1: the range join as its users write it, with hand-made time buckets, and pairs as Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.contract import Engine, Job, Variant
from bench.relational import duckdb_job
from bench.workloads import Case

__all__ = ["ENGINE", "prepare"]

PLAIN = """
SELECT one.row, two.row FROM one JOIN two
ON one.key = two.key AND one.ts - two.ts BETWEEN -{window} AND {window}
"""

# Each row of `two` stands in its own bucket and in both neighbours, so that equal buckets cover the window.
BUCKETED = """
WITH spread AS (SELECT row, ts, key, ts // {window} + near AS bucket
                FROM two, (VALUES (-1), (0), (1)) AS n(near))
SELECT one.row, spread.row FROM one JOIN spread
ON one.key = spread.key AND one.ts // {window} = spread.bucket AND one.ts - spread.ts BETWEEN -{window} AND
{window}
"""


def prepare(case: Case, options: Mapping[str, Any]) -> Job:
    query = BUCKETED if options.get("bucketed") else PLAIN
    return duckdb_job(case, query.format(window=case.window_us))


ENGINE = Engine(kind="batch", needs="duckdb", prepare=prepare, variants=(Variant("plain", rehearsed=True),))
