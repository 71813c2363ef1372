"""Drives the core of a ring join: schemas to a plan, batches to pushes, row numbers to tables.

No row can be processed before every stream has come, so calls wait, unmade, until all schemas are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.errors import OrderError, WatersmeetError
from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.inputs import as_batch
from watersmeet.join.columns.instants import in_unit, instant
from watersmeet.join.columns.intake import Intake
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.rings.checks import RingChecks
from watersmeet.join.rings.config import RingConfig
from watersmeet.join.rings.plan import RingPlan, make_checks, make_ring_plan, new_ring_core
from watersmeet.ring import OrderingRule, OrderingState, StepCounts, adapt_orderings
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["RingEngine", "Waiting"]

NO_ROWS: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call made before all streams were known: a batch, or a promise of an instant."""

    stream: int
    batch: pa.RecordBatch | None = None
    instant_ns: int | None = None


@dataclass(slots=True)
class _Ready:
    """What exists once all schemas are known."""

    plan: RingPlan
    core: Any
    intakes: list[Intake]
    stores: list[PayloadStore]
    checks: RingChecks


class RingEngine:
    """The state of one ring join."""

    def __init__(self, config: RingConfig) -> None:
        self.config = config
        count = len(config.streams)
        self.schemas: list[StreamSchema | None] = [None] * count
        self.waiting: list[Waiting] = []
        self.newest: list[int | None] = [None] * count  # of waiting batches
        self.pushed = [0] * count
        self.bad_rows = [0] * count
        self.is_finished = False
        self.slices = config.slices
        self.ready: _Ready | None = None
        start = OrderingState.start(count)
        self.orderings = start if config.orderings is None else OrderingState(config.orderings)
        self.asking: set[int] = set()  # threads that are inside a check
        self._counted: dict[tuple[int, int], tuple[int, int]] = {}

    # --- calls ---

    def push(self, stream: int, source: Any) -> pa.Table:
        """Take a batch and give the results that it releases; an error leaves everything as it was."""
        self._refuse_if_finished("push")
        batch = as_batch(source, about="batch")
        known = self.schemas[stream]
        schema = known or StreamSchema(
            self.config.streams[stream], batch.schema, needed=self.config.columns(stream)
        )
        batch = schema.aligned(batch)
        batch, bad = _timed(batch, self.config.streams[stream].time)
        if self.ready is None:
            out = self._push_waiting(stream, schema, batch)
        else:
            out = self._released(self._push(self.ready, stream, batch))
        self.pushed[stream] += batch.num_rows + bad
        self.bad_rows[stream] += bad
        return out

    def advance(self, stream: int, to: Any) -> pa.Table:
        """Take a promise and give the results that it releases."""
        self._refuse_if_finished("advance")
        schema = self.schemas[stream]
        step_ns = NANOSECONDS[self.config.streams[stream].time_unit] if schema is None else schema.time_ns
        instant_ns = instant(to, step_ns=step_ns)
        if self.ready is None:
            self.waiting.append(Waiting(stream, instant_ns=instant_ns))
            return self._empty()
        return self._released(self._advance(self.ready, stream, instant_ns))

    def finish(self) -> pa.Table:
        """Give what is left; nothing can be pushed afterwards."""
        if self.is_finished or self.ready is None:
            self.is_finished = True
            return self._empty()
        found = self.ready.core.finish(self._check(self.ready))
        self.is_finished = True
        return self._released(found)

    def resize(self, slices: int, relocation: str) -> None:
        """Have another number of slices from the next rows on; also while a push is under way."""
        ready = self.ready
        if ready is not None:
            ready.core.request_resize(slices, relocation)
        self.slices = slices

    # --- before all streams are known ---

    def _push_waiting(self, stream: int, schema: StreamSchema, batch: pa.RecordBatch) -> pa.Table:
        newest = self._check_order(stream, schema, batch)
        before = self.schemas[stream], self.newest[stream], self.waiting
        self.schemas[stream] = schema
        self.newest[stream] = newest
        self.waiting = [*self.waiting, Waiting(stream, batch=batch)]
        if any(other is None for other in self.schemas):
            return self._empty()
        try:
            return self._start()
        except BaseException:
            self.schemas[stream], self.newest[stream], self.waiting = before
            raise

    def _check_order(self, stream: int, schema: StreamSchema, batch: pa.RecordBatch) -> int | None:
        """Rows out of order are refused at once, and not when the last stream comes."""
        if batch.num_rows == 0:
            return self.newest[stream]
        config = self.config.streams[stream]
        handover = Handover(config.time, schema.kinds[config.time], schema.time_kind)
        times = np.asarray(handover(batch.column(config.time), about=schema.about).cast(pa.int64()))
        floor = self.newest[stream]
        steps = np.diff(times, prepend=times[0] if floor is None else floor)
        if (steps < 0).any():
            row = int(np.argmax(steps < 0))
            raise OrderError(
                f"{schema.about}: column {config.time!r}, row {row}: {times[row]} is behind"
                f" {times[row] - steps[row]}, which the stream has reached; rows come in timestamp order"
            )
        return int(times[-1])

    def _start(self) -> pa.Table:
        """All streams are known: make the core and the calls that have waited."""
        ready = self._prepared()
        found: list[tuple[Rows, ...]] = []
        for call in self.waiting:
            if call.instant_ns is not None:
                found.append(self._advance(ready, call.stream, call.instant_ns))
            else:
                assert call.batch is not None  # one of the two is set
                found.append(self._push(ready, call.stream, call.batch))
        self.ready, self.waiting = ready, []
        return self._released(tuple(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _prepared(self) -> _Ready:
        schemas = [schema for schema in self.schemas if schema is not None]
        plan = make_ring_plan(self.config, schemas)
        stores = [PayloadStore(schema.schema, schema.schema.names, about=schema.about) for schema in schemas]
        checks = RingChecks(
            make_checks(self.config, plan), names=self.config.names, stores=stores, asking=self.asking
        )
        core = new_ring_core(self.config, plan, checks.streams, slices=self.slices)
        core.set_orderings([list(ordering) for ordering in self.orderings.orderings])
        intakes = [Intake(schema, plan.handovers(stream)) for stream, schema in enumerate(schemas)]
        return _Ready(plan, core, intakes, stores, checks)

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

    def prepare_restored(self) -> None:
        """Make an empty core for the schemas that a snapshot has."""
        self.ready = self._prepared()

    # --- the core ---

    def _push(self, ready: _Ready, stream: int, batch: pa.RecordBatch) -> tuple[Rows, ...]:
        store = ready.stores[stream]
        core_batch = ready.intakes[stream].core_batch(batch)
        store.append(batch)
        try:
            found: tuple[Rows, ...] = ready.core.push(stream, core_batch, self._check(ready))
        except BaseException:
            store.rollback()
            raise
        store.commit()
        return found

    def _advance(self, ready: _Ready, stream: int, instant_ns: int) -> tuple[Rows, ...]:
        to = in_unit(instant_ns, ready.plan.unit_ns, is_known=True)
        found: tuple[Rows, ...] = ready.core.advance(stream, to, self._check(ready))
        return found

    @staticmethod
    def _check(ready: _Ready) -> RingChecks | None:
        return ready.checks if ready.checks.checks else None

    def _released(self, found: Sequence[Rows]) -> pa.Table:
        ready = self.ready
        assert ready is not None
        columns: list[Any] = []
        names: list[str] = []
        for stream, (store, rows) in enumerate(zip(ready.stores, found, strict=True)):
            columns.extend(store.gather(rows, may_miss=False))
            names.extend(f"{self.config.names[stream]}.{name}" for name in store.schema.names)
        out = pa.Table.from_arrays(columns, names=names)
        for stream, store in enumerate(ready.stores):
            store.drop_before(ready.core.state(stream)["oldest"])
        if self.config.orderings is None:
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
        return pa.schema(fields).empty_table()

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

    def _refuse_if_finished(self, call: str) -> None:
        if self.is_finished:
            raise WatersmeetError(f"{call}() after finish(): this join has ended")


def _timed(batch: pa.RecordBatch, time: str) -> tuple[pa.RecordBatch, int]:
    """The rows that have a timestamp, and how many have not: those match nothing."""
    bad = batch.column(time).null_count
    if not bad:
        return batch, 0
    return batch.filter(pc.is_valid(batch.column(time))), bad
