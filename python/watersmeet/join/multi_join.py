"""MultiJoin: a live join of several streams by a tree of binary joins. The class that users hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import pyarrow as pa

from watersmeet.errors import ConfigError
from watersmeet.join.columns.schema import declare
from watersmeet.join.guard import Guard
from watersmeet.join.multi.config import Analysis, checked_multi_config
from watersmeet.join.multi.engine import MultiEngine
from watersmeet.join.multi.explain import MultiExplanation, explain_multi
from watersmeet.join.multi.metrics import MultiMetrics, multi_metrics
from watersmeet.join.multi.snapshot import multi_restored, multi_snapshot
from watersmeet.join.timing.calls import check_arrival, checked_clock
from watersmeet.join.timing.pace import Clock
from watersmeet.join.two_way.config import Output
from watersmeet.plan import Policy, TreeLike
from watersmeet.vocabulary import AdaptiveOrder, Predicate, SpanLike, Stream

__all__ = ["MultiJoin"]


class MultiJoin:
    """Joins two to eight streams as their batches arrive.

    streams         each with a window of its own
    tree            nested pairs of names, (("A", "B"), "C"); "auto": the cheapest by the streams' statistics,
                    chosen again when it pays
    on              predicates by pairs of streams, {("A", "B"): wm.equal("key")}; others are not compared
    budget          probes per second of stream time; None: exact
    policy          how the budget is spread over the tree: "jaqpot", "grepp", "discrete", or a heuristic
    monitor         how often rates and selectivities are measured, in stream time
    analyse_above   a statistic must have moved by this share for the budget to be planned again
    actuate_above   a new plan must promise this share more to come into force
    explore         the share of the budget that goes to every half-way join alike, so that none is unknown
    analysis        "thread": planning does not hold up the data; "inline": everything follows from the input
    output          "columns" of all streams, or "rows": "<stream>.row", counted per stream as rows are pushed
    states          rows that are kept of each join but the last, {"A+B": 200}: the published model, see below
    cells           with a budget and policy="jaqpot": where a half-way join may not probe everything, and
                    matches come together in some ages of its partner's rows, look at these cells alone
    order           None or "sync-filter": rows are processed by time, and so do results come; "filter-order":
                    as they come, and results are held for their order; wm.AdaptiveOrder(): whichever of the
                    two answers sooner. With a budget, windows of rows or states: by time in any case
    memory_limit    with AdaptiveOrder: bytes that held results may take before Sync-Filter takes over
    clock           seconds by which streams are idle and responses counted, such as time.monotonic; None: the
                    arrival times of push(at=), or else the newest timestamp seen

    A result is one row of each stream, all pairs matching, each row within its stream's window when the last
    one comes; its columns are "<stream>.<column>". Streams are pushed in any interleaving. With a budget some
    results are missing, none is wrong or repeated, and none holds a row older than its stream's freshness. A
    call that raises changes nothing. With `states`, a row has to be within its window only when it meets its
    first partner; the combination is then kept as one of the last so many of its join, and a result may hold
    rows as old as their freshness allows. Threads may share a join: one call runs at a time.
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        *,
        tree: TreeLike | Literal["auto"] = "auto",
        on: Mapping[tuple[str, str], Predicate] | None = None,
        budget: float | None = None,
        policy: Policy = "jaqpot",
        monitor: SpanLike = "10s",
        analyse_above: float = 0.05,
        actuate_above: float = 0.05,
        explore: float = 0.01,
        analysis: Analysis = "thread",
        output: Output = "columns",
        states: Mapping[str, int] | None = None,
        cells: bool = True,
        order: Literal["sync-filter", "filter-order"] | AdaptiveOrder | None = None,
        memory_limit: int | str | None = None,
        clock: Clock | None = None,
    ) -> None:
        config = checked_multi_config(
            streams,
            tree=tree,
            on=on,
            budget=budget,
            policy=policy,
            monitor=monitor,
            analyse_above=analyse_above,
            actuate_above=actuate_above,
            explore=explore,
            analysis=analysis,
            output=output,
            states=states,
            cells=cells,
            order=order,
            memory_limit=memory_limit,
        )
        self._hold(MultiEngine(config, checked_clock(clock)))
        declare(config.streams, self._engine.push)

    def _hold(self, engine: MultiEngine) -> None:
        self._engine = engine
        self._guard = Guard()
        self._places = {name: place for place, name in enumerate(engine.config.names)}

    def push(self, stream: str, batch: Any, *, at: float | None = None) -> pa.Table:
        """Take the stream's next rows; returns the results that they release, possibly none.

        Until the columns of every stream are known, by a batch or by Stream(schema=), nothing can come out
        and the table has no columns. `at` is the rows' time of arrival in seconds of stream time, by which
        idle_timeout, AdaptiveOrder and response times go; no answer depends on it otherwise.
        """
        place = self._place(stream)
        check_arrival(at)
        with self._guard:
            return self._engine.push(place, batch, at=at)

    def advance(self, stream: str, *, to: Any) -> pa.Table:
        """Take the promise that no row of the stream older than `to` will come; returns what it releases.

        A whole number counts the unit of the stream's time column (before its first batch: its time_unit=).
        """
        place = self._place(stream)
        with self._guard:
            return self._engine.advance(place, to)

    def poll(self, *, at: float | None = None) -> pa.Table:
        """What may leave now that time has passed, without a row: with a clock, or at this time."""
        check_arrival(at)
        with self._guard:
            return self._engine.poll(at)

    def finish(self, stream: str | None = None) -> pa.Table:
        """All streams have ended, or the one named: returns all results that this releases.

        A stream that has ended holds nothing back, and takes nothing more; the others go on.
        """
        place = None if stream is None else self._place(stream)
        with self._guard:
            return self._engine.finish(place)

    def late(self, stream: str) -> pa.Table:
        """The late rows kept since the last call (on_late="keep"), whole, in order of arrival."""
        place = self._place(stream)
        with self._guard:
            return self._engine.sources.taken_late(place)

    @property
    def metrics(self) -> MultiMetrics:
        """What the join has seen, done, kept, decided and given back; a copy that does not change."""
        with self._guard:
            return multi_metrics(self._engine)

    @overload
    def explain(self) -> MultiExplanation: ...
    @overload
    def explain(self, *, format: Literal["text", "json"]) -> str: ...
    def explain(self, *, format: str | None = None) -> MultiExplanation | str:  # noqa: A002  the API's word
        """The tree with rates, productivities, allowances, freshness, predicted and measured throughput.

        Gives a value that prints as a tree; with format="text" the tree, with "json" the same for programs.
        """
        if format not in (None, "text", "json"):
            raise ConfigError(f"explain(format)={format!r}: expected 'text' or 'json'")
        with self._guard:
            found = explain_multi(self._engine)
        return found if format is None else found.to_json() if format == "json" else str(found)

    def snapshot(self) -> bytes:
        """The join as it is, for restore(): versioned, checksummed; the join itself goes on undisturbed."""
        with self._guard:
            return multi_snapshot(self._engine)

    @classmethod
    def restore(
        cls,
        blob: bytes,
        *,
        on: Mapping[tuple[str, str], Predicate] | None = None,
        clock: Clock | None = None,
    ) -> MultiJoin:
        """The join that a snapshot was taken of: it continues exactly where it was.

        `on` is given again if it has functions of your own (wm.where), and only then.
        """
        join = cls.__new__(cls)
        join._hold(multi_restored(blob, on, checked_clock(clock)))
        return join

    def __repr__(self) -> str:
        config = self._engine.config
        names = ", ".join(map(repr, config.names))
        return f"MultiJoin([{names}], tree={config.tree.nested()!r}, budget={config.budget!r})"

    def _place(self, stream: str) -> int:
        place = self._places.get(stream) if isinstance(stream, str) else None
        if place is None:
            raise ConfigError(f"stream={stream!r}: expected one of {', '.join(map(repr, self._places))}")
        return place
