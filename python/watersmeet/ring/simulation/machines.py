"""Nodes and links in virtual time: first come, first served, one thing at a time (SPEC 1.4, VT).

A node's or link's future is fixed by what it has accepted, so accepting work at once gives the times at
which it begins and ends; simpy keeps the order of what happens between machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy

from watersmeet.ring.load import UnitCosts

__all__ = ["CONTROL_BYTES", "Link", "Node", "at_time"]

CONTROL_BYTES = 64.0  # an END message


class Node:
    """One processor with a queue before it."""

    __slots__ = ("busy_s", "free_at")

    def __init__(self) -> None:
        self.free_at = 0.0
        self.busy_s = 0.0

    def work(self, now: float, duration_s: float) -> tuple[float, float]:
        """When work accepted now begins and ends."""
        begin = max(now, self.free_at)
        self.free_at = begin + duration_s
        self.busy_s += duration_s
        return begin, self.free_at


class Link:
    """One direction of a cable: occupied for bytes / bandwidth, then the latency of the hop."""

    __slots__ = ("_costs", "busy_s", "free_at")

    def __init__(self, costs: UnitCosts) -> None:
        self._costs = costs
        self.free_at = 0.0
        self.busy_s = 0.0

    def send(self, now: float, size: float, *, hop: bool = True) -> float:
        """When something sent now has arrived as a whole."""
        occupied = self._costs.transfer_s(size)
        self.free_at = max(now, self.free_at) + occupied
        self.busy_s += occupied
        return self.free_at + (self._costs.hop_s if hop else 0.0)


def at_time(env: simpy.Environment, moment: float, action: Callable[[], None]) -> None:
    """Do something at a moment that is not past."""

    def act(_: Any) -> None:
        action()

    event = env.timeout(max(0.0, moment - env.now))
    assert event.callbacks is not None
    event.callbacks.append(act)
