"""The simulators' answers in closed form, for rings too long to simulate message by message.

A cycle takes as long as its busiest machine works on it, and as it takes the last messages of each round to
travel. Checked against the simulation, where both run, in tests/python/ring.
"""

from __future__ import annotations

import math
from dataclasses import replace

from watersmeet.ring._check import whole
from watersmeet.ring.load import RingLoad, UnitCosts
from watersmeet.ring.simulation.outcome import Outcome

__all__ = ["expect_ring", "expect_split"]


def expect_ring(load: RingLoad, costs: UnitCosts, slices: int, *, interleave: int = 1) -> Outcome:
    """simulate_ring's outcome: M - 1 rounds of `slices` hops behind the busiest of nodes and links."""
    whole(slices, 1, argument="slices")
    upkeep_s = costs.insert_s + costs.purge_s
    work_s = load.central_s(costs) / slices + load.transmission_s(costs) + upkeep_s * (1 - 1 / slices)
    link_s = load.link_s(costs)
    hop_s = costs.hop_s + costs.send_s + costs.transfer_s(2 * load.row_bytes)
    travel_s = (load.streams - 1) * slices * hop_s if slices > 1 else 0.0
    return _outcome(load, slices, (work_s, link_s, travel_s), interleave=interleave)


def expect_split(
    load: RingLoad, costs: UnitCosts, nodes: int, *, interleave: int = 1, multicast: bool = False
) -> Outcome:
    """simulate_split's outcome: one hop per round, but a row is sent to every node.

    Without multicast the cycle waits for the node that happens to keep most partial results, since it must
    send each of them to all the others.
    """
    whole(nodes, 1, argument="nodes")
    work_s = load.central_s(costs) / nodes + load.transmission_s(costs)
    row_s = costs.transfer_s(load.row_bytes)
    partial_s = (load.link_s(costs) - 2 * row_s) * (nodes - 1) / nodes  # into every node
    broadcast_s = row_s if multicast else nodes * row_s
    hop_s = costs.hop_s + costs.send_s + 2 * row_s
    travel_s = broadcast_s + (load.streams - 1) * hop_s + costs.hop_s
    made = sum(load.intermediates(0)[1:-1])
    peak_s = partial_s * _most_on_one(made / nodes, nodes) * nodes / made if made and not multicast else 0.0
    typical = _outcome(load, nodes, (work_s, partial_s, travel_s), interleave=interleave)
    slowest = _outcome(load, nodes, (work_s, max(partial_s, peak_s), travel_s), interleave=interleave)
    return replace(slowest, latency_s=typical.latency_s)


def _most_on_one(mean: float, nodes: int) -> float:
    """How many rows the fullest of many nodes has, when each has a Poisson number with this mean."""
    if mean > 500.0:
        return mean + math.sqrt(2.0 * math.log(nodes + 1) * mean)
    count, chance = 0, math.exp(-mean)
    below = chance
    while below < 1.0 - 0.5 / nodes:
        count += 1
        chance *= mean / count
        below += chance
    return float(count)


def _outcome(load: RingLoad, nodes: int, parts: tuple[float, float, float], *, interleave: int) -> Outcome:
    work_s, link_s, travel_s = parts
    alone = max(work_s, link_s) + travel_s
    cycle_s = max(work_s, link_s, alone / interleave)
    return Outcome(
        nodes=nodes,
        latency_s=max(alone, interleave * cycle_s) / 2,
        cycle_s=cycle_s,
        state_rows=sum(load.window_rows),
        results=load.results_per_row(),
        node_use=work_s / cycle_s,
        link_use=link_s / cycle_s,
    )
