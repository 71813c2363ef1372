"""The bare C++ loop on W2: bit-sliced counters, and plain counting. See loop.cc."""

from bench.contract import Variant
from bench.loops import loop_engine

__all__ = ["ENGINE"]

ENGINE = loop_engine(
    __file__,
    Variant("bit-sliced", {"kind": "bit-sliced", "batch": 1_024}),
    Variant("scan-count", {"kind": "scan-count", "batch": 1_024}),
)
