"""Unit costs to start with on a machine that was never calibrated: measured on another.

AMD EPYC, Python 3.11.7, 2026-11-18: `watersmeet calibrate`, written by tools/default_costs.py; the
machine was idle but for the lines of "every", which were measured beside other work. Only
their proportions matter to a choice, and `watersmeet calibrate` puts a machine's own in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from watersmeet.cost.unit_costs import CostCurve, Kind, OperationCosts, Structure

__all__ = ["DEFAULT_CURVES", "DEFAULT_INGEST"]

# Nanoseconds by kind of predicate, structure, rows of the window, and operation.
_MEASURED: Final[Mapping[tuple[Kind, Structure], Mapping[float, Mapping[str, float]]]] = {
    ("equal", "scan"): {
        96.0: {"probe": 10.0, "row": 0.041, "block": 24.9, "match": 0.628},
        1056.0: {"probe": 10.0, "row": 0.041, "block": 24.9, "match": 0.628},
        16416.0: {"probe": 1.35, "row": 0.0496, "block": 19.4, "match": 3.66},
        262176.0: {"row": 0.0574, "block": 31.5, "match": 2.22},
    },
    ("equal", "hash"): {
        96.0: {"probe": 4.72, "step": 3.22, "insert": 6.04},
        1056.0: {"probe": 5.74, "step": 4.04, "insert": 4.85},
        16416.0: {"probe": 5.84, "step": 4.56, "insert": 5.34, "expire": 0.0},
        262176.0: {"probe": 7.02, "step": 3.08, "insert": 8.98},
    },
    ("band", "scan"): {
        96.0: {"probe": 9.89, "row": 0.0801, "block": 50.9, "match": 0.0},
        1056.0: {"probe": 9.89, "row": 0.0801, "block": 50.9, "match": 0.0},
        16416.0: {"probe": 0.681, "row": 0.0871, "block": 50.4, "match": 1.43},
        262176.0: {"row": 0.0871, "block": 57.6, "match": 7.61},
    },
    ("overlap", "scan"): {
        96.0: {"probe": 0.0, "row": 4.83},
        1056.0: {"probe": 0.0, "row": 4.83},
        16416.0: {"row": 5.03},
        65568.0: {"probe": 4960.0, "row": 4.87},
    },
    ("overlap", "inverted/heap"): {
        96.0: {"step": 3.6, "insert": 89.3, "expire": 78.1},
        1056.0: {"step": 3.6, "insert": 79.2, "expire": 78.1},
        16416.0: {"probe": 223.0, "step": 4.23, "insert": 85.9, "expire": 0.0543},
        65568.0: {"probe": 7430.0, "step": 3.7, "insert": 57.4},
    },
    ("overlap", "inverted/count"): {
        96.0: {"probe": 47.2, "step": 1.08, "word": 1.88, "insert": 78.2, "expire": 77.1},
        1056.0: {"probe": 47.2, "step": 1.08, "word": 1.88, "insert": 74.0, "expire": 77.1},
        16416.0: {
            "probe": 124.0,
            "look_up": 0.0356,
            "step": 0.646,
            "word": 6.55,
            "insert": 73.3,
            "expire": 0.0465,
        },
        65568.0: {"look_up": 73.9, "step": 0.836, "word": 0.539, "insert": 63.5, "expire": 0.0},
    },
    ("overlap", "inverted/bitmap"): {
        96.0: {"probe": 103.0, "look_up": 2.12, "word": 0.364, "insert": 69.8, "expire": 80.3},
        1056.0: {"probe": 103.0, "look_up": 2.12, "word": 0.364, "insert": 81.1, "expire": 80.3},
        16416.0: {"look_up": 19.5, "word": 0.164, "insert": 79.9, "expire": 0.0475},
        65568.0: {"look_up": 23.8, "word": 0.154, "insert": 62.3},
    },
    ("weighted", "scan"): {
        96.0: {"row": 25.1},
        1056.0: {"row": 25.1},
        16416.0: {"row": 30.4},
        65568.0: {"row": 34.3},
    },
    ("weighted", "inverted/heap"): {
        96.0: {"step": 14.9, "insert": 95.2, "expire": 62.6},
        1056.0: {"step": 14.9, "insert": 102.0, "expire": 62.6},
        16416.0: {"probe": 0.0, "step": 15.4, "insert": 114.0, "expire": 0.0455},
        65568.0: {"step": 16.2, "insert": 120.0, "expire": 0.0},
    },
    ("weighted", "inverted/count"): {
        96.0: {"probe": 50.1, "look_up": 0.0, "word": 16.2, "insert": 112.0, "expire": 88.6},
        1056.0: {"probe": 50.1, "look_up": 0.0, "word": 16.2, "insert": 92.3, "expire": 88.6},
        16416.0: {"look_up": 7.47, "step": 0.285, "word": 9.21, "insert": 102.0, "expire": 0.0406},
        65568.0: {
            "probe": 0.0,
            "look_up": 84.2,
            "step": 0.576,
            "word": 0.587,
            "insert": 104.0,
            "expire": 0.0,
        },
    },
    ("weighted", "inverted/bitmap"): {
        96.0: {"probe": 51.2, "word": 1.34, "insert": 112.0, "expire": 65.9},
        1056.0: {"probe": 51.2, "word": 1.34, "insert": 105.0, "expire": 65.9},
        16416.0: {"probe": 74.1, "word": 1.34, "insert": 96.8, "expire": 0.0659},
        65568.0: {"probe": 1560.0, "word": 0.982, "insert": 101.0, "expire": 0.0},
    },
    ("every", "scan"): {
        1056.0: {"match": 0.419},
        16416.0: {"match": 1.53},
    },
}

DEFAULT_CURVES: Final[Mapping[tuple[Kind, Structure], CostCurve]] = MappingProxyType(
    {
        key: CostCurve(tuple((rows, OperationCosts(**costs)) for rows, costs in sizes.items()))
        for key, sizes in _MEASURED.items()
    }
)

DEFAULT_INGEST: Final[Mapping[Kind, float]] = MappingProxyType(
    {"equal": 7.61, "band": 9.52, "overlap": 301.0, "weighted": 528.0, "every": 7.23}
)
