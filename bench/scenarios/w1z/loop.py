"""The bare C++ loop on W1z: W1's. A batch of 8k rows is shorter than the window, one of 64k rows is six times
as long.
"""

from bench.contract import Variant
from bench.loops import loop_engine

__all__ = ["ENGINE"]

ENGINE = loop_engine(
    __file__,
    Variant("8k batch", {"batch": 8_192}),
    Variant("64k batch", {"batch": 65_536}),
)
