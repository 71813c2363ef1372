"""PSP's rivals, which copy state: aligned (ATR) and coordinated (CTR) tuple routing ([PSP] 7, 8.3).

Both from [PSP]'s descriptions. ATR: one stream is cut into segments that go to the nodes in turn; the others
are copied to wherever they may meet one. CTR: every segment of every window lies on `copies` nodes, and a
greedy set cover picks the nodes that probe.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import cycle as round_robin

from watersmeet.errors import ConfigError
from watersmeet.ring._check import at_least, whole
from watersmeet.ring.load import RingLoad, UnitCosts
from watersmeet.ring.simulation.fan_out import simulate_stages
from watersmeet.ring.simulation.outcome import Outcome
from watersmeet.ring.simulation.pipeline import simulate_ring

__all__ = ["aligned_state_rows", "cover", "simulate_aligned", "simulate_coordinated"]

_SEGMENTS = 60  # of each window under CTR: many enough to lie evenly on 20 nodes


def simulate_aligned(
    load: RingLoad, costs: UnitCosts, nodes: int, *, segment_s: float, seconds: float = 600.0, cycles: int = 6
) -> Outcome:
    """ATR: all work for a row is done by the node of its segment, so latency is that of one node."""
    whole(nodes, 1, argument="nodes")
    at_least(segment_s, max(load.windows_s), argument="segment_s")
    alone = simulate_ring(load, replace(costs, hop_s=0.0, link_bytes_per_s=math.inf), 1, cycles=cycles)
    sent_s = costs.hop_s + costs.transfer_s(load.row_bytes)
    held = aligned_state_rows(load, nodes, segment_s=segment_s, seconds=seconds)
    return replace(
        alone,
        nodes=nodes,
        latency_s=alone.latency_s + sent_s,
        cycle_s=alone.cycle_s * (1 + _copied_share(load, segment_s)) / nodes,
        state_rows=held,
    )


def aligned_state_rows(load: RingLoad, nodes: int, *, segment_s: float, seconds: float) -> float:
    """Rows on all nodes under ATR, averaged over the run.

    Arriving rows drive the purging, so a node whose segment has passed keeps its windows until its next turn.
    While a segment's followers still come in, the node of the next segment already fills.
    """
    window = sum(load.window_rows)
    steps = 600
    total = 0.0
    for step in range(steps):
        now = seconds * (step + 0.5) / steps
        begun = int(now / segment_s) + 1
        filling = min(1.0, (now - (begun - 1) * segment_s) / max(load.windows_s))
        total += window * (min(begun - 1, nodes - 1) + filling if begun <= nodes else nodes)
    return total / steps


def _copied_share(load: RingLoad, segment_s: float) -> float:
    """Slave rows within a window of a segment's edge are processed by two nodes."""
    slaves = load.rate_per_s - load.rates_per_s[0]
    return max(load.windows_s) / segment_s * slaves / load.rate_per_s


def simulate_coordinated(
    load: RingLoad,
    costs: UnitCosts,
    nodes: int,
    *,
    copies: int,
    routing_s: float = 0.0,
    cycles: int = 6,
) -> Outcome:
    """CTR with a fixed number of copies of every segment, as [PSP] 8.1 ran it; no interleaving."""
    whole(copies, 1, argument="copies")
    if nodes < copies:
        raise ConfigError(f"nodes={nodes!r}: expected at least as many as copies={copies!r}")
    chosen = cover(_placement(nodes, copies))
    shares = [
        [{node: load.window_rows[other] * part for node, part in chosen.items()} for other in order]
        for order in load.orderings
    ]
    state_rows = copies * sum(load.window_rows)
    return simulate_stages(
        load, costs, shares, nodes=nodes, state_rows=state_rows, cycles=cycles, routing_s=routing_s
    )


def _placement(nodes: int, copies: int) -> list[frozenset[int]]:
    """Which nodes hold each segment: groups of `copies` nodes in turn, so that a small cover exists."""
    first = range(0, nodes - copies + 1, copies)
    groups = [frozenset(range(node, node + copies)) for node in first]
    turn = round_robin(groups)
    return [next(turn) for _ in range(_SEGMENTS)]


def cover(holders: list[frozenset[int]]) -> dict[int, float]:
    """A small set of nodes that holds every segment, and the share of the segments that each one probes.

    Greedy: the node that holds most of what is not yet covered, the least number on ties.
    """
    left = set(range(len(holders)))
    chosen: dict[int, float] = {}
    while left:
        counts: dict[int, int] = {}
        for segment in left:
            for node in holders[segment]:
                counts[node] = counts.get(node, 0) + 1
        best = min(counts, key=lambda node: (-counts[node], node))
        taken = {segment for segment in left if best in holders[segment]}
        chosen[best] = len(taken) / len(holders)
        left -= taken
    return chosen
