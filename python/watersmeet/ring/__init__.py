"""Planning a ring of slices, without running one ([PSP]).

How long: tune. Where to cut at first: slicing. Keeping slices equally full: smoothing. Moving state when the
ring changes: relocation; when to change it: resizing. Which window first: ordering. The simulator of rings,
and of what competes with them, is in `watersmeet.ring.simulation`; it needs simpy.
"""

from __future__ import annotations

from watersmeet.ring.load import RingLoad, UnitCosts
from watersmeet.ring.ordering import OrderingRule, OrderingState, StepCounts, adapt_orderings, ordering_cost
from watersmeet.ring.relocation import (
    PassivePlan,
    RelocationPlan,
    adjust_passively,
    boundary_flows,
    relocate,
)
from watersmeet.ring.resizing import ResizeRule, ResizeState, RingStatistics, adapt_length
from watersmeet.ring.slicing import Slicing, even_boundaries, latency_of_lengths, slice_initially
from watersmeet.ring.smoothing import SliceBounds, SmoothingRule, SmoothingState, rows_handed_on, smooth
from watersmeet.ring.tune import RingLength, latency, output_rate, tune, tune_load

__all__ = [
    "OrderingRule",
    "OrderingState",
    "PassivePlan",
    "RelocationPlan",
    "ResizeRule",
    "ResizeState",
    "RingLength",
    "RingLoad",
    "RingStatistics",
    "SliceBounds",
    "Slicing",
    "SmoothingRule",
    "SmoothingState",
    "StepCounts",
    "UnitCosts",
    "adapt_length",
    "adapt_orderings",
    "adjust_passively",
    "boundary_flows",
    "even_boundaries",
    "latency",
    "latency_of_lengths",
    "ordering_cost",
    "output_rate",
    "relocate",
    "rows_handed_on",
    "slice_initially",
    "smooth",
    "tune",
    "tune_load",
]
