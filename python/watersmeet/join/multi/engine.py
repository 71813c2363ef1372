"""Drives the core of a tree of joins: schemas to a core, batches to pushes, combinations to tables.

Nothing can come out before every stream has been heard of. Until then batches are kept as they came, each
checked against a core that takes the missing streams to be like the known ones, so that a batch that cannot
be used is refused at once. One caller at a time (guard.py).
"""

from __future__ import annotations

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
from watersmeet.vocabulary.duration import INT64_MAX, INT64_MIN

__all__ = ["MultiEngine", "Running"]

_ROW: Final = "\0row"  # no column of a user's has such a name


class Running:
    """The core with what belongs to it: made once all streams are known."""

    def __init__(self, config: MultiConfig, plan: CorePlan) -> None:
        self.plan = plan
        rationed = config.budget is not None
        fresh = any(stream.freshness is not None for stream in config.streams)
        self.core: Any = plan.new_core(config.tree, track_ages=rationed or fresh)
        needs_all = config.output == "columns" or plan.is_opaque
        self.stores = [_store(schema, rows_only=not needs_all) for schema in plan.schemas]
        self.keep: KeepPairs | None = make_keep_pairs(plan, self.stores)
        adapts = rationed or (config.free_tree and self.keep is None and len(config.streams) > 2)
        self.control = Control(config, plan.unit_ns, self.core) if adapts else None
        self._as_rows = config.output == "rows"
        self.schema = _output_schema(config, self.stores)

    def push(self, stream: int, batch: pa.RecordBatch, watermark: int | None) -> pa.Table:
        """Process a batch in order, and the promise that nothing older than `watermark` will come."""
        out = self._push(stream, batch) if batch.num_rows else self.schema.empty_table()
        if watermark is None:
            return out
        to = self._in_unit(stream, watermark)
        more = self._change(lambda: self.core.begin_advance(stream, to))
        return pa.concat_tables([out, more]) if more.num_rows else out

    def finish(self) -> pa.Table:
        """Process everything that is left."""
        out = self._change(self.core.begin_finish)
        if self.control is not None:
            self.control.close()
        return out

    def _push(self, stream: int, batch: pa.RecordBatch) -> pa.Table:
        core_batch = self.plan.core_batch(stream, batch)
        store = self.stores[stream]
        store.append(batch)
        try:
            out = self._change(lambda: self.core.begin_push(stream, core_batch))
        except BaseException:
            store.rollback()
            raise
        store.commit()
        for place, each in enumerate(self.stores):
            each.drop_before(self.core.first_needed(place))
        return out

    def _change(self, begin: Any) -> pa.Table:
        begin()
        before = None if self.control is None else self.control.state
        try:
            if self.control is None:
                self.core.process(None, self.keep)
            else:
                self.control.process(self.keep)
            rows, _ = self.core.commit()
        except BaseException:
            if self.control is not None and before is not None:
                self.control.state = before
            self.core.roll_back()
            raise
        out = self._table(rows)
        if self.control is not None:
            self.control.change_tree()
        return out

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
        self._kept: list[list[pa.RecordBatch]] = [[] for _ in config.streams]
        self._promises: list[list[Any]] = [[] for _ in config.streams]

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
            instant(to, step_ns=1)  # refused now, if it is no moment
            self._promises[stream].append(to)
            return pa.table({})
        return self._accept(stream, schema, self._promised(stream, schema, self.arrivals[stream], to))

    def finish(self) -> pa.Table:
        """Give what is left; nothing can be pushed afterwards."""
        if self.running is None or self.is_finished:
            self.is_finished = True
            return pa.table({}) if self.running is None else self.running.schema.empty_table()
        tables = []
        for stream, schema in enumerate(self.schemas):
            assert schema is not None
            arrival = finished(self.config.streams[stream], schema, self.arrivals[stream])
            tables.append(self.running.push(stream, arrival.ready, None))
            self.arrivals[stream] = arrival.state
        tables.append(self.running.finish())
        self.is_finished = True
        return pa.concat_tables(tables)

    def kept_rows(self, stream: int) -> int:
        """Rows that wait for other streams to be heard of."""
        return sum(batch.num_rows for batch in self._kept[stream])

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
        for to in self._promises[stream]:
            state = self._promised(stream, schema, state, to).state
        return state

    def _promised(self, stream: int, schema: StreamSchema, state: ArrivalState, to: Any) -> Arrival:
        moment = in_unit(instant(to, step_ns=schema.time_ns), schema.time_ns, is_known=True)
        return promised(self.config.streams[stream], schema, state, moment)

    def _accept(self, stream: int, schema: StreamSchema, arrival: Arrival) -> pa.Table:
        """Let the rows of an arrival go on: into the core, or to those that wait for other streams."""
        if self.running is not None:
            in_order = self.config.streams[stream].lateness is None and arrival.ready.num_rows
            mark = None if in_order else self._watermark(stream, schema, arrival.state)
            out = self.running.push(stream, arrival.ready, mark)
        elif None in self.schemas:
            self._check(stream, arrival.ready)
            out = pa.table({})
        else:
            out = self._start(stream, arrival)
        if self.running is None and arrival.ready.num_rows:
            self._kept[stream].append(arrival.ready)
        self.arrivals[stream] = arrival.state
        self._promises[stream] = []
        return out

    def _start(self, stream: int, arrival: Arrival) -> pa.Table:
        """Make the core, and give it all that was kept."""
        running = Running(self.config, make_core_plan(self.config, self.schemas))
        states = [*self.arrivals[:stream], arrival.state, *self.arrivals[stream + 1 :]]
        tables = []
        for place, schema in enumerate(self.schemas):
            assert schema is not None
            kept = [*self._kept[place], *([arrival.ready] if place == stream else [])]
            for batch in kept:
                tables.append(running.push(place, batch, None))
            tables.append(
                running.push(place, _none_of(schema), self._watermark(place, schema, states[place]))
            )
        self.running = running
        self._kept = [[] for _ in self.config.streams]
        return pa.concat_tables(tables)

    def _check(self, stream: int, batch: pa.RecordBatch) -> None:
        """Refuse a batch that no core could take."""
        plan = make_core_plan(self.config, self.schemas)
        core = plan.new_core(self.config.tree, track_ages=False)
        core.begin_push(stream, plan.core_batch(stream, batch))
        core.roll_back()

    def _watermark(self, stream: int, schema: StreamSchema, state: ArrivalState) -> int | None:
        return state.watermark(lateness_of(self.config.streams[stream], schema))

    def _refuse_if_finished(self, call: str) -> None:
        if self.is_finished:
            raise WatersmeetError(f"{call}() after finish(): this join has ended")


def _store(schema: StreamSchema | None, *, rows_only: bool) -> PayloadStore:
    assert schema is not None
    names = [_ROW] if rows_only else schema.schema.names
    return PayloadStore(schema.schema, names, about=schema.about)


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
