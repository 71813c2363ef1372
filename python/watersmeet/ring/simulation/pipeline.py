"""A ring of slices in virtual time: PSP, and PSP-I with interleaved cycles ([PSP] 4, SPEC P6, P7).

Partial results travel in batches: those of one step that a node makes from one cycle leave in `pieces`
parts. More pieces come closer to rows that travel alone, and take longer to simulate.

Threads of one machine differ from nodes of a cluster at the door: one caller takes a batch of rows in, and
gives all their results out, while the slices have nothing to do. `batch` simulates that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import simpy

from watersmeet.ring._check import whole
from watersmeet.ring.load import RingLoad, UnitCosts
from watersmeet.ring.simulation.batches import Batches
from watersmeet.ring.simulation.machines import CONTROL_BYTES, Link, Node, at_time
from watersmeet.ring.simulation.outcome import Outcome, Tally

__all__ = ["simulate_ring"]


def simulate_ring(
    load: RingLoad,
    costs: UnitCosts,
    slices: int,
    *,
    interleave: int = 1,
    cycles: int = 6,
    pieces: int = 8,
    batch: int | None = None,
    slice_rows: Sequence[Sequence[float]] | None = None,
    seed: int | None = None,
) -> Outcome:
    """Run rows of all streams in turn through a ring whose windows are full; rows always wait at its head.

    `slice_rows` gives the rows of each stream on each node (default: the windows, cut evenly). Without a
    seed every probe keeps its mean; with one, a Poisson number. With a batch, rows come so many per call, are
    inserted once, and their results leave when the call returns.
    """
    whole(slices, 1, argument="slices")
    whole(interleave, 1, argument="interleave")
    if batch is not None:
        whole(batch, 1, argument="batch")
    rows = slice_rows or [[held / slices for held in load.window_rows]] * slices
    ring = _Ring(load, costs, rows, interleave=interleave, pieces=pieces, batch=batch, seed=seed)
    return ring.run(cycles)


@dataclass(slots=True)
class _Cycle:
    number: int
    own: int
    began: float


class _Ring:
    def __init__(
        self,
        load: RingLoad,
        costs: UnitCosts,
        rows: Sequence[Sequence[float]],
        *,
        interleave: int,
        pieces: int,
        batch: int | None,
        seed: int | None,
    ) -> None:
        self.load, self.costs, self.rows = load, costs, rows
        self.interleave, self.batch = interleave, batch
        self.inside = 0  # rows of the call, or of all, that have not begun
        self.called = 0.0
        self.found = 0.0  # results of the call
        self.batches = Batches(pieces, seed=seed)
        self.env = simpy.Environment()
        self.nodes = [Node() for _ in rows]
        self.links = [Link(costs) for _ in rows]
        self.tally = Tally()
        self.waiting: deque[int] = deque()
        self.begins: list[float] = []
        self.live = 0
        self.messages = 0
        self.steps = [load.intermediates(own) for own in range(load.streams)]
        self.totals = [sum(held[stream] for held in rows) for stream in range(load.streams)]

    def run(self, cycles: int) -> Outcome:
        self.waiting.extend(number % self.load.streams for number in range(cycles))
        if self.batch is None:
            self.inside = cycles
            self._admit()
        else:
            self._call(self.batch)
        self.env.run()
        elapsed = self.env.now
        return Outcome(
            nodes=len(self.rows),
            latency_s=self.tally.latency_s,
            cycle_s=elapsed / cycles,
            state_rows=sum(self.totals),
            results=self.tally.results / cycles,
            node_use=max(node.busy_s for node in self.nodes) / elapsed,
            link_use=max(link.busy_s for link in self.links) / elapsed,
            messages=self.messages,
        )

    def _call(self, batch: int) -> None:
        """The caller takes rows in, and has the other slices begin."""
        self.called, self.inside = self.env.now, min(batch, len(self.waiting))
        each_s = self.costs.insert_s + self.costs.purge_s
        _, ready = self.nodes[0].work(self.env.now, self.costs.call_s + self.inside * each_s)
        if len(self.nodes) > 1:
            ready += self.costs.start_s
        at_time(self.env, ready, self._admit)

    def _return(self, batch: int) -> None:
        """The call ends: the caller gives its results out, and calls again."""
        _, ready = self.nodes[0].work(self.env.now, self.found * self.costs.emit_s)
        self.tally.emitted(self.found, ready - self.called)
        self.found = 0.0

        def next_call() -> None:
            if self.waiting:
                self._call(batch)

        at_time(self.env, ready, next_call)

    def _admit(self) -> None:
        while self.waiting and self.inside and self.live < self.interleave:
            self.inside -= 1
            cycle = _Cycle(len(self.begins), self.waiting.popleft(), self.env.now)
            self.begins.append(self.env.now)
            self.live += 1
            self._probe_row(0, cycle)
            self._send_end(0, cycle, 1)

    def _probe_row(self, place: int, cycle: _Cycle) -> None:
        """The row itself, with the older row that it pushes over the boundary behind it."""
        inserted_s = self.costs.insert_s + self.costs.purge_s if self.batch is None else 0.0
        overhead = inserted_s + (self.costs.send_s if place else 0.0)
        begin, _ = self.nodes[place].work(self.env.now, overhead)
        if place + 1 < len(self.rows):
            size = 2 * self.load.row_bytes
            self._send(place, begin + overhead, size, partial(self._probe_row, place + 1, cycle))
        self._probe(place, cycle, 0, 1.0)

    def _partial(self, place: int, cycle: _Cycle, step: int, origin: int, count: float) -> None:
        _, ready = self.nodes[place].work(self.env.now, count * self.costs.send_s)
        if place != origin:
            self._send_partial(place, ready, cycle, step, origin, count)
        self._probe(place, cycle, step, count)

    def _probe(self, place: int, cycle: _Cycle, step: int, count: float) -> None:
        other = self.load.orderings[cycle.own][step]
        compared = count * self.rows[place][other]
        begin, end = self.nodes[place].work(self.env.now, compared * self.costs.join_s)
        kept = self.batches.kept(compared * self.load.selectivity[other])
        if step + 2 == self.load.streams:
            if self.batch is None:
                self.tally.emitted(kept, (begin + end) / 2 - cycle.began)
            self.found += kept
            return
        expected = self.steps[cycle.own][step + 1] * self.rows[place][other] / self.totals[other]
        key = (place, cycle.number, step + 1)
        for moment, piece in self.batches.collect(key, kept, expected=expected, begin=begin, end=end):
            self._send_partial(place, moment, cycle, step + 1, place, piece)

    def _flush(self, place: int, now: float, cycle: _Cycle, step: int) -> None:
        count = self.batches.rest((place, cycle.number, step))
        if count:
            self._send_partial(place, now, cycle, step, place, count)

    def _send_partial(
        self, place: int, now: float, cycle: _Cycle, step: int, origin: int, count: float
    ) -> None:
        size = count * (step + 1) * self.load.row_bytes
        to = (place + 1) % len(self.rows)
        self._send(place, now, size, partial(self._partial, to, cycle, step, origin, count))

    def _end(self, place: int, cycle: _Cycle, number: int) -> None:
        _, ready = self.nodes[place].work(self.env.now, self.costs.send_s)
        if number < self.load.streams - 1 or place:
            self._flush(place, ready, cycle, number)
        if place:
            self._send_end(place, cycle, number)
        elif number < self.load.streams - 1:
            self._flush(place, ready, cycle, number + 1)
            self._send_end(place, cycle, number + 1)
        else:
            at_time(self.env, ready, self._finished)

    def _finished(self) -> None:
        self.live -= 1
        if self.batch is not None and not self.live and not self.inside:
            self._return(self.batch)
        else:
            self._admit()

    def _send_end(self, place: int, cycle: _Cycle, number: int) -> None:
        to = (place + 1) % len(self.rows)
        now = self.nodes[place].free_at
        self._send(place, now, CONTROL_BYTES, partial(self._end, to, cycle, number))

    def _send(self, place: int, now: float, size: float, handle: partial[None]) -> None:
        self.messages += 1
        at_time(self.env, self.links[place].send(now, size), handle)
