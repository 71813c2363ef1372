"""Joins on many nodes in virtual time, fed with unit costs as values; needs simpy.

`pipeline`: the ring (PSP, PSP-I). `fan_out`: SplitJoin. `replication`: ATR and CTR. `mean_value`: closed
forms for sizes beyond simulation.
"""

from __future__ import annotations

from watersmeet.ring.simulation.fan_out import simulate_split
from watersmeet.ring.simulation.mean_value import expect_ring, expect_split
from watersmeet.ring.simulation.outcome import Outcome, response_from_arrival
from watersmeet.ring.simulation.pipeline import simulate_ring
from watersmeet.ring.simulation.replication import simulate_aligned, simulate_coordinated

__all__ = [
    "Outcome",
    "expect_ring",
    "expect_split",
    "response_from_arrival",
    "simulate_aligned",
    "simulate_coordinated",
    "simulate_ring",
    "simulate_split",
]
