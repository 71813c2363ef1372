"""Drives the core of a ring join: schemas to a plan, batches to moves, row numbers to tables.

No row can be processed before every stream has come, so rows are kept until all schemas are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.join.columns.inputs import as_batch
from watersmeet.join.columns.intake import Intake
from watersmeet.join.columns.layouts import no_rows
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.rings.checks import RingChecks
from watersmeet.join.rings.config import RingConfig
from watersmeet.join.rings.load import LoadGauge
from watersmeet.join.rings.plan import RingPlan, make_checks, make_ring_plan, new_ring_core, spans_of
from watersmeet.join.rings.shedding import RingShedding, check_ring_shed, shed_orderings
from watersmeet.join.timing.arrival import ArrivalState
from watersmeet.join.timing.kept import KeptRows
from watersmeet.join.timing.ordered import OrderedResults, starts_synchronised
from watersmeet.join.timing.ordering import windows_in_seconds
from watersmeet.join.timing.pace import Clock, Pace, Progress
from watersmeet.join.timing.several import SeveralStreams
from watersmeet.join.timing.sources import Moves, Ready, Sources
from watersmeet.ring import OrderingRule, OrderingState, StepCounts, adapt_orderings

__all__ = ["RingEngine"]

NO_ROWS: Final = np.empty(0, np.int64)


@dataclass(slots=True)
class _Ready:
    """What exists once all schemas are known."""

    plan: RingPlan
    core: Any
    intakes: list[Intake]
    stores: list[PayloadStore]
    checks: RingChecks
    held: OrderedResults | None
    shedding: RingShedding | None


class RingEngine(SeveralStreams):
    """The state of one ring join."""

    def __init__(self, config: RingConfig, clock: Clock | None = None) -> None:
        check_ring_shed(config)
        self.config = config
        count = len(config.streams)
        self.sources = Sources(config.streams)
        self.kept = KeptRows(count)
        self.admitted = [0] * count  # rows that the core has got
        self.found_before = 0  # results found before the snapshot that the join was restored from
        self.is_finished = False
        self.slices = config.slices
        self.lengths = config.lengths  # until the first resize
        self.gauge = LoadGauge(config.slices) if config.auto else None
        self.ready: _Ready | None = None
        self.is_synchronised = starts_synchronised(config.order)
        self.orderings = OrderingState.start(count)
        if config.shed is not None:
            self.orderings = OrderingState(shed_orderings(config))
        elif config.orderings is not None:
            self.orderings = OrderingState(config.orderings)
        self.asking: set[int] = set()  # threads that are inside a check
        self._counted: dict[tuple[int, int], tuple[int, int]] = {}
        self.pace = Pace(
            config.streams,
            config.order,
            clock,
            windows_in_seconds(config.streams, None),
            config.memory_limit,
        )

    # --- calls ---

    def push(self, stream: int, source: Any, *, at: float | None = None) -> pa.Table:
        """Take a batch and give the results that it releases; an error leaves everything as it was."""
        self._refuse_if_finished("push")
        self.sources.refuse_if_ended(stream, "push")
        batch = as_batch(source, about="batch")
        schema = self.schemas[stream] or StreamSchema(
            self.config.streams[stream], batch.schema, needed=self.config.columns(stream)
        )
        batch = schema.aligned(batch)
        bringing = stream if batch.num_rows else None
        return self._timed(lambda: self._push(stream, schema, batch), at=at, bringing=bringing)

    def resize(self, slices: int, relocation: str) -> None:
        """Have another number of slices from the next rows on; also while a push is under way."""
        ready = self.ready
        if ready is not None:
            ready.core.request_resize(slices, relocation)
        self.slices, self.lengths = slices, ()
        if self.gauge is not None:
            self.gauge.set_by_hand(slices)

    # --- what the pace asks for ---

    def progress(self) -> tuple[Progress, int]:
        """How far the join has come, in nanoseconds."""
        held = None if self.ready is None else self.ready.held
        streams = self.sources.progress([self.pending(at) for at in range(len(self.schemas))])
        return Progress(0 if held is None else held.count, 0 if held is None else held.held_bytes, streams), 1

    def pending(self, stream: int) -> int:
        """Rows of a stream, in order, that wait for the other streams."""
        if self.ready is None:
            return self.kept.count(stream)
        return self.admitted[stream] - int(self.ready.core.state(stream)["processed"])

    def adjust(self, what: str, side: int, value: int) -> None:
        """Change a setting, from the next call on."""
        if what == "idle":
            self.sources.idle[side] = bool(value)
        elif what == "lateness":
            self.sources.lateness_ns[side] = value
        else:
            self.is_synchronised = bool(value)
            if self.ready is not None:
                self.ready.core.set_synchronised(self.is_synchronised)

    def due(self) -> int:
        """Pairs compared so far."""
        return 0 if self.ready is None else sum(self.ready.core.statistics()["compared"])

    def first_needed(self, side: int) -> int:
        """No result still to come has an older row of the stream."""
        ready = self.ready
        if ready is None:
            return 0
        oldest = int(ready.core.state(side)["oldest"])
        return oldest if ready.held is None else min(oldest, ready.held.first_row(side))

    # --- moves ---

    def _push(self, stream: int, schema: StreamSchema, batch: pa.RecordBatch) -> tuple[Rows, ...] | None:
        before = self.schemas[stream]
        self.schemas[stream] = schema
        try:
            moves = self.sources.pushed(stream, schema, batch, pace=self.pace)
            rows = self._make(moves)
        except BaseException:
            self.schemas[stream] = before
            raise
        self.sources.keep_late(stream, moves.late)
        self.pace.saw_times(stream, moves.times, schema.time_ns)
        return rows

    def _make(self, moves: Moves) -> tuple[Rows, ...] | None:
        """Make the moves of a call; None while not every stream is known."""
        ready = self.ready
        if ready is None and None in self.schemas:
            self.kept.keep(moves.ready)
            low_ns = self.sources.low_ns(moves.states)
            for place, stream in enumerate(self.config.streams):
                self.kept.drop_before(stream, place, self.schemas[place], low_ns)
            self.sources.states = moves.states
            return None
        batches = moves.ready if ready is not None else self.kept.with_more(moves.ready)
        ready = ready or self._prepared()
        rows = self._change(ready, batches, moves.states)
        self.ready, self.sources.states = ready, moves.states
        self.kept.clear()
        return rows

    def _prepared(self) -> _Ready:
        schemas = [schema for schema in self.schemas if schema is not None]
        plan = make_ring_plan(self.config, schemas)
        made = make_checks(self.config, plan)
        stores = [
            PayloadStore(schema.schema, schema.schema.names, about=schema.about, asked=bool(made))
            for schema in schemas
        ]
        checks = RingChecks(made, names=self.config.names, stores=stores, asking=self.asking)
        core = new_ring_core(self.config, plan, checks.streams, slices=self.slices, lengths=self.lengths)
        core.set_orderings([list(ordering) for ordering in self.orderings.orderings])
        core.set_synchronised(self.is_synchronised)
        intakes = [Intake(schema, plan.handovers(stream)) for stream, schema in enumerate(schemas)]
        held = None if self.config.order is None else OrderedResults(len(schemas))
        shedding = None
        if self.config.shed is not None:
            shedding = RingShedding(self.config, plan.unit_ns, spans_of(self.config, plan))
            shedding.prepare(core, list(self.kept.expired))
        return _Ready(plan, core, intakes, stores, checks, held, shedding)

    def restore_rows(self, stream: int, kept: pa.Table, state: dict[str, Any]) -> None:
        """Put back the rows of a snapshot; after prepare_restored()."""
        ready = self.ready
        schema = self.schemas[stream]
        assert ready is not None
        assert schema is not None
        names = schema.schema.names
        store = PayloadStore(kept.schema, names, about=schema.about, first=state["first"])
        store.refill(kept)
        store.read_from(schema.schema)
        ready.stores[stream] = store
        batch = as_batch(kept, about=schema.about)
        ready.core.restore(stream, ready.intakes[stream].core_batch(batch), **state)

    @property
    def found(self) -> int:
        """Results found so far, those among them that are held."""
        return self.found_before + (0 if self.ready is None else int(self.ready.core.statistics()["results"]))

    def prepare_restored(self, held: bytes, shedding: bytes) -> None:
        """Make an empty core for the schemas that a snapshot has, with the results that were held."""
        self.ready = self._prepared()
        if self.ready.shedding is not None:
            self.ready.shedding.load(self.ready.core, shedding)
        if self.ready.held is not None:
            self.ready.held.load(held)

    # --- the core ---

    def _change(
        self, ready: _Ready, batches: Sequence[Ready], states: Sequence[ArrivalState]
    ) -> tuple[Rows, ...]:
        """Give the core rows and promises, all of it or nothing."""
        given = [(each.stream, ready.intakes[each.stream].core_batch(each.batch)) for each in batches]
        promises = self.sources.promises(states, ready.plan.unit_ns)
        appended: list[PayloadStore] = []
        check = ready.checks if ready.checks.checks else None
        try:
            for each in batches:
                ready.stores[each.stream].append(each.batch)
                appended.append(ready.stores[each.stream])
            found = self._measured(lambda: self._take(ready, given, promises, check))
        except BaseException:
            for store in appended:
                store.rollback()
            raise
        for store in appended:
            store.commit()
        for each in batches:
            self.pace.admitted(each.stream, self.admitted[each.stream], each.came)
            self.admitted[each.stream] += each.batch.num_rows
        if ready.held is None:
            return found
        return ready.held.passed(found[:-1], found[-1], ready.core.low())

    def _take(self, ready: _Ready, given: list[Any], promises: Any, check: Any) -> Any:
        shedding = ready.shedding
        if shedding is None:
            return ready.core.take(given, promises, check)

        def control(counted: Any) -> None:
            shedding.control(ready.core, counted)

        return shedding.controlling(lambda: ready.core.take(given, promises, check, control))

    def _measured(self, call: Callable[[], tuple[Rows, ...]]) -> tuple[Rows, ...]:
        """Make a call of the core, and have as many slices afterwards as its load asks for."""
        gauge = self.gauge
        if gauge is None:
            return call()
        began = gauge.now()
        found = call()
        gauge.timed(gauge.now() - began)
        decided = gauge.decide(sum(self.pending(stream) for stream in range(len(self.schemas))))
        if decided is not None and self.ready is not None:
            self.slices = decided[0]
            self.ready.core.request_resize(*decided)
        return found

    def _released(self, found: Sequence[Rows] | None) -> pa.Table:
        ready = self.ready
        if ready is None or found is None:
            return self._empty()
        columns: list[Any] = []
        names: list[str] = []
        for stream, (store, rows) in enumerate(zip(ready.stores, found, strict=True)):
            columns.extend(store.gather(rows, may_miss=False))
            names.extend(f"{self.config.names[stream]}.{name}" for name in store.schema.names)
        out = pa.Table.from_arrays(columns, names=names)
        for stream, store in enumerate(ready.stores):
            store.drop_before(self.first_needed(stream))
        if self.config.orderings is None and ready.shedding is None:
            self._adapt(ready)
        return out

    def _empty(self) -> pa.Table:
        """No results, with the columns of the streams that are known."""
        fields = [
            pa.field(f"{name}.{field.name}", field.type)
            for name, schema in zip(self.config.names, self.schemas, strict=True)
            if schema is not None
            for field in PayloadStore(schema.schema, schema.schema.names, about=schema.about).schema
        ]
        return pa.Table.from_batches([no_rows(pa.schema(fields))])

    def _adapt(self, ready: _Ready) -> None:
        """Choose the orderings anew from what the last call compared and kept."""
        steps = []
        for members, other, compared, kept in ready.core.statistics()["steps"]:
            before = self._counted.get((members, other), (0, 0))
            self._counted[members, other] = (compared, kept)
            if compared > before[0]:
                joined = frozenset(at for at in range(len(self.schemas)) if members >> at & 1)
                steps.append(StepCounts(joined, other, compared - before[0], kept - before[1]))
        if not steps:
            return
        pairs = {frozenset((test.left, test.right)) for test in self.config.tests}
        rule = OrderingRule(predicates=frozenset(pairs))
        states = [ready.core.state(stream) for stream in range(len(self.schemas))]
        window_rows = [state["processed"] - state["oldest"] for state in states]
        before_orderings = self.orderings.orderings
        self.orderings, chosen = adapt_orderings(self.orderings, steps, window_rows=window_rows, rule=rule)
        if chosen != before_orderings:
            ready.core.set_orderings([list(ordering) for ordering in chosen])
