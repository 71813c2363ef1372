"""Drives the core of a tree of joins: schemas to a core, batches to pushes, combinations to tables.

Nothing can come out before every stream has been heard of. Until then batches are kept as they came, each
checked against a core that takes the missing streams to be like the known ones, so that a batch that cannot
be used is refused at once. One caller at a time (guard.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.join.columns.inputs import as_batch
from watersmeet.join.columns.layouts import no_rows
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.multi.config import MultiConfig
from watersmeet.join.multi.control import Control
from watersmeet.join.multi.core import CorePlan, KeepPairs, make_core_plan, make_keep_pairs
from watersmeet.join.timing.kept import KeptRows
from watersmeet.join.timing.ordered import OrderedResults, starts_synchronised
from watersmeet.join.timing.ordering import windows_in_seconds
from watersmeet.join.timing.pace import Clock, Pace, Progress
from watersmeet.join.timing.several import SeveralStreams
from watersmeet.join.timing.sources import Moves, Ready, Sources
from watersmeet.plan import Tree

__all__ = ["MultiEngine", "Running"]

_ROW: Final = "\0row"  # no column of a user's has such a name
Found = tuple[Rows, ...]


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
        self.core.set_synchronised(starts_synchronised(config.order))
        self.held = None if config.order is None else OrderedResults(len(config.streams))
        self._as_rows = config.output == "rows"
        self.schema = _output_schema(config, self.stores)

    def change(self, ready: Sequence[Ready], promises: Sequence[tuple[int, int | None]]) -> Found:
        """Process rows in order, and promises (None: the stream has ended), all of it or nothing; gives the
        rows of the results that this releases.
        """
        given = [(each, self.plan.core_batch(each.stream, each.batch)) for each in ready]
        if self.control is not None:
            self.control.before_change(self.keep)
        before = None if self.control is None else self.control.state
        self.core.begin()
        appended: list[PayloadStore] = []
        try:
            for each, core_batch in given:
                self.stores[each.stream].append(each.batch)
                appended.append(self.stores[each.stream])
                self.core.push(each.stream, core_batch)
            for stream, to in promises:
                if to is None:
                    self.core.end(stream)
                else:
                    self.core.promise(stream, to)
            rows, times = self._processed()
        except BaseException:
            for store in appended:
                store.rollback()
            if self.control is not None and before is not None:
                self.control.state = before
            self.core.roll_back()
            raise
        for store in appended:
            store.commit()
        return rows if self.held is None else self.held.passed(rows, times, self.core.low())

    def table(self, rows: Sequence[Rows]) -> pa.Table:
        """The results of these rows; what no later result can need is forgotten."""
        out = self._table(rows)
        for place, store in enumerate(self.stores):
            store.drop_before(self.first_needed(place))
        return out

    def first_needed(self, stream: int) -> int:
        """No result still to come has an older row of the stream."""
        oldest = int(self.core.first_needed(stream))
        return oldest if self.held is None else min(oldest, self.held.first_row(stream))

    def close(self) -> None:
        """No row will come any more."""
        if self.control is not None:
            self.control.close()

    def _processed(self) -> tuple[Found, Rows]:
        if self.control is None:
            self.core.process(None, self.keep)
        else:
            self.control.process(self.keep)
        rows, times = self.core.commit()
        return tuple(rows), times

    def _table(self, rows: Sequence[Rows]) -> pa.Table:
        if len(rows[0]) == 0:
            return pa.Table.from_batches([no_rows(self.schema)])
        arrays: list[Any] = []
        for store, own in zip(self.stores, rows, strict=True):
            columns = store.gather(own, may_miss=False)
            arrays += columns[-1:] if self._as_rows else columns
        return pa.Table.from_arrays(arrays, schema=self.schema)


class MultiEngine(SeveralStreams):
    """The state of one join of several streams."""

    def __init__(self, config: MultiConfig, clock: Clock | None = None) -> None:
        self.config = config
        self.sources = Sources(config.streams)
        self.kept = KeptRows(len(config.streams))
        self.admitted = [0] * len(config.streams)  # rows that the core has got
        self.running: Running | None = None
        self.is_finished = False
        self.is_synchronised = starts_synchronised(config.order)
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
        if self.config.output == "rows":
            batch = _numbered(batch, self.sources.states[stream].rows)
        schema = self.schemas[stream] or StreamSchema(
            self.config.streams[stream], batch.schema, needed=self.config.columns(stream)
        )
        batch = schema.aligned(batch)
        bringing = stream if batch.num_rows else None
        return self._timed(lambda: self._push(stream, schema, batch), at=at, bringing=bringing)

    def finish(self, stream: int | None = None) -> pa.Table:
        """As for any join of several streams; the planner's thread ends with the last."""
        out = super().finish(stream)
        if self.is_finished and self.running is not None:
            self.running.close()
        return out

    # --- what the pace asks for ---

    def progress(self) -> tuple[Progress, int]:
        """How far the join has come, in nanoseconds."""
        held = None if self.running is None else self.running.held
        streams = self.sources.progress([self.pending(place) for place in range(len(self.schemas))])
        return Progress(0 if held is None else held.count, 0 if held is None else held.held_bytes, streams), 1

    def pending(self, stream: int) -> int:
        """Rows of a stream, in order, that wait for the other streams."""
        if self.running is None:
            return self.kept.count(stream)
        return self.admitted[stream] - int(self.running.core.processed(stream))

    def adjust(self, what: str, side: int, value: int) -> None:
        """Change a setting, from the next call on."""
        if what == "idle":
            self.sources.idle[side] = bool(value)
        elif what == "lateness":
            self.sources.lateness_ns[side] = value
        else:
            self.is_synchronised = bool(value)
            if self.running is not None:
                self.running.core.set_synchronised(self.is_synchronised)

    def due(self) -> int:
        """Pairs of rows within reach of each other so far."""
        if self.running is None:
            return 0
        return sum(half["due"] for half in self.running.core.statistics()["half_joins"])

    def first_needed(self, side: int) -> int:
        """No result still to come has an older row of the stream."""
        return 0 if self.running is None else self.running.first_needed(side)

    # --- moves ---

    def _push(self, stream: int, schema: StreamSchema, batch: pa.RecordBatch) -> Found | None:
        before = self.schemas[stream]
        self.schemas[stream] = schema
        try:
            moves = self.sources.pushed(stream, schema, batch, pace=self.pace)
            rows = self._make(moves)
        except BaseException:
            self.schemas[stream] = before
            raise
        late = moves.late
        if late is not None and self.config.output == "rows":
            late = late.drop_columns([_ROW])
        self.sources.keep_late(stream, late)
        self.pace.saw_times(stream, moves.times, schema.time_ns)
        return rows

    def _make(self, moves: Moves) -> Found | None:
        """Make the moves of a call; None while not every stream is known."""
        running = self.running
        if running is None and None in self.schemas:
            for each in moves.ready:
                self._check(each)
            self.kept.keep(moves.ready)
            low_ns = self.sources.low_ns(moves.states)
            for place, stream in enumerate(self.config.streams):
                self.kept.drop_before(stream, place, self.schemas[place], low_ns)
            self.sources.states = moves.states
            return None
        ready = moves.ready if running is not None else self.kept.with_more(moves.ready)
        if running is None:
            running = Running(self.config, make_core_plan(self.config, self.schemas))
            running.core.set_synchronised(self.is_synchronised)
        rows = running.change(ready, self.sources.promises(moves.states, running.plan.unit_ns))
        for each in ready:
            self.pace.admitted(each.stream, self.admitted[each.stream], each.came)
            self.admitted[each.stream] += each.batch.num_rows
        self.running, self.sources.states = running, moves.states
        self.kept.clear()
        return rows

    def _released(self, rows: Found | None) -> pa.Table:
        return self._empty() if rows is None or self.running is None else self.running.table(rows)

    def _empty(self) -> pa.Table:
        return pa.table({}) if self.running is None else pa.Table.from_batches([no_rows(self.running.schema)])

    def _check(self, ready: Ready) -> None:
        """Refuse a batch that no core could take."""
        plan = make_core_plan(self.config, self.schemas)
        core = plan.new_core(self.config.tree, track_ages=False)
        core_batch = plan.core_batch(ready.stream, ready.batch)
        core.begin()
        try:
            core.push(ready.stream, core_batch)
        finally:
            core.roll_back()


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
