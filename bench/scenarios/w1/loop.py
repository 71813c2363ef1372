"""The bare C++ loop on W1: rings of linked rows, prefetched. See loop.cc."""

from bench.contract import Variant
from bench.loops import loop_engine

__all__ = ["ENGINE"]

ENGINE = loop_engine(
    __file__,
    Variant("64k batch", {"batch": 65_536}),
    Variant("8k batch", {"batch": 8_192}),
    Variant("1k batch", {"batch": 1_024}),
    Variant("64k batch, fresh memory", {"batch": 65_536, "kind": "fresh"}),
)
