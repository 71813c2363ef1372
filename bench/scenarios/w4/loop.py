"""The bare C++ loop on W4: three rings of linked rows. See loop.cc."""

from bench.contract import Variant
from bench.loops import loop_engine

__all__ = ["ENGINE"]

ENGINE = loop_engine(__file__, Variant("three rings", {"batch": 65_536}))
