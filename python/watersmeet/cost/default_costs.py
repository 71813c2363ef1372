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
        8.0: {"probe": 3.9, "row": 0.15, "block": 11.8, "match": 0.0},
        96.0: {"probe": 3.9, "row": 0.15, "block": 11.8, "match": 0.0},
        352.0: {"probe": 13.6, "row": 0.0169, "block": 23.6, "match": 0.0},
        1056.0: {"probe": 3.56, "row": 0.0455, "block": 19.1, "match": 1.2},
        16416.0: {"probe": 0.242, "row": 0.0481, "block": 16.9, "match": 3.32},
        262176.0: {"row": 0.0554, "block": 27.5, "match": 2.06},
    },
    ("equal", "hash"): {
        8.0: {"probe": 4.35, "step": 2.71, "insert": 4.86},
        96.0: {"probe": 4.3, "step": 2.83, "insert": 4.64},
        352.0: {"probe": 4.25, "step": 2.74, "insert": 4.63},
        1056.0: {"probe": 5.29, "step": 3.69, "insert": 4.54},
        16416.0: {"probe": 5.02, "step": 4.36, "insert": 5.5, "expire": 0.0},
        262176.0: {"probe": 6.74, "step": 3.29, "insert": 7.7},
    },
    ("band", "scan"): {
        8.0: {"probe": 4.44, "row": 0.184, "block": 15.0},
        96.0: {"probe": 4.44, "row": 0.184, "block": 15.0},
        352.0: {"probe": 11.5, "row": 0.0723, "block": 33.0, "match": 0.126},
        1056.0: {"probe": 5.75, "row": 0.0896, "block": 32.6, "match": 0.0497},
        16416.0: {"probe": 5.89, "row": 0.0848, "block": 35.0, "match": 1.41},
        262176.0: {"row": 0.0845, "block": 33.0, "match": 9.43},
    },
    ("overlap", "scan"): {
        8.0: {"probe": 1.51, "row": 4.83},
        96.0: {"probe": 1.51, "row": 4.83},
        352.0: {"probe": 0.0, "row": 4.89},
        1056.0: {"probe": 8.88, "row": 4.91},
        16416.0: {"probe": 111.0, "row": 4.82},
        65568.0: {"row": 4.9},
    },
    ("overlap", "inverted/heap"): {
        8.0: {"probe": 18.1, "look_up": 0.0, "step": 2.77, "insert": 75.8, "expire": 68.3},
        96.0: {"probe": 18.1, "look_up": 0.0, "step": 2.77, "insert": 75.5, "expire": 68.3},
        352.0: {"step": 3.42, "insert": 73.8, "expire": 75.8},
        1056.0: {"probe": 16.2, "step": 4.23, "insert": 79.1, "expire": 76.6},
        16416.0: {"probe": 167.0, "step": 4.02, "insert": 88.8, "expire": 0.0552},
        65568.0: {"probe": 8000.0, "step": 3.47, "insert": 69.6},
    },
    ("overlap", "inverted/count"): {
        8.0: {"probe": 31.9, "look_up": 0.523, "step": 1.72, "insert": 76.3, "expire": 54.8},
        96.0: {"probe": 31.9, "look_up": 0.523, "step": 1.72, "insert": 73.6, "expire": 54.8},
        352.0: {"probe": 46.6, "step": 1.19, "word": 3.82, "insert": 82.0, "expire": 55.2},
        1056.0: {"probe": 85.2, "look_up": 0.0, "step": 0.6, "word": 9.88, "insert": 69.6, "expire": 83.9},
        16416.0: {
            "probe": 128.0,
            "look_up": 3.1,
            "step": 0.659,
            "word": 4.37,
            "insert": 75.5,
            "expire": 0.0482,
        },
        65568.0: {"look_up": 32.3, "step": 0.753, "word": 1.93, "insert": 67.3, "expire": 0.0},
    },
    ("overlap", "inverted/bitmap"): {
        8.0: {"probe": 35.1, "word": 6.59, "insert": 72.7, "expire": 81.6},
        96.0: {"probe": 35.1, "word": 6.59, "insert": 78.8, "expire": 81.6},
        352.0: {"probe": 76.5, "word": 5.12, "insert": 72.9, "expire": 84.5},
        1056.0: {"probe": 0.0, "look_up": 25.1, "insert": 72.6, "expire": 71.5},
        16416.0: {"probe": 0.0, "look_up": 18.5, "word": 0.151, "insert": 79.3, "expire": 0.0612},
        65568.0: {"look_up": 22.0, "word": 0.144, "insert": 55.9},
    },
    ("weighted", "scan"): {
        8.0: {"row": 17.8},
        96.0: {"row": 17.8},
        352.0: {"row": 23.1},
        1056.0: {"row": 25.9},
        16416.0: {"row": 29.8},
        65568.0: {"probe": 0.0, "row": 33.0},
    },
    ("weighted", "inverted/heap"): {
        8.0: {"step": 12.7, "insert": 112.0, "expire": 65.6},
        96.0: {"step": 12.7, "insert": 67.8, "expire": 65.6},
        352.0: {"step": 14.2, "insert": 143.0, "expire": 50.8},
        1056.0: {"step": 14.4, "insert": 109.0, "expire": 51.3},
        16416.0: {"step": 15.5, "insert": 200.0, "expire": 0.0451},
        65568.0: {"look_up": 579.0, "step": 16.5, "insert": 113.0, "expire": 0.0},
    },
    ("weighted", "inverted/count"): {
        8.0: {"probe": 34.1, "step": 0.826, "word": 0.0, "insert": 115.0, "expire": 20.5},
        96.0: {"probe": 34.1, "step": 0.826, "word": 0.0, "insert": 94.3, "expire": 20.5},
        352.0: {"probe": 32.0, "look_up": 0.0, "step": 0.626, "word": 5.16, "insert": 102.0, "expire": 70.7},
        1056.0: {"probe": 47.5, "step": 0.307, "word": 9.42, "insert": 113.0, "expire": 63.6},
        16416.0: {
            "probe": 33.1,
            "look_up": 2.38,
            "step": 0.33,
            "word": 8.56,
            "insert": 131.0,
            "expire": 0.0595,
        },
        65568.0: {"look_up": 32.4, "step": 0.421, "word": 5.76, "insert": 119.0, "expire": 0.0},
    },
    ("weighted", "inverted/bitmap"): {
        8.0: {"probe": 39.1, "word": 2.61, "insert": 126.0, "expire": 67.1},
        96.0: {"probe": 39.1, "word": 2.61, "insert": 206.0, "expire": 67.1},
        352.0: {"probe": 68.3, "word": 1.11, "insert": 59.2, "expire": 74.9},
        1056.0: {"probe": 70.7, "word": 1.37, "insert": 131.0, "expire": 0.0587},
        16416.0: {"probe": 117.0, "word": 1.36, "insert": 118.0, "expire": 0.0},
        65568.0: {"probe": 1290.0, "word": 1.13, "insert": 92.0, "expire": 0.0},
    },
    ("every", "scan"): {
        8.0: {"probe": 0.116, "match": 1.25},
        96.0: {"probe": 0.116, "match": 1.25},
        352.0: {"match": 1.41},
        1056.0: {"probe": 0.0, "match": 8.35},
        16416.0: {"probe": 278.0, "match": 8.13},
        262176.0: {"match": 9.75},
    },
}

DEFAULT_CURVES: Final[Mapping[tuple[Kind, Structure], CostCurve]] = MappingProxyType(
    {
        key: CostCurve(tuple((rows, OperationCosts(**costs)) for rows, costs in sizes.items()))
        for key, sizes in _MEASURED.items()
    }
)

DEFAULT_INGEST: Final[Mapping[Kind, float]] = MappingProxyType(
    {"equal": 4.57, "band": 6.28, "overlap": 306.0, "weighted": 520.0, "every": 4.73}
)
