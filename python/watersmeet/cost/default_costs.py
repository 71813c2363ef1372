"""Unit costs to start with on a machine that was never calibrated: measured on another.

AMD EPYC, Python 3.11.7, 2026-11-19: `watersmeet calibrate` (of distances and functions while others ran),
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
        8.0: {"probe": 7.32, "row": 0.207, "block": 16.8, "match": 1.43},
        96.0: {"probe": 7.32, "row": 0.207, "block": 16.8, "match": 1.43},
        352.0: {"probe": 17.6, "row": 0.066, "block": 30.7, "match": 0.994},
        1056.0: {"probe": 14.4, "row": 0.0737, "block": 30.6, "match": 1.36},
        16416.0: {"probe": 0.0653, "row": 0.0852, "block": 39.3},
        262176.0: {"row": 0.101, "block": 25.9, "match": 1.14},
    },
    ("equal", "hash"): {
        8.0: {"probe": 9.3, "step": 3.41, "insert": 3.94, "expire": 0.143},
        96.0: {"probe": 9.42, "step": 4.01, "insert": 3.95, "expire": 0.187},
        352.0: {"probe": 10.0, "step": 3.82, "insert": 4.86, "expire": 0.395},
        1056.0: {"probe": 9.94, "step": 3.64, "insert": 3.59, "expire": 0.0273},
        16416.0: {"probe": 10.9, "step": 4.34, "insert": 3.85, "expire": 0.036},
        262176.0: {"probe": 42.5, "step": 3.49, "insert": 8.62, "expire": 0.0304},
    },
    ("band", "scan"): {
        8.0: {"probe": 10.5, "row": 0.369, "block": 14.1, "match": 4.04},
        96.0: {"probe": 10.5, "row": 0.369, "block": 14.1, "match": 4.04},
        352.0: {"probe": 31.6, "row": 0.12, "block": 47.1, "match": 0.315},
        1056.0: {"probe": 41.1, "row": 0.105, "block": 42.0},
        16416.0: {"probe": 13.6, "row": 0.134, "block": 39.8, "match": 0.0},
        262176.0: {"probe": 0.0, "row": 0.139, "block": 32.7, "match": 0.625},
    },
    ("overlap", "scan"): {
        8.0: {"row": 10.4},
        96.0: {"row": 10.4},
        352.0: {"probe": 84.4, "row": 11.1},
        1056.0: {"probe": 1760.0, "row": 6.32},
        16416.0: {"row": 9.27},
        65568.0: {"probe": 70300.0, "row": 6.79},
    },
    ("overlap", "inverted/heap"): {
        8.0: {"probe": 0.0, "look_up": 0.849, "step": 12.0, "insert": 175.0, "expire": 38.0},
        96.0: {"probe": 0.0, "look_up": 0.849, "step": 12.0, "insert": 180.0, "expire": 38.0},
        352.0: {"look_up": 40.1, "step": 10.2, "insert": 180.0, "expire": 45.2},
        1056.0: {"look_up": 186.0, "step": 7.68, "insert": 142.0, "expire": 58.3},
        16416.0: {"look_up": 724.0, "step": 6.91, "insert": 99.0, "expire": 45.2},
        65568.0: {"probe": 113000.0, "look_up": 0.0, "step": 1.38, "insert": 69.9, "expire": 19.9},
    },
    ("overlap", "inverted/count"): {
        8.0: {"look_up": 11.1, "step": 0.0, "word": 774.0, "insert": 163.0, "expire": 47.6},
        96.0: {"look_up": 11.1, "step": 0.0, "word": 774.0, "insert": 258.0, "expire": 47.6},
        352.0: {"probe": 125.0, "look_up": 158.0, "word": 42.6, "insert": 175.0, "expire": 53.6},
        1056.0: {"look_up": 261.0, "word": 26.9, "insert": 145.0, "expire": 59.8},
        16416.0: {"look_up": 305.0, "word": 63.3, "insert": 94.5, "expire": 43.4},
        65568.0: {"look_up": 3080.0, "word": 31.5, "insert": 74.8, "expire": 18.2},
    },
    ("overlap", "inverted/bitmap"): {
        8.0: {"probe": 5.21, "look_up": 7.69, "word": 108.0, "insert": 224.0, "expire": 44.9},
        96.0: {"probe": 5.21, "look_up": 7.69, "word": 108.0, "insert": 171.0, "expire": 44.9},
        352.0: {"probe": 688.0, "look_up": 72.2, "word": 22.2, "insert": 186.0, "expire": 45.4},
        1056.0: {"look_up": 294.0, "word": 1.72, "insert": 135.0, "expire": 58.8},
        16416.0: {"look_up": 307.0, "word": 2.3, "insert": 85.8, "expire": 43.8},
        65568.0: {"word": 4.46, "insert": 73.6, "expire": 19.6},
    },
    ("overlap", "inverted-by-id"): {
        8.0: {"look_up": 22.6, "step": 9.79, "insert": 451.0, "expire": 362.0},
        96.0: {"look_up": 22.6, "step": 9.79, "insert": 398.0, "expire": 362.0},
        352.0: {"look_up": 62.1, "step": 11.2, "insert": 405.0, "expire": 355.0},
        1056.0: {"look_up": 0.0, "step": 15.0, "insert": 410.0, "expire": 368.0},
        16416.0: {"step": 52.8, "insert": 711.0, "expire": 448.0},
        65568.0: {"probe": 1040000.0, "look_up": 118000.0, "step": 58.2, "insert": 1310.0, "expire": 818.0},
    },
    ("weighted", "scan"): {
        8.0: {"probe": 44.6, "row": 43.0},
        96.0: {"probe": 44.6, "row": 43.0},
        352.0: {"row": 44.1},
        1056.0: {"row": 47.6},
        16416.0: {"probe": 5860.0, "row": 46.0},
        65568.0: {"probe": 96600.0, "row": 40.4},
    },
    ("weighted", "inverted/heap"): {
        8.0: {"look_up": 27.1, "step": 23.2, "insert": 233.0, "expire": 42.8},
        96.0: {"look_up": 27.1, "step": 23.2, "insert": 237.0, "expire": 42.8},
        352.0: {"look_up": 47.9, "step": 23.7, "insert": 215.0, "expire": 50.6},
        1056.0: {"look_up": 287.0, "step": 21.2, "insert": 205.0, "expire": 65.8},
        16416.0: {"look_up": 502.0, "step": 24.1, "insert": 151.0, "expire": 51.0},
        65568.0: {"look_up": 23100.0, "step": 17.5, "insert": 129.0, "expire": 21.6},
    },
    ("weighted", "inverted/count"): {
        8.0: {"look_up": 33.3, "word": 221.0, "insert": 219.0, "expire": 40.6},
        96.0: {"look_up": 33.3, "word": 221.0, "insert": 234.0, "expire": 40.6},
        352.0: {"look_up": 79.2, "word": 119.0, "insert": 220.0, "expire": 51.4},
        1056.0: {"look_up": 197.0, "word": 40.3, "insert": 207.0, "expire": 67.7},
        16416.0: {"look_up": 72.6, "word": 140.0, "insert": 171.0, "expire": 53.5},
        65568.0: {"look_up": 7810.0, "word": 7.35, "insert": 146.0, "expire": 24.7},
    },
    ("weighted", "inverted/bitmap"): {
        8.0: {"look_up": 26.1, "word": 34.1, "insert": 225.0, "expire": 41.0},
        96.0: {"look_up": 26.1, "word": 34.1, "insert": 224.0, "expire": 41.0},
        352.0: {"look_up": 43.3, "word": 24.7, "insert": 212.0, "expire": 49.4},
        1056.0: {"look_up": 75.5, "word": 20.9, "insert": 203.0, "expire": 66.6},
        16416.0: {"look_up": 60.6, "word": 23.2, "insert": 152.0, "expire": 52.7},
        65568.0: {"look_up": 6350.0, "word": 2.9, "insert": 206.0, "expire": 27.9},
    },
    ("weighted", "inverted-by-id"): {
        8.0: {"look_up": 2.37, "step": 27.2, "insert": 403.0, "expire": 352.0},
        96.0: {"look_up": 2.37, "step": 27.2, "insert": 412.0, "expire": 352.0},
        352.0: {"step": 33.7, "insert": 428.0, "expire": 359.0},
        1056.0: {"look_up": 831.0, "step": 42.0, "insert": 433.0, "expire": 377.0},
        16416.0: {"step": 93.3, "insert": 954.0, "expire": 514.0},
        65568.0: {"probe": 9430.0, "look_up": 225000.0, "step": 113.0, "insert": 1260.0, "expire": 1010.0},
    },
    ("every", "scan"): {
        8.0: {"probe": 30.5, "match": 3.68},
        96.0: {"probe": 30.5, "match": 3.68},
        352.0: {"probe": 120.0, "match": 2.74},
        1056.0: {"probe": 107.0, "match": 2.78},
        16416.0: {"probe": 521.0, "match": 2.39},
        262176.0: {"match": 2.53},
    },
    ("distance/mean-abs", "scan"): {
        96.0: {"row": 12.8, "word": 0.083},
        1056.0: {"row": 12.8, "word": 0.083},
    },
    ("distance/hamming", "scan"): {
        96.0: {"probe": 0.11, "row": 7.06, "word": 0.548},
        1056.0: {"probe": 0.11, "row": 7.06, "word": 0.548},
    },
    ("where", "scan"): {
        8.0: {"probe": 0.0, "row": 9.0},
        96.0: {"probe": 0.0, "row": 9.0},
        352.0: {"probe": 110.0, "row": 8.03},
        1056.0: {"probe": 0.0, "row": 8.74},
        16416.0: {"probe": 0.0, "row": 9.24},
    },
    ("distance/l2", "scan"): {
        96.0: {"row": 28.7, "word": 0.11},
        1056.0: {"row": 29.1, "word": 0.141},
    },
    ("distance/cosine", "scan"): {
        96.0: {"row": 28.2, "word": 0.0768},
        1056.0: {"row": 29.3, "word": 0.109},
    },
}

DEFAULT_CURVES: Final[Mapping[tuple[Kind, Structure], CostCurve]] = MappingProxyType(
    {
        key: CostCurve(tuple((rows, OperationCosts(**costs)) for rows, costs in sizes.items()))
        for key, sizes in _MEASURED.items()
    }
)

DEFAULT_INGEST: Final[Mapping[Kind, float]] = MappingProxyType(
    {
        "equal": 15.4,
        "band": 18.6,
        "overlap": 350.0,
        "weighted": 597.0,
        "every": 23.1,
        "distance/mean-abs": 156.0,
        "distance/l2": 1470.0,
        "distance/cosine": 1490.0,
        "distance/hamming": 192.0,
        "where": 35.6,
    }
)
