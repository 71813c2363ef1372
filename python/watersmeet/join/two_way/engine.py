"""Drives the core: schemas to plans, batches to pushes, pairs to tables. One caller at a time (guard.py).

The first stream is pushed before the second one's types are known. The core is then made as if both streams
were alike, and calls are remembered; if the second stream needs another core, it is made and the calls are
made again. Once many remembered rows have left their window the log is given up, and with it the way back.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.errors import MemoryLimitError, WatersmeetError
from watersmeet.join.columns.inputs import as_batch
from watersmeet.join.columns.instants import in_unit, instant
from watersmeet.join.columns.late import LateRows
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.memory.keeper import MemoryKeeper
from watersmeet.join.memory.numbering import Numbering
from watersmeet.join.memory.thinning import thinned
from watersmeet.join.shedding.build import shedding_extra
from watersmeet.join.timing.ordering import windows_in_seconds
from watersmeet.join.timing.pace import Clock, Pace, Progress, paced
from watersmeet.join.timing.response import SAMPLES, sample_of
from watersmeet.join.two_way.advisor import IndexAdvisor, met_spans
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.join.two_way.counters import metrics_of
from watersmeet.join.two_way.setup import Adjusted, Advanced, Call, Pushed, Setup, extended, first_setup
from watersmeet.join.two_way.split import split
from watersmeet.join.two_way.stopwatch import Stopwatch
from watersmeet.vocabulary import Metrics
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Engine"]

NO_ROWS: Final = np.empty(0, np.int64)
_MOST_LOGGED_ROWS: Final = 1 << 16
_OWED: Final = (
    "there was no memory to gather {:,} results: the rows were taken, their results come with the next call"
)


class Engine:
    """The state of one join."""

    def __init__(self, config: JoinConfig, clock: Clock | None = None) -> None:
        self.config = config
        self.division = split(config)
        self.setup: Setup = first_setup(config)
        self.log: list[Call] | None = []
        self.late = (LateRows(), LateRows())
        self.pushed = [0, 0]
        self.late_rows: tuple[deque[int], deque[int]] = (deque(maxlen=10_000), deque(maxlen=10_000))
        self.is_finished = False
        self.owed: tuple[Rows, Rows] | None = None  # results that could not be gathered when they came
        self.ended = [False, False]  # streams of which nothing will come
        self.advisor = IndexAdvisor(config, self.division)
        self.stopwatch = Stopwatch()
        limit = config.memory_limit
        self.memory = None if limit is None else MemoryKeeper(limit, may_shrink=config.on_memory == "shrink")
        self.numberings = (Numbering(), Numbering())
        self.pace: Pace | None = None
        if not config.metered:  # micro-batches have a clock of their own
            self.pace = paced(
                config.streams,
                config.order,
                clock=clock,
                windows_s=windows_in_seconds(config.streams, config.between),
                # Held results may take half of the memory; the windows that they come from need the rest.
                memory_limit=None if limit is None else limit // 2,
            )

    def push(self, side: int, source: Any, *, at: float | None = None) -> pa.Table:
        """Take a batch and give the results that it releases; an error leaves everything as it was."""
        is_short = self.setup.gives_pairs and self.memory is None and self.owed is None
        if self.pace is None:
            if is_short:
                return self._push_pairs(side, as_batch(source, about="batch"))
            if self.setup.gives_columns and self.memory is None and self.owed is None:
                return self._push_columns(side, as_batch(source, about="batch"))
            return self._released(self.push_rows(side, source, at=at))
        batch = as_batch(source, about="batch")
        if is_short and self.config.order is not None and batch.num_rows:
            return self._push_in_order(side, batch, at, self.pace)
        bringing = side if batch.num_rows else None
        return self._timed(lambda: self.push_rows(side, batch, at=at), at=at, bringing=bringing)

    def push_rows(self, side: int, source: Any, *, at: float | None = None) -> tuple[Rows, Rows]:
        """The same, giving the rows of the results alone."""
        self._refuse_if_finished("push", side)
        batch = as_batch(source, about="batch")
        schema, is_due = self.setup.schemas[side], self.advisor.is_due(side, batch.num_rows, self.setup.core)
        if schema is not None:
            if is_due and self.setup.is_decided:
                self._look_at_indexes()
            return self._push(side, schema.aligned(batch), at)
        before = self.setup
        schema = StreamSchema(self.config.streams[side], batch.schema, needed=self.config.columns(side))
        try:
            self.setup, released = extended(
                before, self.config, self.division, side=side, schema=schema, log=self.log
            )
            found = self._push(side, batch, at)
        except BaseException:
            self.setup = before
            raise
        if self.setup.is_decided:
            self.log = None
        return _with_unmatched(found, 1 - side, released) if len(released) else found

    def refill(self, side: int, source: Any) -> None:
        """Take rows whose results are known already. Requires: both streams' types are known."""
        self._enter(side, source, lambda batch, extra: self.setup.core.refill(side, batch, **extra))

    def hold(self, side: int, source: Any, arrivals: Any) -> None:
        """Take rows of a micro-batch, which wait for drain(). Requires: the same, and a metered join."""
        self._enter(
            side,
            source,
            lambda batch, extra: self.setup.core.hold(side, batch, arrivals=arrivals, **extra),
        )

    def drain(self) -> pa.Table:
        """Join all rows that wait, and give the results."""
        return self._released(self.setup.core.drain(self.setup.keep))

    def _enter(self, side: int, source: Any, take: Callable[[Any, dict[str, Any]], None]) -> None:
        """Rows into the core and their payload into its store; an error leaves everything as it was."""
        setup = self.setup
        schema, intake, store = setup.schemas[side], setup.intakes[side], setup.stores[side]
        if schema is None or intake is None or not setup.is_decided:
            raise WatersmeetError("refill(): push an empty batch of each stream first, to declare its types")
        batch = schema.aligned(as_batch(source, about="batch"))
        if batch.num_rows == 0:
            return
        extra = {} if self.config.shed is None else shedding_extra(self.config, side, batch, None)
        extra.pop("at", None)
        core_batch = intake.core_batch(batch)
        if store is None:
            take(core_batch, extra)
        else:
            store.append(batch)
            try:
                take(core_batch, extra)
            except BaseException:
                store.rollback()
                raise
            store.commit()
        self.pushed[side] += batch.num_rows
        self.trim()

    def advance(self, side: int, to: Any) -> pa.Table:
        """Take a promise and give the results that it releases."""
        return self._timed(lambda: self._advance(side, to), bringing=side)

    def poll(self, at: float | None) -> pa.Table:
        """Give what the passing of time releases."""
        return self._timed(self._poll, at=at) if self.pace is not None else self._released((NO_ROWS, NO_ROWS))

    def adjust(self, what: str, side: int, value: int) -> None:
        """Change a setting of the core."""
        call = Adjusted(what, side, value)
        assert self.setup.plan is not None  # there is a core
        call.apply(self.setup.core, self.setup.plan)
        if self.log is not None:
            self.log.append(call)

    def progress(self) -> tuple[Progress, int] | None:
        """How far the join has come, and its unit of time; None before there is a core."""
        core, plan = self.setup.core, self.setup.plan
        return None if core is None or plan is None else (core.progress(), plan.unit_ns)

    def due(self) -> int:
        """Pairs of rows that were to be decided so far."""
        return sum(direction["due"] for direction in self.setup.core.statistics()["directions"])

    def first_needed(self, side: int) -> int:
        """No result still to come has an older row of the stream."""
        return int(self.setup.core.first_needed(side))

    def _timed(
        self, call: Callable[[], tuple[Rows, Rows]], *, at: float | None = None, bringing: int | None = None
    ) -> pa.Table:
        pace = self.pace
        if pace is None:
            return self._released(call())
        try:
            pace.begin(self, at, bringing)
            rows = call()
        except BaseException:
            pace.undo(self)
            raise
        pace.end(self, rows)
        return self._released(rows)

    def _poll(self) -> tuple[Rows, Rows]:
        if self.setup.core is None or self.is_finished:
            return NO_ROWS, NO_ROWS
        found: tuple[Rows, Rows] = self.setup.core.poll(self.setup.keep)
        if self.log is not None:
            self.log.append(Adjusted("poll", 0, 0))
        return found

    def _advance(self, side: int, to: Any) -> tuple[Rows, Rows]:
        self._refuse_if_finished("advance", side)
        setup = self.setup
        schema, plan = setup.schemas[side], setup.plan
        step_ns = NANOSECONDS[self.config.streams[side].time_unit] if schema is None else schema.time_ns
        to_ns = instant(to, step_ns=step_ns)
        found = (NO_ROWS, NO_ROWS)
        if plan is not None:
            units = in_unit(to_ns, plan.unit_ns, is_known=schema is not None)
            found = setup.core.advance(side, units, setup.keep)
        if self.log is not None:
            self.log.append(Advanced(side, to_ns))
            if plan is not None and schema is None and self._is_log_too_long(1 - side):
                self.log = None
        return found

    def finish(self, side: int | None = None) -> pa.Table:
        """Give what is left; nothing can be pushed afterwards. Or only one stream has ended."""
        return self._timed(self.finish_rows if side is None else lambda: self._end(side))

    def _end(self, side: int) -> tuple[Rows, Rows]:
        found = (NO_ROWS, NO_ROWS)
        if self.setup.core is not None and not self.is_finished and not self.ended[side]:
            found = self.setup.core.finish(self.setup.keep, side)
        if self.log is not None and not self.ended[side]:
            self.log.append(Adjusted("end", side, 1))
        self.ended[side] = True
        return found

    def finish_rows(self) -> tuple[Rows, Rows]:
        """The same, giving the rows of the results alone."""
        found = (NO_ROWS, NO_ROWS)
        if self.setup.core is not None and not self.is_finished:
            found = self.setup.core.finish(self.setup.keep)
        self.is_finished = True
        return found

    def counted(self) -> dict[str, Any] | None:
        """The core's counters; None before there is a core."""
        return None if self.setup.core is None else self.setup.core.statistics()

    def kept_bytes(self) -> int:
        """Memory held outside the core and its payload: late rows, and batches remembered."""
        return sum(late.bytes for late in self.late) + self.log_bytes

    def payload_bytes(self) -> tuple[int, int]:
        """Memory held for each stream's payload."""
        left, right = (0 if store is None else store.bytes for store in self.setup.stores)
        return left, right

    @property
    def log_bytes(self) -> int:
        """Memory held by remembered batches."""
        return sum(call.batch.nbytes for call in self.log or () if isinstance(call, Pushed))

    def window_rows(self) -> tuple[int, int]:
        """Rows in each window."""
        left, right = self.setup.core.statistics()["streams"]
        return left["window_rows"], right["window_rows"]

    def window_bytes(self) -> tuple[int, int]:
        """Memory of each window with its index and payload."""
        streams, payload = self.setup.core.statistics()["streams"], self.payload_bytes()
        return streams[0]["window_bytes"] + payload[0], streams[1]["window_bytes"] + payload[1]

    def arrivals(self) -> tuple[int, int, float]:
        """Rows of each stream so far, and seconds of stream time since the first."""
        metrics = self.metrics()
        return metrics.streams[0].rows, metrics.streams[1].rows, self.stream_s(metrics)

    def window_spans_s(self, rates: tuple[float, float]) -> tuple[float, float]:
        """How many seconds of each stream can be met, at these rates."""
        first, second = (
            span.seconds if span.rows is None else span.rows / rate if rate else 0.0
            for span, rate in zip(met_spans(self.config), rates, strict=True)
        )
        return first, second

    def numbered(self, rows: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
        """Rows of results in their users' numbers."""
        left, right = (numbering.original(own) for numbering, own in zip(self.numberings, rows, strict=True))
        return left, right

    def _push(self, side: int, batch: pa.RecordBatch, at: float | None) -> tuple[Rows, Rows]:
        memory, rows = self.memory, batch.num_rows
        if memory is None or rows == 0:
            return self._push_all(side, batch, at)
        kept = memory.kept_of(self, side, batch)
        while True:
            try:
                if kept == rows:
                    return self._push_all(side, batch, at)
                return self._push_thinned(side, batch, kept, at)
            except MemoryLimitError as error:
                if memory.gave_way(self):
                    continue
                if not memory.may_shrink or kept == 0:
                    raise memory.refusal(self, side, rows, error) from None
            kept //= 2

    def _push_thinned(
        self, side: int, batch: pa.RecordBatch, kept: int, at: float | None
    ) -> tuple[Rows, Rows]:
        """Push some rows of a batch; the others are counted, and their time has come as if they were in."""
        setup, rows, start = self.setup, batch.num_rows, self.pushed[side]
        chosen, first, last = thinned(self, side, batch, kept)
        found = self._push_all(side, chosen, at) if kept else (NO_ROWS, NO_ROWS)
        setup.core.note_thinned(side, rows - kept, kept=kept, first=first, last=last)
        found = _together(found, setup.core.advance(side, last, setup.keep))
        self.numberings[side].thinned(start, rows, kept)
        return found

    def _push_all(self, side: int, batch: pa.RecordBatch, at: float | None) -> tuple[Rows, Rows]:
        setup = self.setup
        intake, store = setup.intakes[side], setup.stores[side]
        assert intake is not None  # the schema is known
        if batch.num_rows == 0:
            return (NO_ROWS, NO_ROWS) if self.pace is None else self._poll()
        core_batch = intake.core_batch(batch)
        extra = {} if self.config.shed is None else shedding_extra(self.config, side, batch, at)
        started = self.stopwatch.start(side)
        if store is None:
            if self.memory is not None:
                self.memory.let_in(self)
            left, right, late = setup.core.push(side, core_batch, setup.keep, **extra)
        else:
            left, right, late = self._push_with_payload(side, batch, core_batch, store, extra)
        self._took(side, batch, core_batch, late, started)
        if self.log is not None and not setup.is_decided:
            self.log.append(Pushed(side, batch.select(intake.names), extra))
            if self.pace is not None and any(self.pace.idle) and self._is_log_too_long(side):
                self.log = None
        if self.pace is not None and setup.plan is not None:
            times = core_batch.column(0)
            self.pace.saw(side, times, setup.plan.multipliers[side], setup.plan.unit_ns)
        return left, right

    def _push_pairs(self, side: int, batch: pa.RecordBatch) -> pa.Table:
        """The short way, where all that a push gives is pairs of row numbers, at once."""
        core_batch = self._taken_in(side, batch)
        setup, rows = self.setup, batch.num_rows
        if not rows:
            return setup.results.batch_at(None)
        started = self.stopwatch.start(side)
        address, late = setup.core.push_into(side, core_batch, setup.keep, setup.results.outbox)
        if started is None and late is None:  # most pushes of a small batch: nothing else to note
            self.pushed[side] += rows
        else:
            self._took(side, batch, core_batch, late, started)
        return setup.results.batch_at(address)

    def _push_columns(self, side: int, batch: pa.RecordBatch) -> pa.Table:
        """The same where results are columns of fixed width: the core gathers them while it has the batch."""
        core_batch = self._taken_in(side, batch)
        setup = self.setup
        if not batch.num_rows:
            return setup.results.batch_at(None)
        schema, own, other = setup.schemas[side], setup.stores[side], setup.stores[1 - side]
        assert schema is not None  # both streams are known, and give columns
        assert own is not None
        assert other is not None
        batch = schema.aligned(batch)
        started = self.stopwatch.start(side)
        address, late = setup.core.push_gathered(
            side, core_batch, own.fixed_of(batch), own.fixed, other.fixed, setup.results.outbox
        )
        own.took(batch.num_rows)
        self._took(side, batch, core_batch, late, started)
        out = setup.results.batch_at(address)
        self.trim()
        return out

    def _push_in_order(self, side: int, batch: pa.RecordBatch, at: float | None, pace: Pace) -> pa.Table:
        """The same where results wait for their turn."""
        try:
            pace.begin(self, at, side)
            core_batch = self._taken_in(side, batch)
            setup, started = self.setup, self.stopwatch.start(side)
            address, late, count, sampled, owed = setup.core.push_in_order(
                side, core_batch, setup.keep, setup.results.outbox, samples=SAMPLES
            )
        except BaseException:
            pace.undo(self)
            raise
        self._took(side, batch, core_batch, late, started)
        if pace.slacks[side] is not None and setup.plan is not None:
            pace.saw(side, core_batch.column(0), setup.plan.multipliers[side], setup.plan.unit_ns)
        if owed is not None:
            self.owed, sampled = owed, sample_of(owed)
            warnings.warn(_OWED.format(count), RuntimeWarning, stacklevel=4)
        pace.end_with(self, count, sampled)
        return setup.results.batch_at(address)

    def _taken_in(self, side: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch as the core reads it, after a look at the indexes if one is due."""
        if self.is_finished or self.ended[side]:
            self._refuse_if_finished("push", side)
        setup = self.setup
        schema, intake = setup.schemas[side], setup.intakes[side]
        assert schema is not None  # both streams are known
        assert intake is not None
        batch = schema.aligned(batch)
        if self.advisor.is_due(side, batch.num_rows, setup.core):
            self._look_at_indexes()
        return batch if intake.is_whole else intake.core_batch(batch)

    def _took(
        self,
        side: int,
        batch: pa.RecordBatch,
        core_batch: pa.RecordBatch,
        late: Rows | None,
        started: float | None,
    ) -> None:
        """The core has taken a batch, and found some of its rows late."""
        first = self.pushed[side]
        self.pushed[side] = first + batch.num_rows
        if started is not None:
            self.stopwatch.stop(side, started, batch=core_batch, step_ns=self.setup.step_ns(side))
        if late is not None and len(late):
            self.late_rows[side].extend(self.numberings[side].original(late).tolist())
            if self.config.streams[side].on_late == "keep":
                self.late[side].keep(batch, late - first)

    def _push_with_payload(
        self,
        side: int,
        batch: pa.RecordBatch,
        core_batch: pa.RecordBatch,
        store: PayloadStore,
        extra: dict[str, Any],
    ) -> tuple[Rows, Rows, Rows | None]:
        """Push with the batch's payload in its store before, since a function may be asked about its rows."""
        core, keep = self.setup.core, self.setup.keep
        try:
            store.append(batch)
            if self.memory is not None:
                self.memory.let_in(self)
            found: tuple[Rows, Rows, Rows | None] = core.push(side, core_batch, keep, **extra)
        except BaseException:
            store.rollback()
            if self.memory is not None:
                store.trim()
            raise
        store.commit()
        return found

    def metrics(self) -> Metrics:
        """The counters as users read them."""
        return metrics_of(self)

    def stream_s(self, metrics: Metrics) -> float:
        """Seconds of stream time since the first row."""
        return max(self.streams_s(metrics))

    def streams_s(self, metrics: Metrics) -> tuple[float, float]:
        """The same, as far as each stream has come."""
        plan = self.setup.plan
        return (0.0, 0.0) if plan is None else self.stopwatch.streams_s(metrics, plan.unit_ns)

    def _look_at_indexes(self) -> None:
        metrics = self.metrics()
        # Two indexes stand beside each other while one is built.
        if self.memory is not None and 2 * metrics.memory_bytes > self.memory.limit:
            self.advisor.postpone()
            return
        self.advisor.consider(self.setup.core, metrics, elapsed_s=self.streams_s(metrics))

    def trim(self) -> None:
        """Give back payload that no result can need any more."""
        setup = self.setup
        for side, store in enumerate(setup.stores):
            if store is not None:
                store.drop_before(setup.core.first_needed(side))
        for side, numbering in enumerate(self.numberings):
            if not numbering.is_plain:
                numbering.forget_before(setup.core.first_needed(side))

    def _released(self, rows: tuple[Rows, Rows]) -> pa.Table:
        """The results as a table. The core has given them away: if they cannot be gathered, they are owed."""
        setup = self.setup
        if self.owed is not None:
            rows = _together(self.owed, rows)
        try:
            named = self.numbered(rows) if self.config.output == "rows" else rows
            out = setup.results.table(named, setup.stores)
        except BaseException as error:
            self.owed = rows
            if self.is_finished or not isinstance(error, MemoryError):
                raise
            warnings.warn(_OWED.format(len(rows[0])), RuntimeWarning, stacklevel=4)
            return setup.results.table((NO_ROWS, NO_ROWS), setup.stores)
        self.owed = None
        self.settle(given=out)
        return out

    def settle(self, *, given: pa.Table | None = None) -> None:
        """The results of a change are out: give back what nothing needs any more, and what does not fit."""
        self.trim()
        if self.memory is not None:
            self.memory.settle(self, given=0 if given is None else given.nbytes)

    def _is_log_too_long(self, side: int) -> bool:
        """Whether most rows remembered have left the window: the log would grow without bound."""
        stream = self.setup.core.statistics()["streams"][side]
        return bool(stream["expired_rows"] > _MOST_LOGGED_ROWS + 2 * stream["window_rows"])

    def _refuse_if_finished(self, call: str, side: int) -> None:
        if self.is_finished:
            raise WatersmeetError(f"{call}() after finish(): this join has ended")
        if self.ended[side]:
            name = self.config.names[side]
            raise WatersmeetError(f"{call}() after finish({name!r}): this stream has ended")


def _with_unmatched(found: tuple[Rows, Rows], side: int, rows: Rows) -> tuple[Rows, Rows]:
    """The pairs found, after rows of one side without partner."""
    alone = np.full(len(rows), -1)
    return _together((rows, alone) if side == 0 else (alone, rows), found)


def _together(first: tuple[Rows, Rows], then: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
    return np.concatenate([first[0], then[0]]), np.concatenate([first[1], then[1]])
