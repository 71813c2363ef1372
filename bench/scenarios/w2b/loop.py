"""The bare C++ loop on W2b: bitmaps of the 1,024 most frequent items and postings of the rest, and plain
counting.
"""

from bench.contract import Variant
from bench.loops import loop_engine

__all__ = ["ENGINE"]

ENGINE = loop_engine(
    __file__,
    Variant("bit-sliced", {"kind": "bit-sliced", "batch": 8_192}),
    Variant("scan-count", {"kind": "scan-count", "batch": 8_192}, repeats=1),
)
