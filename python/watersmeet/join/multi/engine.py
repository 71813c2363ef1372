"""Drives the core of a tree of joins: schemas to a core, batches to pushes, combinations to tables.

Nothing can come out before every stream has been heard of. Until then batches are kept as they came, each
checked against a core that takes the missing streams to be like the known ones, so that a batch that cannot
be used is refused at once. One caller at a time (guard.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.errors import WatersmeetError
from watersmeet.join.columns.inputs import as_batch
from watersmeet.join.columns.instants import in_unit, instant
from watersmeet.join.columns.late import LateRows
from watersmeet.join.columns.payload import PayloadStore
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.multi.arrival import Arrival, ArrivalState, finished, judge, lateness_of, promised
from watersmeet.join.multi.config import MultiConfig
from watersmeet.join.multi.control import Control
from watersmeet.join.multi.core import CorePlan, KeepPairs, make_core_plan, make_keep_pairs
from watersmeet.plan import Tree
from watersmeet.vocabulary.duration import INT64_MAX, INT64_MIN

__all__ = ["Intake", "MultiEngine", "Running"]

_ROW: Final = "\0row"  # no column of a user's has such a name


@dataclass(frozen=True, slots=True)
class Promise:
    """What advance() was given: nanoseconds since the epoch or, if it is `whole`, units of its stream."""

    amount: int
    whole: bool

    @classmethod
    def of(cls, to: Any) -> Promise:
        """ConfigError if it is no moment."""
        amount = instant(to, step_ns=1)
        return cls(amount, amount != instant(to, step_ns=2))

    def instant_ns(self, step_ns: int) -> int:
        """Nanoseconds since the epoch, where the stream's unit is known."""
        return self.amount * step_ns if self.whole else self.amount


@dataclass(frozen=True, slots=True)
class Intake:
    """What goes into the core of one stream: rows in order, and that nothing older than `watermark` will
    come.
    """

    stream: int
    batch: pa.RecordBatch
    watermark: int | None = None


class Running:
    """The core with what belongs to it: made once all streams are known."""

    def __init__(
        self, config: MultiConfig, plan: CorePlan, *, tree: Tree | None = None, first: Sequence[int] = ()
    ) -> None:
        """`tree`, if not the first one, and the `first` rows of the payload: for a join that goes on."""
        self.plan = plan
        rationed = config.budget is not None
        fresh = any(stream.freshness is not None for stream in config.streams)
        self.core: Any = plan.new_core(tree or config.tree, track_ages=rationed or fresh)
        needs_all = config.output == "columns" or plan.is_opaque
        starts = first or [0] * len(config.streams)
        self.stores = [
            _store(schema, rows_only=not needs_all, first=start)
            for schema, start in zip(plan.schemas, starts, strict=True)
        ]
        self.keep: KeepPairs | None = make_keep_pairs(plan, self.stores)
        adapts = rationed or (config.free_tree and len(config.streams) > 2)
        self.control = Control(config, plan.unit_ns, self.core) if adapts else None
        self._as_rows = config.output == "rows"
        self.schema = _output_schema(config, self.stores)

    def change(self, arrivals: Sequence[Intake], *, is_last: bool = False) -> pa.Table:
        """Process batches in order, and promises; all of it or nothing. `is_last`: no row will come any
        more.
        """
        given = [(each, self._core_batch(each)) for each in arrivals]
        if self.control is not None:
            self.control.before_change(self.keep)
        before = None if self.control is None else self.control.state
        self.core.begin()
        appended: list[PayloadStore] = []
        try:
            for each, core_batch in given:
                if core_batch is not None:
                    self.stores[each.stream].append(each.batch)
                    appended.append(self.stores[each.stream])
                    self.core.push(each.stream, core_batch)
                if each.watermark is not None:
                    self.core.promise(each.stream, self._in_unit(each.stream, each.watermark))
            if is_last:
                self.core.finish()
            rows = self._processed()
        except BaseException:
            for store in appended:
                store.rollback()
            if self.control is not None and before is not None:
                self.control.state = before
            self.core.roll_back()
            raise
        for store in appended:
            store.commit()
        out = self._table(rows)
        for place, store in enumerate(self.stores):
            store.drop_before(self.core.first_needed(place))
        if is_last and self.control is not None:
            self.control.close()
        return out

    def _core_batch(self, arrival: Intake) -> pa.RecordBatch | None:
        return self.plan.core_batch(arrival.stream, arrival.batch) if arrival.batch.num_rows else None

    def _processed(self) -> list[Any]:
        if self.control is None:
            self.core.process(None, self.keep)
        else:
            self.control.process(self.keep)
        rows: list[Any] = self.core.commit()[0]
        return rows

    def _table(self, rows: list[Any]) -> pa.Table:
        if len(rows[0]) == 0:
            return self.schema.empty_table()
        arrays: list[Any] = []
        for store, own in zip(self.stores, rows, strict=True):
            columns = store.gather(own, may_miss=False)
            arrays += columns[-1:] if self._as_rows else columns
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _in_unit(self, stream: int, moment: int) -> int:
        step = self.plan.step_ns(stream) // self.plan.unit_ns
        return min(max(moment * step, INT64_MIN), INT64_MAX)


