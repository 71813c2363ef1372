"""Moving state when nodes join or leave a ring ([PSP] 6, SPEC P8).

Aggressive: pause, move rows between neighbours, go on. Passive: move the boundaries' ages over time; rows
then cross them as they always do, towards the tail, and nothing pauses. This plans for rings of machines; the
core does the same with its slices (cpp/watersmeet/slice/boundaries.h), and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from watersmeet.errors import ConfigError
from watersmeet.ring._check import at_least, whole
from watersmeet.ring.slicing import even_boundaries

__all__ = ["PassivePlan", "RelocationPlan", "adjust_passively", "boundary_flows", "relocate"]


@dataclass(frozen=True, slots=True)
class RelocationPlan:
    """An aggressive change from `before` to `after` nodes.

    The longer of the two rings numbers the places. `changed` are the places of the nodes that are added or
    removed; `flows[p]` is what crosses from place p to p + 1, in slices of the longer ring: negative flows
    go towards the head, and arise only when nodes leave.
    """

    before: int
    after: int
    changed: tuple[int, ...]
    flows: tuple[Fraction, ...]

    @property
    def moved(self) -> Fraction:
        """Slices of the longer ring that cross a boundary, summed over boundaries."""
        return sum((abs(flow) for flow in self.flows), Fraction(0))

    def row_flows(self, rows: int) -> tuple[Fraction, ...]:
        """The flows in rows, for a state of so many."""
        return tuple(flow * rows / max(self.before, self.after) for flow in self.flows)


def relocate(before: int, after: int) -> RelocationPlan:
    """Which places nodes are added to (or taken from), and what flows between neighbours.

    Departs from [PSP]: a new node follows node k, minimal with (M / N) k >= j; with the printed > the last
    new node has no place. Where a new node follows, the whole excess goes to it.
    """
    whole(before, 1, argument="before")
    whole(after, 1, argument="after")
    short, long = min(before, after), max(before, after)
    share = Fraction(long, short)  # a node of the short ring, in slices of the long one
    held: list[Fraction] = []
    changed: list[int] = []
    for node in range(1, short + 1):
        held.append(share)
        while len(changed) < long - short and (share - 1) * node >= len(changed) + 1:
            changed.append(len(held))
            held.append(Fraction(0))
    sign = 1 if after >= before else -1
    flows = tuple(sign * flow for flow in boundary_flows(held, [Fraction(1)] * long))
    return RelocationPlan(before, after, tuple(changed), flows)


def boundary_flows(now: Sequence[Fraction], then: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Flow over each boundary: what lies to its left now, minus what will."""
    if len(now) != len(then) or sum(now) != sum(then):
        raise ConfigError(f"now={now!r}, then={then!r}: expected the same places and the same sum")
    left, right = list(accumulate(now)), list(accumulate(then))
    return tuple(one - two for one, two in zip(left[:-1], right[:-1], strict=True))


@dataclass(frozen=True, slots=True)
class PassivePlan:
    """A passive change: each boundary's age moves from `start_s` to `end_s` within `duration_s`.

    Places are those of the longer ring; a slice whose two boundaries coincide is empty.
    """

    start_s: tuple[float, ...]
    end_s: tuple[float, ...]
    duration_s: float

    def boundaries_at(self, elapsed_s: float) -> tuple[float, ...]:
        """The ages at which the slices end, so long after the change began."""
        at_least(elapsed_s, 0.0, argument="elapsed_s")
        done = min(1.0, elapsed_s / self.duration_s) if self.duration_s else 1.0
        if done == 1.0:
            return self.end_s
        pairs = zip(self.start_s, self.end_s, strict=True)
        return tuple(start + (end - start) * done for start, end in pairs)

    def finished_at(self, elapsed_s: float) -> bool:
        """Whether the boundaries have arrived, so that removed nodes hold nothing."""
        return elapsed_s >= self.duration_s


def adjust_passively(window_s: float, before: int, after: int) -> PassivePlan:
    """From `before` to `after` even slices of a window, within one length of that window.

    A boundary never grows faster than time passes: rows would have to go back towards the head. One window
    is enough for any change, since no boundary moves further than that.
    """
    plan = relocate(before, after)
    long = max(before, after)
    present = [0 if place in plan.changed else 1 for place in range(long)]
    shared = even_boundaries(window_s, min(before, after))
    short = tuple(shared[max(0, seen - 1)] for seen in accumulate(present))
    full = even_boundaries(window_s, long)
    start, end = (short, full) if after >= before else (full, short)
    return PassivePlan(start, end, float(window_s) if before != after else 0.0)
