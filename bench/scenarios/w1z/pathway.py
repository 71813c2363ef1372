"""Pathway on W1z: W1's join on 100k rows per side."""

from bench.contract import Engine, Variant
from bench.scenarios.w1.pathway import prepare

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="streaming",
    needs="pathway",
    prepare=prepare,
    warm=False,
    variants=(Variant("static tables", resize={"rows": 100_000}, repeats=1),),
)