class MultiEngine:
    """The state of one join of several streams."""

    def __init__(self, config: MultiConfig) -> None:
        self.config = config
        self.schemas: list[StreamSchema | None] = [None] * len(config.streams)
        self.arrivals = [ArrivalState() for _ in config.streams]
        self.late = [LateRows() for _ in config.streams]
        self.running: Running | None = None
        self.is_finished = False
        self.kept: list[list[pa.RecordBatch]] = [[] for _ in config.streams]
        self.promises: list[list[Promise]] = [[] for _ in config.streams]

    def push(self, stream: int, source: Any) -> pa.Table:
        """Take a batch and give the results that it releases; an error leaves everything as it was."""
        self._refuse_if_finished("push")
        batch = as_batch(source, about="batch")
        if self.config.output == "rows":
            batch = _numbered(batch, self.arrivals[stream].rows)
        known = self.schemas[stream]
        if known is not None:
            return self._push(stream, known, known.aligned(batch))
        schema = StreamSchema(self.config.streams[stream], batch.schema, needed=self.config.columns(stream))
        try:
            self.schemas[stream] = schema
            return self._push(stream, schema, batch)
        except BaseException:
            self.schemas[stream] = None
            raise

    def advance(self, stream: int, to: Any) -> pa.Table:
        """Take a promise and give the results that it releases."""
        self._refuse_if_finished("advance")
        schema = self.schemas[stream]
        if schema is None:
            self.promises[stream].append(Promise.of(to))
            return pa.table({})
        moved = self._promised(stream, schema, self.arrivals[stream], Promise.of(to))
        return self._accept(stream, schema, moved)

    def finish(self) -> pa.Table:
        """Give what is left; nothing can be pushed afterwards."""
        if self.running is None or self.is_finished:
            self.is_finished = True
            return pa.table({}) if self.running is None else self.running.schema.empty_table()
        last = []
        for stream, schema in enumerate(self.schemas):
            assert schema is not None
            last.append(finished(self.config.streams[stream], schema, self.arrivals[stream]))
        intakes = [Intake(stream, arrival.ready) for stream, arrival in enumerate(last)]
        out = self.running.change(intakes, is_last=True)
        self.arrivals = [arrival.state for arrival in last]
        self.is_finished = True
        return out

    def kept_rows(self, stream: int) -> int:
        """Rows that wait for other streams to be heard of."""
        return sum(batch.num_rows for batch in self.kept[stream])

    def _push(self, stream: int, schema: StreamSchema, batch: pa.RecordBatch) -> pa.Table:
        arrival = judge(self.config.streams[stream], schema, self._arrival(stream, schema), batch)
        out = self._accept(stream, schema, arrival)
        if arrival.late is not None and self.config.streams[stream].on_late == "keep":
            whole = range(arrival.late.num_rows)
            kept = arrival.late.drop_columns([_ROW]) if self.config.output == "rows" else arrival.late
            self.late[stream].keep(kept, pa.array(whole, pa.int64()).to_numpy())
        return out

    def _arrival(self, stream: int, schema: StreamSchema) -> ArrivalState:
        """The stream's state, with promises that were made before its unit of time was known."""
        state = self.arrivals[stream]
        for to in self.promises[stream]:
            state = self._promised(stream, schema, state, to).state
        return state

    def _promised(self, stream: int, schema: StreamSchema, state: ArrivalState, to: Promise) -> Arrival:
        moment = in_unit(to.instant_ns(schema.time_ns), schema.time_ns, is_known=True)
        return promised(self.config.streams[stream], schema, state, moment)

    def _accept(self, stream: int, schema: StreamSchema, arrival: Arrival) -> pa.Table:
        """Let the rows of an arrival go on: into the core, or to those that wait for other streams."""
        if self.running is not None:
            in_order = self.config.streams[stream].lateness is None and arrival.ready.num_rows
            mark = None if in_order else self._watermark(stream, schema, arrival.state)
            out = self.running.change([Intake(stream, arrival.ready, mark)])
        elif None in self.schemas:
            self._check(stream, arrival.ready)
            out = pa.table({})
        else:
            out = self._start(stream, arrival)
        if self.running is None and arrival.ready.num_rows:
            self.kept[stream].append(arrival.ready)
        self.arrivals[stream] = arrival.state
        self.promises[stream] = []
        return out

    def _start(self, stream: int, arrival: Arrival) -> pa.Table:
        """Make the core, and give it all that was kept."""
        running = Running(self.config, make_core_plan(self.config, self.schemas))
        states = [*self.arrivals[:stream], arrival.state, *self.arrivals[stream + 1 :]]
        tables = []
        for place, schema in enumerate(self.schemas):
            assert schema is not None
            kept = [*self.kept[place], *([arrival.ready] if place == stream else [])]
            for batch in kept:
                tables.append(running.change([Intake(place, batch)]))
            mark = self._watermark(place, schema, states[place])
            tables.append(running.change([Intake(place, _none_of(schema), mark)]))
        self.running = running
        self.kept = [[] for _ in self.config.streams]
        return pa.concat_tables(tables)

    def _check(self, stream: int, batch: pa.RecordBatch) -> None:
        """Refuse a batch that no core could take."""
        plan = make_core_plan(self.config, self.schemas)
        core = plan.new_core(self.config.tree, track_ages=False)
        core_batch = plan.core_batch(stream, batch)
        core.begin()
        try:
            core.push(stream, core_batch)
        finally:
            core.roll_back()

    def _watermark(self, stream: int, schema: StreamSchema, state: ArrivalState) -> int | None:
        return state.watermark(lateness_of(self.config.streams[stream], schema))

    def _refuse_if_finished(self, call: str) -> None:
        if self.is_finished:
            raise WatersmeetError(f"{call}() after finish(): this join has ended")


def _store(schema: StreamSchema | None, *, rows_only: bool, first: int) -> PayloadStore:
    assert schema is not None
    names = [_ROW] if rows_only else schema.schema.names
    return PayloadStore(schema.schema, names, about=schema.about, first=first)


def _numbered(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
    """The batch with the numbers under which its rows are pushed, as its last column."""
    numbers = pa.array(np.arange(first, first + batch.num_rows))
    return pa.RecordBatch.from_arrays([*batch.columns, numbers], names=[*batch.schema.names, _ROW])


def _output_schema(config: MultiConfig, stores: list[PayloadStore]) -> pa.Schema:
    if config.output == "rows":
        return pa.schema([(f"{name}.row", pa.int64()) for name in config.names])
    fields = []
    for stream, store in zip(config.streams, stores, strict=True):
        fields += [field.with_name(f"{stream.name}.{field.name}") for field in store.schema]
    return pa.schema(fields)


def _none_of(schema: StreamSchema) -> pa.RecordBatch:
    arrays = [pa.array([], kind) for kind in schema.schema.types]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.schema)
