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

__all__ = [
    "ManualClock",
    "band_stream",
    "brute_force_join",
    "disordered",
    "gedik_streams",
    "keyed_stream",
    "matching_rows",
    "set_stream",
    "timestamps",
    "weighted_stream",
]
