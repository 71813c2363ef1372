"""WindowJoin: a live join of two streams. This is the class that users hold; the engine does the work."""

from __future__ import annotations

import math
from numbers import Real
from threading import get_ident
from typing import Any, Literal, Self, overload

import pyarrow as pa

from watersmeet.cost import Explanation
from watersmeet.errors import ConfigError
from watersmeet.join.columns.schema import declare
from watersmeet.join.guard import Guard
from watersmeet.join.shedding.layout import check_shed
from watersmeet.join.timing.pace import Clock
from watersmeet.join.two_way.config import How, Index, JoinConfig, Output, checked_config
from watersmeet.join.two_way.engine import Engine
from watersmeet.join.two_way.explain import explain
from watersmeet.join.two_way.snapshot import restored, snapshot
from watersmeet.vocabulary import AdaptiveOrder, Metrics, Predicate, Shed, SpanLike, Stream

__all__ = ["WindowJoin"]


class WindowJoin:
    """Joins two streams as their batches arrive.

    left, right    the streams; each has a window, unless between= bounds both
    on             the predicate; None: every pair inside the window
    how            "inner", "left", "right", "full", "semi" or "anti"
    output         "columns" of both sides, or "rows": row numbers, counted per stream as they are pushed
    suffix         added to a right column whose name is taken
    between        (lowest, highest) of ts_right - ts_left, inclusive, instead of the streams' windows
    basic_window   the stretch of time by which windows are divided; None: the join decides
    shed           wm.Shed(...): keep up by giving up comparisons; None: exact, never sheds
    order          None: results as they are found; "sync-filter" or "filter-order": by result time;
                   wm.AdaptiveOrder(): by result time, in whichever of the two ways answers sooner
    index          "auto", "scan", "hash", "inverted" or "inverted-by-id"; a pair sets each window's own
    merge          for inverted indexes: "auto", "heap", "count" or "bitmap"
    expiry         "active": rows leave their window at once; "lazy": when it pays
    threads        on how many threads rows look for partners; results and their order are the same for any
    memory_limit   bytes, or text such as "512MiB", that all the join keeps may take: windows, indexes,
                   payload, strings, rows and results that wait; with AdaptiveOrder, half of it for the latter
    on_memory      "shrink": windows that do not fit give up the rows least likely to match, metrics.recall
                   estimates what that costs; "raise": MemoryLimitError, and the batch is not taken
    clock          seconds by which streams are idle and responses counted, such as time.monotonic; None:
                   the arrival times of push(at=), or else the newest timestamp seen

    Streams are pushed in any interleaving; each pair comes out once. A call that raises changes nothing.
    Results for which there is no memory are kept, with a RuntimeWarning, and come with the next call; where
    that is finish(), it raises MemoryError and may be called again.
    Threads may share a join: one call runs at a time.
    """

    def __init__(
        self,
        left: Stream,
        right: Stream,
        *,
        on: Predicate | None = None,
        how: How = "inner",
        output: Output = "columns",
        suffix: str = "_right",
        between: tuple[SpanLike, SpanLike] | None = None,
        basic_window: SpanLike | None = None,
        shed: Shed | None = None,
        order: Literal["sync-filter", "filter-order"] | AdaptiveOrder | None = None,
        index: Index | tuple[Index, Index] = "auto",
        merge: Literal["auto", "heap", "count", "bitmap"] = "auto",
        expiry: Literal["active", "lazy"] = "active",
        threads: int = 1,
        memory_limit: int | str | None = None,
        on_memory: Literal["shrink", "raise"] = "shrink",
        seed: int = 0,
        clock: Clock | None = None,
    ) -> None:
        config = checked_config(
            left,
            right,
            on=on,
            how=how,
            output=output,
            suffix=suffix,
            between=between,
            basic_window=basic_window,
            order=order,
            index=index,
            merge=merge,
            expiry=expiry,
            seed=seed,
            shed=shed,
            memory_limit=memory_limit,
            on_memory=on_memory,
            threads=threads,
        )
        check_shed(config, config.shed)
        if clock is not None and not callable(clock):
            raise ConfigError(f"clock={clock!r}: expected a function giving seconds, such as time.monotonic")
        self._hold(Engine(config, clock))
        declare(config.streams, self._engine.push)

    def _hold(self, engine: Engine) -> None:
        self._engine = engine
        self._guard = Guard()
        self._sides = {name: side for side, name in enumerate(engine.config.names)}

    def push(self, stream: str, batch: Any, *, at: float | None = None) -> pa.Table:
        """Take the stream's next rows; returns the results that they release, possibly none.

        Until both streams' columns are known, by a batch or by Stream(schema=), the table has only those of
        the one that is. `at` is their time of arrival in seconds of stream time. An exact answer does not
        depend on it; a budget of comparisons, idle_timeout, AdaptiveOrder and response times go by it.
        """
        if at is not None:
            _check_arrival(at)
        side = self._side(stream)
        guard = self._guard  # as `with` does it: small batches are pushed often
        if not guard.acquire(False):
            guard.wait()
        guard.owner = get_ident()
        try:
            return self._engine.push(side, batch, at=at)
        finally:
            guard.owner = 0
            guard.release()

    def refill(self, stream: str, batch: Any) -> None:
        """Take rows whose results are known already, as from a log: they can be met, and look for nobody.

        Only for how="inner", and once both streams' types are known (push an empty batch of each).
        """
        side = self._side(stream)
        if self._engine.config.how != "inner":
            raise ConfigError(
                f"refill() with how={self._engine.config.how!r}: whether a row has a partner is only known"
                " by looking; expected 'inner'"
            )
        with self._guard:
            self._engine.refill(side, batch)

    def advance(self, stream: str, *, to: Any) -> pa.Table:
        """Take the promise that no row of the stream older than `to` will come; returns what it releases.

        `to` is a datetime of any kind, or a whole number in the unit of the stream's time column (before its
        first batch: in its time_unit=).
        """
        side = self._side(stream)
        with self._guard:
            return self._engine.advance(side, to)

    def poll(self, *, at: float | None = None) -> pa.Table:
        """What may leave now that time has passed, without a row: with a clock, or at this time."""
        if at is not None:
            _check_arrival(at)
        with self._guard:
            return self._engine.poll(at)

    def finish(self, stream: str | None = None) -> pa.Table:
        """Both streams have ended, or the one named: returns all results that this releases.

        A stream that has ended holds nothing back and takes nothing more; the other goes on.
        """
        side = None if stream is None else self._side(stream)
        with self._guard:
            return self._engine.finish(side)

    def late(self, stream: str) -> pa.Table:
        """The late rows kept since the last call (on_late="keep"), whole, in order of arrival."""
        side = self._side(stream)
        with self._guard:
            schema = self._engine.setup.schemas[side]
            kept = self._engine.late[side].table(None if schema is None else schema.schema)
            self._engine.late[side].clear()
            return kept

    @property
    def metrics(self) -> Metrics:
        """What the join has seen, done, kept and given back; a copy that does not change."""
        with self._guard:
            return self._metrics()

    @overload
    def explain(self) -> Explanation: ...
    @overload
    def explain(self, *, format: Literal["text", "json"]) -> str: ...
    def explain(self, *, format: str | None = None) -> Explanation | str:  # noqa: A002  the API's word
        """Which index serves each window and why, what checks the candidates, and what it has cost so far.

        Gives a value that prints as a tree; with format="text" the tree, with "json" the same for programs.
        """
        if format not in (None, "text", "json"):
            raise ConfigError(f"explain(format)={format!r}: expected 'text' or 'json'")
        with self._guard:
            found = explain(self._engine)
        return found if format is None else found.to_json() if format == "json" else str(found)

    def snapshot(self) -> bytes:
        """The join as bytes, from which restore() goes on exactly where it was."""
        with self._guard:
            return snapshot(self._engine)

    @classmethod
    def restore(cls, blob: bytes | bytearray | memoryview, *, clock: Clock | None = None) -> Self:
        """The join that a snapshot was taken of; SnapshotError if the bytes are no unharmed snapshot.

        A join with a clock is given one again; it goes on from the moment of the snapshot.
        """
        join = cls.__new__(cls)
        join._hold(restored(blob, clock))
        return join

    def __repr__(self) -> str:
        config: JoinConfig = self._engine.config
        return f"WindowJoin({config.names[0]!r}, {config.names[1]!r}, on={config.on}, how={config.how!r})"

    def _metrics(self) -> Metrics:
        return self._engine.metrics()

    def _side(self, stream: str) -> int:
        try:
            return self._sides[stream]
        except (KeyError, TypeError):
            names = ", ".join(map(repr, self._sides))
            raise ConfigError(f"stream={stream!r}: expected one of {names}") from None


def _check_arrival(at: object) -> None:
    if isinstance(at, bool) or not isinstance(at, Real) or not math.isfinite(at):
        raise ConfigError(f"push(at)={at!r}: expected a finite number of seconds")
