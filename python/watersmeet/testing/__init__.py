"""Public helpers for testing code that joins streams.

`brute_force_join` is the definition of the answer, spelled out pair by pair; `ManualClock` replaces the wall
clock; the generators make seeded streams as Arrow tables, among them the workload of [Gedik].
"""

from __future__ import annotations

from watersmeet.testing.brute_force import brute_force_join, matching_rows
from watersmeet.testing.clock import ManualClock
from watersmeet.testing.generators import (
    band_stream,
    disordered,
    gedik_streams,
    keyed_stream,
    set_stream,
    timestamps,
    weighted_stream,
)
from watersmeet.testing.oracle import (
    CellTrace,
    best_by_cell,
    best_by_lag,
    cell_trace,
    full_answer,
    result_seconds,
)

__all__ = [
    "CellTrace",
    "ManualClock",
    "band_stream",
    "best_by_cell",
    "best_by_lag",
    "brute_force_join",
    "cell_trace",
    "disordered",
    "full_answer",
    "gedik_streams",
    "keyed_stream",
    "matching_rows",
    "result_seconds",
    "set_stream",
    "timestamps",
    "weighted_stream",
]
