"""What a join of several streams has seen, done and decided, as values that users read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from watersmeet.join.multi.config import MultiConfig
from watersmeet.join.multi.engine import MultiEngine, Running
from watersmeet.plan import Decision
from watersmeet.vocabulary import ChoiceMade, ResponseTimes, StreamStatistics, why_waiting
from watersmeet.vocabulary.duration import NANOSECONDS
from watersmeet.vocabulary.statistics import Counters, bytes_text, text_table

__all__ = ["AgeStatistics", "HalfJoinStatistics", "MultiMetrics", "multi_metrics"]


@dataclass(frozen=True, slots=True)
class HalfJoinStatistics:
    """The work of one input's new rows in its partner's state."""

    rows: int = 0  # that came
    looks: int = 0  # of these, that were allowed to look, at a part of the partner's state or all of it
    probes: int = 0  # what that counts as, in whole probes
    made: int = 0  # combinations that came of it
    due: int = 0  # rows of the partner's state within their reach
    comparisons: int = 0
    postings: int = 0
    lookups: int = 0
    state_rows: int = 0  # kept of this input, for its partner to look at


@dataclass(frozen=True, slots=True)
class AgeStatistics:
    """How old a stream's rows were when results with them came out, in seconds of stream time.

    Quantiles are up to an eighth too large; the largest is exact.
    """

    results: int
    median_s: float
    p90_s: float
    p99_s: float
    largest_s: float


@dataclass(frozen=True, slots=True)
class MultiMetrics(Counters):
    """A snapshot of a join's counters. It does not change as the join goes on."""

    results: int = 0
    streams: tuple[StreamStatistics, ...] = ()
    half_joins: Mapping[str, HalfJoinStatistics] = field(default_factory=dict)
    freshness: Mapping[str, AgeStatistics] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    memory_bytes: int = field(default=0, compare=False)  # describes the process, not the answer
    held_results: int = 0  # found, and kept back for their order
    held_bytes: int = field(default=0, compare=False)
    order: str | None = None  # how results are put in order now; None: they leave as rows are processed
    blocked_by: str | None = None  # the stream for which results or rows wait
    blocked_for_s: float = field(default=0.0, compare=False)  # by the join's clock
    response: ResponseTimes = field(default_factory=ResponseTimes)
    choices: tuple[ChoiceMade, ...] = ()  # about order, idle streams and lateness; decisions are the budget's

    def why_waiting(self) -> str:
        """What waits, for which stream, since when, and what would let it go; in words."""
        return why_waiting(self, self.choices)

    def __str__(self) -> str:
        head = (
            f"results {self.results:,}   held {self.held_results:,}   memory {bytes_text(self.memory_bytes)}"
            f"   decisions {len(self.decisions):,}"
        )
        names, counts = [f"{name} →" for name in self.half_joins], list(self.half_joins.values())
        ages = text_table("age of", list(self.freshness), list(self.freshness.values()))
        return "\n".join([head, *self._streams_text(), *text_table("half-way join", names, counts), *ages])


def multi_metrics(engine: MultiEngine) -> MultiMetrics:
    """A frozen copy of the counters; all zero before every stream has been heard of."""
    config, running = engine.config, engine.running
    facts = engine.pace.facts()
    facts["choices"] = facts.pop("decisions")
    if running is None:
        nothing: list[dict[str, int]] = [{}] * len(config.streams)
        return MultiMetrics(streams=_streams(engine, nothing, [0] * len(config.streams)), **facts)
    held, held_bytes = (0, 0) if running.held is None else (running.held.count, running.held.held_bytes)
    counted = running.core.statistics()
    payload = [store.bytes for store in running.stores]
    tree = config.tree if running.control is None else running.control.state.tree
    half_joins = {
        name: HalfJoinStatistics(**counts)
        for name, counts in zip(tree.half_joins, counted["half_joins"], strict=True)
    }
    return MultiMetrics(
        results=counted["results"] - held,
        streams=_streams(engine, counted["streams"], payload),
        half_joins=half_joins,
        freshness=_freshness(config, running, counted["ages"]),
        decisions=() if running.control is None else running.control.state.decisions,
        memory_bytes=counted["bytes"] + sum(payload) + held_bytes,
        held_results=held,
        held_bytes=held_bytes,
        **facts,
    )


def _streams(
    engine: MultiEngine, counted: list[dict[str, int]], payload: list[int]
) -> tuple[StreamStatistics, ...]:
    found = []
    for place, name in enumerate(engine.config.names):
        arrival, counts = engine.sources.states[place], counted[place]
        found.append(
            StreamStatistics(
                name,
                rows=arrival.rows,
                bad_rows=arrival.bad_rows,
                late_rows=arrival.late_rows,
                window_rows=counts.get("window_rows", 0),
                window_bytes=counts.get("window_bytes", 0) + payload[place],
                expired_rows=counts.get("expired_rows", 0) + engine.kept.expired[place],
                pending_rows=arrival.waiting_rows + engine.pending(place),
                watermark=counts.get("watermark"),
                lateness_s=engine.pace.lateness_s(place),
                **engine.sources.timing(place),
            )
        )
    return tuple(found)


def _freshness(
    config: MultiConfig, running: Running, ages: list[dict[str | float, int]]
) -> dict[str, AgeStatistics]:
    second = NANOSECONDS["s"] / running.plan.unit_ns
    return {
        name: AgeStatistics(
            results=each["total"],
            median_s=each[0.5] / second,
            p90_s=each[0.9] / second,
            p99_s=each[0.99] / second,
            largest_s=each["largest"] / second,
        )
        for name, each in zip(config.names, ages, strict=False)
    }
