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
        8.0: {"probe": 3.0, "row": 0.138, "block": 11.9, "match": 0.0},
        96.0: {"probe": 3.0, "row": 0.138, "block": 11.9, "match": 0.0},
        352.0: {"probe": 12.0, "row": 0.0177, "block": 21.7, "match": 0.0},
        1056.0: {"probe": 3.0, "row": 0.0432, "block": 18.5, "match": 0.846},
        16416.0: {"probe": 2.67, "row": 0.0432, "block": 15.8, "match": 3.2},
        262176.0: {"row": 0.05, "block": 25.9, "match": 1.96},
    },
    ("equal", "hash"): {
        8.0: {"probe": 4.24, "step": 2.54, "insert": 3.86},
        96.0: {"probe": 4.0, "step": 2.6, "insert": 4.07},
        352.0: {"probe": 4.16, "step": 2.46, "insert": 4.04},
        1056.0: {"probe": 5.0, "step": 3.24, "insert": 4.16},
        16416.0: {"probe": 4.83, "step": 4.12, "insert": 3.73, "expire": 0.807},
        262176.0: {"probe": 6.57, "step": 2.31, "insert": 6.7},
    },
    ("band", "scan"): {
        8.0: {"probe": 4.35, "row": 0.17, "block": 13.8},
        96.0: {"probe": 4.35, "row": 0.17, "block": 13.8},
        352.0: {"probe": 10.7, "row": 0.0667, "block": 30.1, "match": 0.276},
        1056.0: {"probe": 6.57, "row": 0.0797, "block": 29.7, "match": 0.105},
        16416.0: {"probe": 10.6, "row": 0.0716, "block": 32.7, "match": 1.02},
        262176.0: {"row": 0.0742, "block": 36.8, "match": 8.24},
    },
    ("overlap", "scan"): {
        8.0: {"probe": 0.0, "row": 3.45},
        96.0: {"probe": 0.0, "row": 3.45},
        352.0: {"probe": 1.97, "row": 4.36},
        1056.0: {"probe": 0.0, "row": 4.37},
        16416.0: {"probe": 63.2, "row": 4.32},
        65568.0: {"probe": 0.0, "row": 4.35},
    },
    ("overlap", "inverted/heap"): {
        8.0: {"probe": 0.0, "step": 2.55, "insert": 66.7, "expire": 55.1},
        96.0: {"probe": 0.0, "step": 2.55, "insert": 71.7, "expire": 55.1},
        352.0: {"step": 3.16, "insert": 68.2, "expire": 64.2},
        1056.0: {"step": 3.79, "insert": 64.4, "expire": 63.8},
        16416.0: {"probe": 217.0, "step": 3.63, "insert": 75.5, "expire": 9.79},
        65568.0: {"probe": 6470.0, "step": 3.17, "insert": 62.1, "expire": 0.0},
    },
    ("overlap", "inverted/count"): {
        8.0: {"probe": 15.3, "look_up": 0.0, "step": 2.31, "insert": 70.3, "expire": 55.7},
        96.0: {"probe": 15.3, "look_up": 0.0, "step": 2.31, "insert": 73.2, "expire": 55.7},
        352.0: {"probe": 39.4, "step": 1.38, "word": 2.29, "insert": 70.2, "expire": 59.9},
        1056.0: {"probe": 89.6, "step": 0.704, "word": 8.11, "insert": 67.7, "expire": 64.3},
        16416.0: {
            "probe": 76.0,
            "look_up": 6.02,
            "step": 0.838,
            "word": 2.83,
            "insert": 72.9,
            "expire": 9.09,
        },
        65568.0: {"probe": 67.1, "look_up": 38.9, "step": 0.92, "word": 0.0, "insert": 62.6},
    },
    ("overlap", "inverted/bitmap"): {
        8.0: {"probe": 14.5, "word": 6.94, "insert": 68.6, "expire": 56.5},
        96.0: {"probe": 14.5, "word": 6.94, "insert": 74.2, "expire": 56.5},
        352.0: {"probe": 63.0, "word": 5.09, "insert": 70.3, "expire": 56.8},
        1056.0: {"look_up": 23.7, "insert": 70.9, "expire": 62.8},
        16416.0: {"look_up": 17.3, "word": 0.147, "insert": 70.9, "expire": 9.46},
        65568.0: {"look_up": 22.1, "word": 0.135, "insert": 59.9},
    },
    ("overlap", "inverted-by-id"): {
        8.0: {"probe": 8.19, "step": 3.76, "insert": 433.0, "expire": 187.0},
        96.0: {"probe": 8.19, "step": 3.76, "insert": 439.0, "expire": 187.0},
        352.0: {"probe": 0.0, "step": 3.86, "insert": 430.0, "expire": 190.0},
        1056.0: {"step": 3.86, "insert": 444.0, "expire": 226.0},
        16416.0: {"probe": 111.0, "step": 3.71, "insert": 433.0, "expire": 307.0},
        65568.0: {"probe": 8170.0, "step": 3.14, "insert": 658.0, "expire": 825.0},
    },
    ("weighted", "scan"): {
        8.0: {"row": 17.7},
        96.0: {"row": 17.7},
        352.0: {"row": 20.8},
        1056.0: {"row": 22.8},
        16416.0: {"row": 25.7},
        65568.0: {"row": 28.8},
    },
    ("weighted", "inverted/heap"): {
        8.0: {"step": 11.4, "insert": 109.0, "expire": 26.8},
        96.0: {"step": 11.4, "insert": 110.0, "expire": 26.8},
        352.0: {"step": 12.4, "insert": 109.0, "expire": 28.9},
        1056.0: {"step": 12.7, "insert": 121.0, "expire": 41.5},
        16416.0: {"step": 13.2, "insert": 102.0, "expire": 22.0},
        65568.0: {"step": 14.1, "insert": 107.0, "expire": 0.0},
    },
    ("weighted", "inverted/count"): {
        8.0: {"probe": 29.7, "look_up": 0.0, "step": 0.401, "word": 14.8, "insert": 109.0, "expire": 33.1},
        96.0: {"probe": 29.7, "look_up": 0.0, "step": 0.401, "word": 14.8, "insert": 114.0, "expire": 33.1},
        352.0: {"probe": 48.5, "look_up": 0.0, "step": 0.232, "word": 6.23, "insert": 116.0, "expire": 28.8},
        1056.0: {"probe": 34.1, "look_up": 0.0, "step": 0.128, "word": 11.2, "insert": 112.0, "expire": 47.2},
        16416.0: {
            "probe": 10.4,
            "look_up": 7.31,
            "step": 0.289,
            "word": 5.26,
            "insert": 96.6,
            "expire": 21.7,
        },
        65568.0: {"probe": 0.0, "look_up": 10.3, "step": 0.322, "word": 4.53, "insert": 99.7},
    },
    ("weighted", "inverted/bitmap"): {
        8.0: {"probe": 31.3, "word": 1.94, "insert": 111.0, "expire": 34.9},
        96.0: {"probe": 31.3, "word": 1.94, "insert": 110.0, "expire": 34.9},
        352.0: {"probe": 51.5, "word": 0.966, "insert": 112.0, "expire": 41.7},
        1056.0: {"probe": 59.5, "word": 1.08, "insert": 114.0, "expire": 54.2},
        16416.0: {"probe": 98.5, "word": 1.04, "insert": 107.0, "expire": 22.5},
        65568.0: {"probe": 967.0, "word": 0.871, "insert": 105.0, "expire": 0.0},
    },
    ("weighted", "inverted-by-id"): {
        8.0: {"step": 11.6, "insert": 455.0, "expire": 197.0},
        96.0: {"step": 11.6, "insert": 457.0, "expire": 197.0},
        352.0: {"step": 14.5, "insert": 452.0, "expire": 214.0},
        1056.0: {"probe": 97.7, "step": 14.5, "insert": 459.0, "expire": 231.0},
        16416.0: {"step": 15.4, "insert": 455.0, "expire": 280.0},
        65568.0: {"step": 18.3, "insert": 664.0, "expire": 825.0},
    },
    ("every", "scan"): {
        8.0: {"probe": 0.0, "match": 1.13},
        96.0: {"probe": 0.0, "match": 1.13},
        352.0: {"match": 1.31},
        1056.0: {"match": 7.86},
        16416.0: {"probe": 0.0, "match": 8.0},
        262176.0: {"match": 9.56},
    },
}

DEFAULT_CURVES: Final[Mapping[tuple[Kind, Structure], CostCurve]] = MappingProxyType(
    {
        key: CostCurve(tuple((rows, OperationCosts(**costs)) for rows, costs in sizes.items()))
        for key, sizes in _MEASURED.items()
    }
)

DEFAULT_INGEST: Final[Mapping[Kind, float]] = MappingProxyType(
    {"equal": 4.14, "band": 5.93, "overlap": 270.0, "weighted": 456.0, "every": 4.29}
)
