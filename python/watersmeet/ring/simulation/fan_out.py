"""Joins that send a row, and each partial result, to every node that holds part of the next window.

SplitJoin (Najafi et al., ATC 2016) stores rows round-robin, so that is every node, one hop away; CTR
([PSP] 7) stores copies and picks nodes that cover the window. Rounds are closed by punctuation: a node that
has heard END from every sender of a round, and has done its work, sends END to the next round's nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import simpy

from watersmeet.ring._check import whole
from watersmeet.ring.load import RingLoad, UnitCosts
from watersmeet.ring.simulation.batches import Batches
from watersmeet.ring.simulation.machines import CONTROL_BYTES, Link, Node, at_time
from watersmeet.ring.simulation.outcome import Outcome, Tally

__all__ = ["Stages", "simulate_split", "simulate_stages"]

Stages = Sequence[Mapping[int, float]]  # per probing step: which nodes, and how many rows each one probes
_ROUTER = -1


def simulate_split(
    load: RingLoad,
    costs: UnitCosts,
    nodes: int,
    *,
    interleave: int = 1,
    cycles: int = 6,
    pieces: int = 8,
    multicast: bool = False,
    seed: int | None = None,
) -> Outcome:
    """SplitJoin: every node holds an even share of every window."""
    whole(nodes, 1, argument="nodes")
    stages = [
        [dict.fromkeys(range(nodes), load.window_rows[other] / nodes) for other in load.orderings[own]]
        for own in range(load.streams)
    ]
    run = _FanOut(
        load, costs, stages, nodes=nodes, interleave=interleave, pieces=pieces, multicast=multicast, seed=seed
    )
    return run.outcome(cycles, state_rows=sum(load.window_rows))


def simulate_stages(
    load: RingLoad,
    costs: UnitCosts,
    stages: Sequence[Stages],
    *,
    nodes: int,
    state_rows: float,
    cycles: int = 6,
    pieces: int = 8,
    routing_s: float = 0.0,
) -> Outcome:
    """The same with the nodes of each step given, for rows of each stream; one cycle at a time."""
    run = _FanOut(load, costs, stages, nodes=nodes, pieces=pieces, routing_s=routing_s)
    return run.outcome(cycles, state_rows=state_rows)


class _FanOut:
    def __init__(
        self,
        load: RingLoad,
        costs: UnitCosts,
        stages: Sequence[Stages],
        *,
        nodes: int,
        interleave: int = 1,
        pieces: int = 8,
        multicast: bool = False,
        routing_s: float = 0.0,
        seed: int | None = None,
    ) -> None:
        self.load, self.costs, self.stages = load, costs, stages
        self.interleave, self.multicast, self.routing_s = interleave, multicast, routing_s
        self.batches = Batches(pieces, seed=seed)
        self.env = simpy.Environment()
        self.nodes = {node: Node() for node in range(_ROUTER, nodes)}
        self.out = {node: Link(costs) for node in range(_ROUTER, nodes)}
        self.into = {node: Link(costs) for node in range(_ROUTER, nodes)}
        self.tally = Tally()
        self.steps = [load.intermediates(own) for own in range(load.streams)]
        self.begins: list[float] = []
        self.ends: dict[tuple[int, int, int], int] = defaultdict(int)
        self.cycles = self.live = self.messages = 0

    def outcome(self, cycles: int, *, state_rows: float) -> Outcome:
        self.cycles = cycles
        self._admit()
        self.env.run()
        elapsed = self.env.now
        links = [*self.out.values(), *self.into.values()]
        return Outcome(
            nodes=len(self.nodes) - 1,
            latency_s=self.tally.latency_s,
            cycle_s=elapsed / cycles,
            state_rows=state_rows,
            results=self.tally.results / cycles,
            node_use=max(node.busy_s for node in self.nodes.values()) / elapsed,
            link_use=max(link.busy_s for link in links) / elapsed,
            messages=self.messages,
        )

    def _own(self, cycle: int) -> int:
        return cycle % self.load.streams

    def _admit(self) -> None:
        while len(self.begins) < self.cycles and self.live < self.interleave:
            cycle = len(self.begins)
            self.begins.append(self.env.now)
            self.live += 1
            _, ready = self.nodes[_ROUTER].work(self.env.now, self.routing_s)
            self._broadcast(_ROUTER, ready, cycle, 0, 1.0)
            self._broadcast_end(_ROUTER, ready, cycle, 0)

    def _broadcast(self, sender: int, now: float, cycle: int, step: int, count: float) -> None:
        """Each sender begins behind itself, or all would call on the first node at once."""
        size = count * (step + 1) * self.load.row_bytes
        receivers = sorted(self.stages[self._own(cycle)][step], key=lambda node: (node <= sender, node))
        shared = self.out[sender].send(now, size) if self.multicast else None
        for receiver in receivers:
            handle = partial(self._partial, receiver, cycle, step, count)
            if receiver == sender:
                at_time(self.env, now, handle)
            else:
                arrival = self.out[sender].send(now, size) if shared is None else shared
                self._deliver(arrival, receiver, size, handle)

    def _broadcast_end(self, sender: int, now: float, cycle: int, step: int) -> None:
        """END goes to the nodes of the given step, or to the router after the last one."""
        stages = self.stages[self._own(cycle)]
        receivers: Sequence[int] = list(stages[step]) if step < len(stages) else [_ROUTER]
        for receiver in receivers:
            handle = partial(self._end, receiver, cycle, step)
            if receiver == sender:
                at_time(self.env, now, handle)
            else:
                self._deliver(self.out[sender].send(now, CONTROL_BYTES), receiver, CONTROL_BYTES, handle)

    def _deliver(self, arrival: float, receiver: int, size: float, handle: partial[None]) -> None:
        """Through the receiver's own cable, which all senders share."""
        self.messages += 1

        def received() -> None:
            at_time(self.env, self.into[receiver].send(self.env.now, size, hop=False), handle)

        at_time(self.env, arrival - self.costs.transfer_s(size), received)

    def _partial(self, node: int, cycle: int, step: int, count: float) -> None:
        own = self._own(cycle)
        rows = self.stages[own][step][node]
        self.nodes[node].work(self.env.now, count * self.costs.send_s)
        begin, end = self.nodes[node].work(self.env.now, count * rows * self.costs.join_s)
        other = self.load.orderings[own][step]
        kept = self.batches.kept(count * rows * self.load.selectivity[other])
        if step + 2 == self.load.streams:
            self.tally.emitted(kept, (begin + end) / 2 - self.begins[cycle])
            return
        expected = self.steps[own][step + 1] * rows / self.load.window_rows[other]
        key = (node, cycle, step + 1)
        for moment, piece in self.batches.collect(key, kept, expected=expected, begin=begin, end=end):
            self._broadcast(node, moment, cycle, step + 1, piece)

    def _end(self, node: int, cycle: int, step: int) -> None:
        stages = self.stages[self._own(cycle)]
        self.ends[node, cycle, step] += 1
        senders = 1 if step == 0 else len(stages[step - 1])
        if self.ends[node, cycle, step] < senders:
            return
        if node == _ROUTER:
            self.live -= 1
            self._admit()
            return
        _, ready = self.nodes[node].work(self.env.now, self.costs.send_s)
        left = self.batches.rest((node, cycle, step + 1))
        if left:
            self._broadcast(node, ready, cycle, step + 1, left)
        self._broadcast_end(node, ready, cycle, step + 1)
