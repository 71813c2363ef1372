"""Unit costs to start with on a machine that was never calibrated: round figures of one x86-64 server core.

Only their proportions matter to a choice. `watersmeet calibrate` replaces them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from watersmeet.cost.unit_costs import CostCurve, Kind, OperationCosts, Structure

__all__ = ["DEFAULT_CURVES", "DEFAULT_INGEST"]

_SIZES: Final = (1e3, 1e5, 1e6)


def _curve(*, growth: tuple[float, float, float], **costs: float) -> CostCurve:
    """Costs at 1e3 rows; look-ups, insertions and expiry grow with the size by the factors given."""
    grown = ("look_up", "insert", "expire")
    return CostCurve(
        tuple(
            (
                size,
                OperationCosts(
                    **{name: cost * (factor if name in grown else 1.0) for name, cost in costs.items()}
                ),
            )
            for size, factor in zip(_SIZES, growth, strict=True)
        )
    )


_SAME: Final = (1.0, 1.0, 1.0)
_HASHED: Final = (1.0, 2.0, 5.0)
_LISTED: Final = (1.0, 1.3, 2.0)

DEFAULT_CURVES: Final[Mapping[tuple[Kind, Structure], CostCurve]] = MappingProxyType(
    {
        ("equal", "scan"): _curve(growth=_SAME, probe=8, row=0.15, block=25, match=2),
        ("equal", "hash"): _curve(growth=_HASHED, probe=8, look_up=8, step=1.5, match=2, insert=8, expire=8),
        ("band", "scan"): _curve(growth=_SAME, probe=8, row=0.2, block=30, match=2),
        ("overlap", "scan"): _curve(growth=_SAME, probe=20, row=1.5, match=10, insert=10),
        ("overlap", "inverted/heap"): _curve(
            growth=_LISTED, probe=60, look_up=15, step=2.5, match=8, insert=60, expire=40
        ),
        ("overlap", "inverted/count"): _curve(
            growth=_LISTED, probe=60, look_up=15, step=0.8, word=0.3, match=8, insert=60, expire=40
        ),
        ("overlap", "inverted/bitmap"): _curve(
            growth=_LISTED, probe=60, look_up=15, step=1.2, word=0.5, match=8, insert=70, expire=50
        ),
        ("weighted", "scan"): _curve(growth=_SAME, probe=20, row=3, match=20, insert=12),
        ("weighted", "inverted/heap"): _curve(
            growth=_LISTED, probe=80, look_up=15, step=3, match=25, insert=60, expire=40
        ),
        ("weighted", "inverted/count"): _curve(
            growth=_LISTED, probe=80, look_up=15, step=1, word=0.3, match=25, insert=60, expire=40
        ),
        ("weighted", "inverted/bitmap"): _curve(
            growth=_LISTED, probe=80, look_up=15, step=1.4, word=0.5, match=25, insert=70, expire=50
        ),
        ("every", "scan"): _curve(growth=_SAME, probe=8, match=2),
    }
)

DEFAULT_INGEST: Final[Mapping[Kind, float]] = MappingProxyType(
    {"equal": 20.0, "band": 20.0, "overlap": 150.0, "weighted": 200.0, "every": 15.0}
)
