"""RingJoin: a live join of several streams on slices. This is the class that users hold."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import pyarrow as pa

from watersmeet.errors import ConfigError, WatersmeetError
from watersmeet.join.columns.schema import declare
from watersmeet.join.guard import Guard
from watersmeet.join.rings.config import MOST_SLICES, Edge, Topology, checked_ring_config
from watersmeet.join.rings.engine import RingEngine
from watersmeet.join.rings.explain import explain_ring
from watersmeet.join.rings.shedding import ShedDirection
from watersmeet.join.rings.snapshot import ring_restored, ring_snapshot
from watersmeet.join.timing.calls import check_arrival, checked_clock, known_watermark
from watersmeet.join.timing.pace import Clock
from watersmeet.ring import Slicing
from watersmeet.vocabulary import (
    AdaptiveOrder,
    ChoiceMade,
    Estimate,
    Predicate,
    ResponseTimes,
    Shed,
    Stream,
    StreamStatistics,
    why_waiting,
)
from watersmeet.vocabulary.statistics import Counters, bytes_text, text_table

__all__ = ["RingJoin", "RingMetrics"]


@dataclass(frozen=True, slots=True)
class SliceWork:
    """What one slice holds and has done."""

    rows: int
    comparisons: int


@dataclass(frozen=True, slots=True)
class RingMetrics(Counters):
    """A snapshot of a ring join's counters. It does not change as the join goes on.

    streams          counters of each; window_bytes are those of its payload alone
    rows_per_slice   rows of all windows that each slice holds; their sum is what the windows hold
    flows            rows that crossed each boundary of the ring when it was last cut anew at once
    comparisons      pairs on which predicates were evaluated, by slices' threads; from a restore() on
    messages         what has gone from slice to slice; from a restore() on
    orderings        per stream, the others in the order in which its rows probe them
    held_results     found, and kept back for their order; held_bytes is what they take
    order            how results are put in order now; None: they leave as rows are processed, by time
    blocked_by       the stream for which rows or results wait, blocked_for_s by the join's clock
    response         how long results took to come out
    decisions        the latest that the join took by itself: order, idle streams, lateness
    recall           the share of the full answer that came out, with a 95 % interval; 1 where nothing is shed
    directions       with shed=: pairs due, compared and shed, and the plan, of every stream in every window
    """

    results: int
    streams: tuple[StreamStatistics, ...]
    slices: int
    rows_per_slice: tuple[int, ...]
    comparisons: tuple[int, ...]
    messages: int
    orderings: Mapping[str, tuple[str, ...]]
    memory_bytes: int
    flows: tuple[int, ...] = ()
    held_results: int = 0
    held_bytes: int = field(default=0, compare=False)
    order: str | None = None
    blocked_by: str | None = None
    blocked_for_s: float = field(default=0.0, compare=False)
    response: ResponseTimes = field(default_factory=ResponseTimes)
    decisions: tuple[ChoiceMade, ...] = ()
    recall: Estimate = field(default_factory=lambda: Estimate.exactly(1.0))
    directions: tuple[ShedDirection, ...] = ()

    @property
    def due(self) -> int:
        """Pairs that rows and partial results asked for; with shed=, compared or shed."""
        return sum(direction.due for direction in self.directions)

    @property
    def shed(self) -> int:
        """Pairs not compared because of the budget."""
        return sum(direction.shed for direction in self.directions)

    def why_waiting(self) -> str:
        """What waits, for which stream, since when, and what would let it go; in words."""
        return why_waiting(self, self.decisions)

    def __str__(self) -> str:
        head = (
            f"results {self.results:,}   held {self.held_results:,}   memory {bytes_text(self.memory_bytes)}"
            f"   recall {self.recall}"
        )
        at_work = [SliceWork(*each) for each in zip(self.rows_per_slice, self.comparisons, strict=False)]
        slices = text_table("slice", [str(number) for number in range(len(at_work))], at_work)
        return "\n".join([head, *self._streams_text(), *slices])


class RingJoin:
    """Joins several streams as their batches arrive, on several threads, with no copy of any row.

    streams      from 2 to 8, each with a window
    on           {("A", "B"): predicate, ...}, all of which must hold; or one wm.where(fn) of one block per
                 stream; with two streams also a predicate alone; None: every combination in the windows
    slices       into how many parts the windows are cut, each served by a thread, one of them the caller's;
                 "auto": by measured load, from one to the number of processors; on a ring also what
                 wm.ring.slice_initially() gives, which may cut each stream's window into another number
    interleave   how many rows may be on their way through the slices at once
    topology     "split": every slice is told of every new row, and has an equal share of what it may meet;
                 "ring": slices hold stretches of time, and partial results go round
    edge         whether a row exactly as old as its window is still in it: "inclusive" or "exclusive"
    orderings    {"A": ("C", "B"), ...}: which window a row probes first; None: by measured selectivities
    order        None or "sync-filter": rows are processed by time, and so do results come; "filter-order":
                 rows are processed as they come, and results held for their order; wm.AdaptiveOrder():
                 whichever of the two answers sooner
    memory_limit with AdaptiveOrder: bytes that held results may take before Sync-Filter takes over
    shed         wm.Shed(...): compare less than all, by age, to keep to a budget; None: exact. Policies
                 "auto" and "density", with two streams "gedik"; budgets comparisons(n), in pairs, and "cpu"
    seed         of the chance by which shedding looks at a sample of what it leaves out
    clock        seconds by which streams are idle and responses counted, such as time.monotonic; None: the
                 arrival times of push(at=), or else the newest timestamp seen

    Without order= rows are processed in the order of their timestamps over all streams, so a row waits until
    every other stream has come as far (push, advance, its idle_timeout, or finish of that stream). Results
    come in that order, whatever slices and threads do; with order=, by (largest timestamp, rows).
    A call that raises changes nothing. Output columns are named "<stream>.<column>".
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        *,
        on: Mapping[tuple[str, str], Predicate] | Predicate | None = None,
        slices: int | Literal["auto"] | Slicing = 1,
        interleave: int = 64,
        topology: Topology = "split",
        edge: Edge = "inclusive",
        orderings: Mapping[str, Sequence[str]] | None = None,
        order: Literal["sync-filter", "filter-order"] | AdaptiveOrder | None = None,
        memory_limit: int | str | None = None,
        shed: Shed | None = None,
        seed: int = 0,
        clock: Clock | None = None,
    ) -> None:
        config = checked_ring_config(
            streams,
            on=on,
            slices=slices,
            interleave=interleave,
            topology=topology,
            edge=edge,
            orderings=orderings,
            order=order,
            memory_limit=memory_limit,
            shed=shed,
            seed=seed,
        )
        engine = RingEngine(config, checked_clock(clock))
        self._hold(engine)
        declare(config.streams, engine.push)

    def _hold(self, engine: RingEngine) -> None:
        self._engine: RingEngine | None = engine
        self._guard = Guard()
        self._places = {name: place for place, name in enumerate(engine.config.names)}

    def push(self, stream: str, batch: Any, *, at: float | None = None) -> pa.Table:
        """Take the stream's next rows; returns the results that they release, possibly none.

        Until the columns of every stream are known, by a batch or by Stream(schema=), the table has only
        those of the ones that are. `at` is their time of arrival in seconds of stream time, by which
        idle_timeout, AdaptiveOrder and response times go; no answer depends on it otherwise.
        """
        place = self._place(stream)
        engine = self._open()
        check_arrival(at)
        with self._guard:
            return engine.push(place, batch, at=at)

    def advance(self, stream: str, *, to: Any) -> pa.Table:
        """Take the promise that no row of the stream older than `to` will come; returns what it releases."""
        place = self._place(stream)
        engine = self._open()
        with self._guard:
            return engine.advance(place, to)

    def poll(self, *, at: float | None = None) -> pa.Table:
        """What may leave now that time has passed, without a row: with a clock, or at this time."""
        engine = self._open()
        check_arrival(at)
        with self._guard:
            return engine.poll(at)

    def finish(self, stream: str | None = None) -> pa.Table:
        """All streams have ended, or the one named: returns all results that this releases.

        A stream that has ended holds nothing back, and takes nothing more; the others go on.
        """
        place = None if stream is None else self._place(stream)
        engine = self._open()
        with self._guard:
            return engine.finish(place)

    def late(self, stream: str) -> pa.Table:
        """The late rows kept since the last call (on_late="keep"), whole, in order of arrival."""
        place = self._place(stream)
        engine = self._open()
        with self._guard:
            return engine.sources.taken_late(place)

    def resize(self, *, slices: int, relocation: Literal["aggressive", "passive"] = "aggressive") -> None:
        """Use another number of slices. From another thread this may be called while a push is under way.

        "aggressive" cuts the windows anew at once; "passive" moves the boundaries as the windows are renewed,
        so that rows cross them as they age, and slices that are too many have emptied within a window.
        """
        if isinstance(slices, bool) or not isinstance(slices, int) or not 1 <= slices <= MOST_SLICES:
            raise ConfigError(f"slices={slices!r}: expected a whole number from 1 to {MOST_SLICES}")
        if relocation not in ("aggressive", "passive"):
            raise ConfigError(f"relocation={relocation!r}: expected 'aggressive' or 'passive'")
        self._open().resize(slices, relocation)

    @property
    def metrics(self) -> RingMetrics:
        """What the join has seen, done and kept; a copy that does not change."""
        engine = self._open()
        with self._guard:
            return _metrics(engine)

    def explain(self) -> str:
        """How the join is run, and why: slices, orderings, how partners are found, what is shed."""
        engine = self._open()
        with self._guard:
            return explain_ring(engine)

    def snapshot(self) -> bytes:
        """The join as bytes, from which restore() goes on exactly where it was."""
        engine = self._open()
        with self._guard:
            return ring_snapshot(engine)

    @classmethod
    def restore(
        cls,
        blob: bytes | bytearray | memoryview,
        *,
        on: Mapping[tuple[str, str], Predicate] | Predicate | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """The join that a snapshot was taken of. `on` only if it has functions of your own: give it again.

        A join with a clock is given one again; it goes on from the moment of the snapshot.
        """
        join = cls.__new__(cls)
        join._hold(ring_restored(blob, on, checked_clock(clock)))
        return join

    def close(self) -> None:
        """End the threads and forget the state; every later call is refused."""
        if self._engine is not None:
            self._open()
            with self._guard:
                self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._engine is None:
            return "RingJoin(closed)"
        config = self._engine.config
        return f"RingJoin({list(config.names)!r}, slices={self._engine.slices}, topology={config.topology!r})"

    def _open(self) -> RingEngine:
        engine = self._engine
        if engine is None:
            raise WatersmeetError("this join has been closed")
        if threading.get_ident() in engine.asking:
            raise WatersmeetError(
                "a join was called from inside its own where() function; the function may look at its blocks"
                " only"
            )
        return engine

    def _place(self, stream: str) -> int:
        place = self._places.get(stream) if isinstance(stream, str) else None
        if place is None:
            raise ConfigError(f"stream={stream!r}: expected one of {', '.join(map(repr, self._places))}")
        return place


def _metrics(engine: RingEngine) -> RingMetrics:
    names = engine.config.names
    orderings = {
        name: tuple(names[other] for other in ordering)
        for name, ordering in zip(names, engine.orderings.orderings, strict=True)
    }
    streams = tuple(_stream(engine, place) for place in range(len(names)))
    facts = engine.pace.facts()
    ready = engine.ready
    if ready is None:
        return RingMetrics(0, streams, engine.slices, (), (), 0, orderings, 0, **facts)
    counted = ready.core.statistics()
    if ready.shedding is not None:
        facts["directions"], facts["recall"] = ready.shedding.statistics(ready.core)
    held, held_bytes = (0, 0) if ready.held is None else (ready.held.count, ready.held.held_bytes)
    return RingMetrics(
        results=engine.found - held,
        streams=streams,
        slices=counted["slices"],
        rows_per_slice=_rows_per_slice(counted, [ready.core.state(place) for place in range(len(names))]),
        comparisons=tuple(counted["compared"]),
        messages=counted["messages"],
        orderings=orderings,
        flows=tuple(counted["flows"]),
        memory_bytes=counted["bytes"] + sum(store.bytes for store in ready.stores) + held_bytes,
        held_results=held,
        held_bytes=held_bytes,
        **facts,
    )


def _stream(engine: RingEngine, place: int) -> StreamStatistics:
    sources, state = engine.sources, engine.sources.states[place]
    in_core: dict[str, Any] = {"processed": 0, "oldest": engine.kept.expired[place], "watermark": None}
    payload_bytes = 0
    if engine.ready is not None:
        in_core = dict(engine.ready.core.state(place))
        payload_bytes = engine.ready.stores[place].bytes
    return StreamStatistics(
        engine.config.names[place],
        rows=state.rows,
        bad_rows=state.bad_rows,
        late_rows=state.late_rows,
        window_rows=max(0, in_core["processed"] - in_core["oldest"]),
        window_bytes=payload_bytes,
        pending_rows=state.waiting_rows + engine.pending(place),
        expired_rows=in_core["oldest"] + (engine.kept.expired[place] if engine.ready is not None else 0),
        watermark=known_watermark(in_core["watermark"]),
        lateness_s=engine.pace.lateness_s(place),
        **sources.timing(place),
    )


def _rows_per_slice(counted: dict[str, Any], states: list[dict[str, Any]]) -> tuple[int, ...]:
    if counted["held"]:
        return tuple(sum(last - first for first, last in held) for held in counted["held"])
    return tuple(
        sum(_share(state, at, counted["slices"]) for state in states) for at in range(counted["slices"])
    )


def _share(state: dict[str, Any], at: int, slices: int) -> int:
    """Rows of a window that one of so many equal shares has."""
    rows: int = state["processed"] - state["oldest"]
    return rows * (at + 1) // slices - rows * at // slices
