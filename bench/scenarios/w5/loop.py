"""The bare C++ loop on W5: every pair of the window. See loop.cc."""

from bench.contract import Variant
from bench.loops import loop_engine

__all__ = ["ENGINE"]

ENGINE = loop_engine(
    __file__,
    Variant("whole images", {"kind": "whole", "batch": 64}),
    Variant("early exit", {"kind": "early-exit", "batch": 64}),
)
