"""DuckDB on W1z: plain (joins all of time, then filters: one run is enough) and with hand-made time
buckets.
"""

from bench.contract import Engine, Variant
from bench.scenarios.w1.duckdb import prepare

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="batch",
    needs="duckdb",
    prepare=prepare,
    variants=(
        Variant("time buckets", {"bucketed": True}, rehearsed=True),
        Variant("plain", repeats=1, checks=False),  # a minute: the timed run's count is its check
    ),
)
