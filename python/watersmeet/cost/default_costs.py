"""Unit costs to start with on a machine that was never calibrated: measured on another.

AMD EPYC, Python 3.11.7, 2026-11-18: `watersmeet calibrate`,
written by tools/default_costs.py. Only their proportions matter to a choice, and `watersmeet calibrate` puts
a machine's own in their place.
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
        8.0: {"probe": 2.78, "row": 0.17, "block": 14.8},
        96.0: {"probe": 2.78, "row": 0.17, "block": 14.8},
        352.0: {"probe": 10.7, "row": 0.0337, "block": 44.8},
        1056.0: {"probe": 8.15, "row": 0.0396, "block": 41.2, "match": 2.98},
        16416.0: {"row": 0.0475, "block": 40.2, "match": 3.5},
        262176.0: {"row": 0.0597, "block": 22.2, "match": 6.3},
    },
    ("equal", "hash"): {
        8.0: {"probe": 5.75, "step": 2.41, "insert": 4.48},
        96.0: {"probe": 5.21, "step": 3.06, "insert": 4.2},
        352.0: {"probe": 5.98, "step": 2.89, "insert": 4.29, "expire": 0.0},
        1056.0: {"probe": 5.95, "step": 2.66, "insert": 4.18},
        16416.0: {"probe": 6.34, "step": 2.64, "insert": 4.15, "expire": 0.0355},
        262176.0: {"probe": 29.2, "step": 2.26, "insert": 8.26},
    },
    ("band", "scan"): {
        8.0: {"probe": 4.43, "row": 0.187, "block": 16.2},
        96.0: {"probe": 4.43, "row": 0.187, "block": 16.2},
        352.0: {"probe": 10.0, "row": 0.0791, "block": 45.4, "match": 7.02},
        1056.0: {"probe": 8.28, "row": 0.0836, "block": 43.6, "match": 8.21},
        16416.0: {"probe": 6.96, "row": 0.0842, "block": 44.6, "match": 8.55},
        262176.0: {"row": 0.0877, "block": 39.4, "match": 9.2},
    },
    ("overlap", "scan"): {
        8.0: {"probe": 13.5, "row": 4.74},
        96.0: {"probe": 13.5, "row": 4.74},
        352.0: {"probe": 6.56, "row": 4.81},
        1056.0: {"row": 4.84},
        16416.0: {"row": 5.38},
        65568.0: {"probe": 12500.0, "row": 5.51},
    },
    ("overlap", "inverted/heap"): {
        8.0: {"probe": 20.6, "look_up": 0.0, "step": 4.95, "insert": 76.1, "expire": 59.1},
        96.0: {"probe": 20.6, "look_up": 0.0, "step": 4.95, "insert": 85.3, "expire": 59.1},
        352.0: {"step": 5.56, "insert": 90.4, "expire": 49.1},
        1056.0: {"look_up": 29.6, "step": 5.63, "insert": 79.9, "expire": 44.3},
        16416.0: {"look_up": 139.0, "step": 5.22, "insert": 82.0, "expire": 21.4},
        65568.0: {"probe": 71600.0, "look_up": 0.0, "step": 1.08, "insert": 65.9},
    },
    ("overlap", "inverted/count"): {
        8.0: {"probe": 10.3, "look_up": 7.22, "word": 108.0, "insert": 70.3, "expire": 55.2},
        96.0: {"probe": 10.3, "look_up": 7.22, "word": 108.0, "insert": 86.0, "expire": 55.2},
        352.0: {"look_up": 20.2, "word": 61.7, "insert": 85.5, "expire": 50.3},
        1056.0: {"look_up": 45.6, "word": 42.6, "insert": 80.2, "expire": 44.9},
        16416.0: {"look_up": 101.0, "word": 41.9, "insert": 79.9, "expire": 20.7},
        65568.0: {"look_up": 1950.0, "word": 18.2, "insert": 59.0},
    },
    ("overlap", "inverted/bitmap"): {
        8.0: {"probe": 52.7, "word": 18.8, "insert": 80.0, "expire": 49.7},
        96.0: {"probe": 52.7, "word": 18.8, "insert": 81.9, "expire": 49.7},
        352.0: {"probe": 130.0, "word": 14.0, "insert": 84.0, "expire": 50.1},
        1056.0: {"look_up": 36.6, "insert": 83.0, "expire": 40.9},
        16416.0: {"word": 1.5, "insert": 81.9, "expire": 14.0},
        65568.0: {"look_up": 391.0, "word": 0.52, "insert": 67.2},
    },
    ("overlap", "inverted-by-id"): {
        8.0: {"probe": 10.5, "look_up": 0.698, "step": 5.14, "insert": 478.0, "expire": 210.0},
        96.0: {"probe": 10.5, "look_up": 0.698, "step": 5.14, "insert": 484.0, "expire": 210.0},
        352.0: {"step": 6.09, "insert": 474.0, "expire": 212.0},
        1056.0: {"step": 9.0, "insert": 471.0, "expire": 238.0},
        16416.0: {"look_up": 0.0, "step": 39.5, "insert": 462.0, "expire": 289.0},
        65568.0: {"probe": 1270000.0, "look_up": 89100.0, "step": 42.4, "insert": 675.0, "expire": 858.0},
    },
    ("weighted", "scan"): {
        8.0: {"probe": 0.0, "row": 33.7},
        96.0: {"probe": 0.0, "row": 33.7},
        352.0: {"probe": 0.0, "row": 34.3},
        1056.0: {"row": 34.5},
        16416.0: {"row": 34.8},
        65568.0: {"probe": 75100.0, "row": 30.6},
    },
    ("weighted", "inverted/heap"): {
        8.0: {"look_up": 1.55, "step": 18.9, "insert": 111.0, "expire": 5.86},
        96.0: {"look_up": 1.55, "step": 18.9, "insert": 112.0, "expire": 5.86},
        352.0: {"look_up": 10.0, "step": 18.6, "insert": 110.0, "expire": 28.1},
        1056.0: {"look_up": 104.0, "step": 17.5, "insert": 115.0, "expire": 59.0},
        16416.0: {"look_up": 383.0, "step": 16.6, "insert": 104.0, "expire": 32.0},
        65568.0: {"probe": 81400.0, "look_up": 5420.0, "step": 9.66, "insert": 101.0},
    },
    ("weighted", "inverted/count"): {
        8.0: {"look_up": 10.2, "word": 59.0, "insert": 115.0, "expire": 15.5},
        96.0: {"look_up": 10.2, "word": 59.0, "insert": 111.0, "expire": 15.5},
        352.0: {"look_up": 21.0, "word": 36.2, "insert": 102.0, "expire": 42.4},
        1056.0: {"look_up": 65.3, "word": 12.6, "insert": 101.0, "expire": 67.9},
        16416.0: {"look_up": 67.3, "word": 26.1, "insert": 99.8, "expire": 34.3},
        65568.0: {"look_up": 1340.0, "word": 16.5, "insert": 113.0},
    },
    ("weighted", "inverted/bitmap"): {
        8.0: {"probe": 43.1, "look_up": 2.98, "word": 8.7, "insert": 116.0, "expire": 21.3},
        96.0: {"probe": 43.1, "look_up": 2.98, "word": 8.7, "insert": 104.0, "expire": 21.3},
        352.0: {"look_up": 12.4, "word": 7.1, "insert": 102.0, "expire": 44.1},
        1056.0: {"look_up": 22.1, "word": 5.79, "insert": 107.0, "expire": 59.7},
        16416.0: {"look_up": 22.3, "word": 6.04, "insert": 102.0, "expire": 29.5},
        65568.0: {"look_up": 1130.0, "word": 2.7, "insert": 104.0, "expire": 0.0},
    },
    ("weighted", "inverted-by-id"): {
        8.0: {"look_up": 0.0, "step": 18.7, "insert": 477.0, "expire": 196.0},
        96.0: {"look_up": 0.0, "step": 18.7, "insert": 449.0, "expire": 196.0},
        352.0: {"step": 20.8, "insert": 474.0, "expire": 224.0},
        1056.0: {"step": 27.3, "insert": 472.0, "expire": 252.0},
        16416.0: {"step": 57.3, "insert": 472.0, "expire": 361.0},
        65568.0: {"probe": 1350000.0, "look_up": 85800.0, "step": 69.3, "insert": 691.0, "expire": 858.0},
    },
    ("every", "scan"): {
        8.0: {"probe": 2.48, "match": 1.0},
        96.0: {"probe": 2.48, "match": 1.0},
        352.0: {"probe": 3.53, "match": 0.993},
        1056.0: {"probe": 18.3, "match": 0.951},
        16416.0: {"match": 1.1},
        262176.0: {"probe": 1110.0, "match": 1.27},
    },
}

DEFAULT_CURVES: Final[Mapping[tuple[Kind, Structure], CostCurve]] = MappingProxyType(
    {
        key: CostCurve(tuple((rows, OperationCosts(**costs)) for rows, costs in sizes.items()))
        for key, sizes in _MEASURED.items()
    }
)

DEFAULT_INGEST: Final[Mapping[Kind, float]] = MappingProxyType(
    {"equal": 7.12, "band": 9.58, "overlap": 291.0, "weighted": 489.0, "every": 6.23}
)
