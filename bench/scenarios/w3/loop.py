"""The bare C++ loop on W3: dense float sums, settled in double. See loop.cc."""

from bench.contract import Variant
from bench.loops import loop_engine

__all__ = ["ENGINE"]

ENGINE = loop_engine(__file__, Variant("dense sums", {"batch": 8_192}, repeats=2))
