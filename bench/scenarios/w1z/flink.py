"""Flink on W1z: W1's query on 200k rows per side; the figure holds its fixed cost."""

from bench.contract import Engine, Variant
from bench.scenarios.w1.flink import prepare

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="streaming",
    needs="flink",
    prepare=prepare,
    warm=False,
    pinned=False,
    variants=(Variant("SQL interval join, 200k rows", resize={"rows": 200_000}, repeats=1),),
)
