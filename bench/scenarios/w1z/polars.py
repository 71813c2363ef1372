"""Polars on W1z: W1's plan joins all of time before it filters, so it gets a twentieth of the stream."""

from bench.contract import Engine, Variant
from bench.scenarios.w1.polars import prepare

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="batch",
    needs="polars",
    prepare=prepare,
    variants=(Variant("streaming engine", {"engine": "streaming"}, scale=0.05),),
)
