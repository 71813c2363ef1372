"""The ring's protocol as a small state machine, and a search of everything that may happen (SPEC P6, P7).

A node handles one message at a time, in the order of its link. Which node moves next is open: slow links
and slow nodes are orders of moves. `explore` visits every state that any order can reach and checks in each
that nothing is missed, repeated, kept too long or freed too early.

Time slices: a row moves on when it is older than its slice at the probing row's time; the last slice drops
it. A node keeps every row under a running number, so that "what cycle c sees of stream s" is a pair of
numbers (StateStart and StateEnd, [PSP] figure 5) and a row is freed when no pair includes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

Row: TypeAlias = tuple[int, int, int]  # stream, timestamp, position in the input
Message: TypeAlias = tuple[str, int, int, tuple[Row, ...]]  # kind, cycle, origin or END number, rows
Ranges: TypeAlias = tuple[tuple[int, int], ...]  # one pair of running numbers per stream


@dataclass(frozen=True, slots=True)
class Node:
    """Rows per stream with the number of the first one kept, what has moved on, and the live cycles."""

    rows: tuple[tuple[Row, ...], ...]
    first: tuple[int, ...]
    moved: tuple[int, ...]
    live: tuple[tuple[int, Ranges], ...] = ()

    def visible(self, cycle: int, stream: int) -> tuple[Row, ...]:
        start, end = dict(self.live)[cycle][stream]  # a KeyError here is a cycle that was closed too early
        assert start >= self.first[stream], "a row was freed that a live cycle still needs"
        return self.rows[stream][start - self.first[stream] : end - self.first[stream]]


@dataclass(frozen=True, slots=True)
class State:
    nodes: tuple[Node, ...]
    links: tuple[tuple[Message, ...], ...]  # what waits before each node
    admitted: int = 0
    ended: int = 0
    results: tuple[tuple[Row, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Ring:
    """A join of `streams` streams over `slices` nodes; every combination inside `window` matches."""

    streams: int
    slices: int
    window: int
    interleave: int
    rows: tuple[Row, ...]
    matches: Callable[[tuple[Row, ...]], bool] = lambda members: True

    @property
    def rounds(self) -> int:
        """END messages per cycle: one for each kind of partial result, and a last one for the probing."""
        return self.streams - 1

    def start(self) -> State:
        empty = Node(((),) * self.streams, (0,) * self.streams, (0,) * self.streams)
        return State((empty,) * self.slices, ((),) * self.slices)

    def moves(self, state: State) -> Iterator[State]:
        """Every state that one move leads to."""
        if state.admitted < len(self.rows) and state.admitted - state.ended < self.interleave:
            yield self._admit(state)
        for place, waiting in enumerate(state.links):
            if waiting:
                links = (*state.links[:place], waiting[1:], *state.links[place + 1 :])
                yield self._handle(replace(state, links=links), place, waiting[0])

    def _admit(self, state: State) -> State:
        row, cycle = self.rows[state.admitted], state.admitted
        state = self._insert(replace(state, admitted=cycle + 1), 0, row)
        state = self._probe_row(state, 0, ("probe", cycle, 0, (row,)))
        return self._send(state, 0, [("end", cycle, 1, ())])

    def _handle(self, state: State, place: int, message: Message) -> State:
        kind, cycle, tag, members = message
        if kind == "build":
            return self._insert(state, place, members[0])
        if kind == "probe":
            return self._probe_row(state, place, message)
        if kind == "partial":
            if tag != place:
                state = self._send(state, place, [message])  # propagate before probing
            return self._probe(state, place, cycle, members)
        return self._end(state, place, cycle, tag)

    def _probe_row(self, state: State, place: int, message: Message) -> State:
        _, cycle, _, members = message
        purged: list[Message] = []
        node = state.nodes[place]
        moved, ranges = list(node.moved), []
        for stream, rows in enumerate(node.rows):
            end = node.first[stream] + len(rows)
            while moved[stream] < end and self._beyond(
                rows[moved[stream] - node.first[stream]], members[0], place
            ):
                purged.append(("build", cycle, 0, (rows[moved[stream] - node.first[stream]],)))
                moved[stream] += 1
            ranges.append((moved[stream], end))
        node = replace(node, moved=tuple(moved), live=(*node.live, (cycle, tuple(ranges))))
        state = _with_node(state, place, _freed(node))
        if place + 1 < self.slices:
            state = self._send(state, place, [*purged, message])
        return self._probe(state, place, cycle, members)

    def _beyond(self, row: Row, probing: Row, place: int) -> bool:
        """Exclusive at the far edge, as in [PSP]; slices are as equal as whole numbers allow."""
        return probing[1] - row[1] >= self.window * (place + 1) // self.slices

    def _probe(self, state: State, place: int, cycle: int, members: tuple[Row, ...]) -> State:
        other = self._next_stream(members)
        found = [(*members, row) for row in state.nodes[place].visible(cycle, other)]
        found = [joined for joined in found if self.matches(joined)]
        if len(members) + 1 == self.streams:
            results = tuple(sorted((*state.results, *(tuple(sorted(joined)) for joined in found))))
            return replace(state, results=results)
        return self._send(state, place, [("partial", cycle, place, joined) for joined in found])

    def _next_stream(self, members: tuple[Row, ...]) -> int:
        """The ordering of stream s: s+1, s+2, ... round the streams."""
        return (members[0][0] + len(members)) % self.streams

    def _end(self, state: State, place: int, cycle: int, number: int) -> State:
        last = number == self.rounds
        if place != 0 or self.slices == 1:
            if last:
                state = self._closed(state, place, cycle)
            if place != 0:
                return self._send(state, place, [("end", cycle, number, ())])
        if not last:
            return self._send(state, place, [("end", cycle, number + 1, ())])
        if self.slices > 1:
            state = self._closed(state, place, cycle)
        assert not any(
            message[1] == cycle for link in state.links for message in link if message[0] != "build"
        )
        assert self.results_of(state, cycle) == self.expected(cycle), "the cycle ended before its results"
        return replace(state, ended=state.ended + 1)

    def _closed(self, state: State, place: int, cycle: int) -> State:
        node = state.nodes[place]
        live = tuple(entry for entry in node.live if entry[0] != cycle)
        assert len(live) == len(node.live) - 1
        return _with_node(state, place, _freed(replace(node, live=live)))

    def _insert(self, state: State, place: int, row: Row) -> State:
        node = state.nodes[place]
        rows = tuple((*held, row) if stream == row[0] else held for stream, held in enumerate(node.rows))
        return _with_node(state, place, replace(node, rows=rows))

    def _send(self, state: State, place: int, messages: list[Message]) -> State:
        to = (place + 1) % self.slices
        waiting = (*state.links[to], *messages)
        return replace(state, links=(*state.links[:to], waiting, *state.links[to + 1 :]))

    # --- what must come out ---

    def expected(self, cycle: int) -> list[tuple[Row, ...]]:
        own = self.rows[cycle]
        others = [
            [row for row in self.rows[:cycle] if row[0] == stream and own[1] - row[1] < self.window]
            for stream in range(self.streams)
            if stream != own[0]
        ]
        joined = [tuple(sorted((own, *rest))) for rest in product(*others)]
        return sorted(members for members in joined if self._all_match(own, members))

    def _all_match(self, own: Row, members: tuple[Row, ...]) -> bool:
        """The predicate sees growing prefixes of the ordering, so it must hold for each of them."""
        by_stream = {row[0]: row for row in members}
        ordered = [by_stream[(own[0] + step) % self.streams] for step in range(self.streams)]
        return all(self.matches(tuple(ordered[:size])) for size in range(2, self.streams + 1))

    def results_of(self, state: State, cycle: int) -> list[tuple[Row, ...]]:
        own = self.rows[cycle]
        return [members for members in state.results if max(row[2] for row in members) == own[2]]


def explore(ring: Ring, *, limit: int = 2_000_000) -> tuple[int, int]:
    """Every reachable state, each once; returns how many, and the most rows held twice in any of them."""
    start = ring.start()
    seen, stack, ends, copies = {start}, [start], 0, 0
    while stack:
        state = stack.pop()
        copies = max(copies, _check(ring, state))
        following = list(ring.moves(state))
        if not following:
            _check_end(ring, state)
            ends += 1
        for after in following:
            if after not in seen:
                seen.add(after)
                stack.append(after)
        assert len(seen) <= limit, "the search grew beyond its limit: choose a smaller ring"
    assert ends == 1, "different orders of moves end differently"
    return len(seen), copies


def _check(ring: Ring, state: State) -> int:
    """No result twice; rows held twice only for cycles that are still live. Returns how many those are."""
    assert len(set(state.results)) == len(state.results)
    held = [row for node in state.nodes for rows in node.rows for row in rows]
    travelling = [message[3][0] for link in state.links for message in link if message[0] == "build"]
    everywhere = held + travelling
    copies = len(everywhere) - len(set(everywhere))
    if state.admitted == state.ended:
        assert copies == 0
    return copies


def _check_end(ring: Ring, state: State) -> None:
    assert (state.admitted, state.ended) == (len(ring.rows), len(ring.rows)), "the ring is stuck"
    assert list(state.results) == sorted(
        members for c in range(len(ring.rows)) for members in ring.expected(c)
    )
    last = ring.rows[-1][1]
    window = sorted(row for row in ring.rows if last - row[1] < ring.window)
    assert sorted(row for node in state.nodes for rows in node.rows for row in rows) == window


def _with_node(state: State, place: int, node: Node) -> State:
    return replace(state, nodes=(*state.nodes[:place], node, *state.nodes[place + 1 :]))


def _freed(node: Node) -> Node:
    """Free what has moved on and no live cycle sees: up to the smallest start of a live range."""
    rows, first = [], []
    for stream, held in enumerate(node.rows):
        keep = min((ranges[stream][0] for _, ranges in node.live), default=node.moved[stream])
        rows.append(held[keep - node.first[stream] :])
        first.append(keep)
    return replace(node, rows=tuple(rows), first=tuple(first))
