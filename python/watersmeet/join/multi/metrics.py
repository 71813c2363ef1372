"""What a join of several streams has seen, done and decided, as values that users read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from watersmeet.join.multi.config import MultiConfig
from watersmeet.join.multi.engine import MultiEngine, Running
from watersmeet.plan import Decision
from watersmeet.vocabulary import StreamStatistics
from watersmeet.vocabulary.duration import NANOSECONDS

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
class MultiMetrics:
    """A snapshot of a join's counters. It does not change as the join goes on."""

    results: int = 0
    streams: tuple[StreamStatistics, ...] = ()
    half_joins: Mapping[str, HalfJoinStatistics] = field(default_factory=dict)
    freshness: Mapping[str, AgeStatistics] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    memory_bytes: int = field(default=0, compare=False)  # describes the process, not the answer

    def stream(self, name: str) -> StreamStatistics:
        """The statistics of one stream, by its name."""
        for stream in self.streams:
            if stream.name == name:
                return stream
        raise KeyError(name)


def multi_metrics(engine: MultiEngine) -> MultiMetrics:
    """A frozen copy of the counters; all zero before every stream has been heard of."""
    config, running = engine.config, engine.running
    if running is None:
        return MultiMetrics(streams=_streams(engine, [{}] * len(config.streams), [0] * len(config.streams)))
    counted = running.core.statistics()
    payload = [store.bytes for store in running.stores]
    tree = config.tree if running.control is None else running.control.state.tree
    half_joins = {
        name: HalfJoinStatistics(**counts)
        for name, counts in zip(tree.half_joins, counted["half_joins"], strict=True)
    }
    return MultiMetrics(
        results=counted["results"],
        streams=_streams(engine, counted["streams"], payload),
        half_joins=half_joins,
        freshness=_freshness(config, running, counted["ages"]),
        decisions=() if running.control is None else running.control.state.decisions,
        memory_bytes=counted["bytes"] + sum(payload),
    )


def _streams(
    engine: MultiEngine, counted: list[dict[str, int]], payload: list[int]
) -> tuple[StreamStatistics, ...]:
    found = []
    for place, name in enumerate(engine.config.names):
        arrival, counts = engine.arrivals[place], counted[place]
        waiting = 0 if arrival.waiting is None else arrival.waiting.num_rows
        found.append(
            StreamStatistics(
                name,
                rows=arrival.rows,
                bad_rows=arrival.bad_rows,
                late_rows=arrival.late_rows,
                window_rows=counts.get("window_rows", 0),
                window_bytes=counts.get("window_bytes", 0) + payload[place],
                expired_rows=counts.get("expired_rows", 0),
                pending_rows=counts.get("pending_rows", engine.kept_rows(place)) + waiting,
                watermark=counts.get("watermark"),
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
