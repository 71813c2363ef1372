"""DuckDB on W2b: W2's query on the first second of the streams."""

from bench.contract import Engine, Variant
from bench.scenarios.w2.duckdb import prepare

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="batch", needs="duckdb", prepare=prepare, variants=(Variant("1 s prefix", resize={"rows": 5_000}),)
)
