"""What a running join has done, read from the query's own progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watersmeet.errors import ConfigError
from watersmeet.spark.counts import COUNTERS, GAUGES, MEASURES, recall_of
from watersmeet.spark.streaming import OBSERVED
from watersmeet.vocabulary import Estimate

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["JoinMetrics", "metrics"]


@dataclass(frozen=True, slots=True)
class JoinMetrics:
    """The counters of one join (counts.py lists them); per counter, due = done + shed.

    last        of the last micro-batch that it took part in, over all buckets
    total       over all micro-batches that the query still remembers; state is what there is now
    buckets     of the last micro-batch that each bucket took part in, by its label
    batches     how many micro-batches `total` is over
    recall      the estimated share of the full answer since the query began, with its 95 % interval
    last_recall the same of the last micro-batch, without an interval
    """

    last: Mapping[str, float]
    total: Mapping[str, float]
    buckets: Mapping[int, Mapping[str, float]]
    batches: int
    recall: Estimate
    last_recall: float

    @property
    def hit_rate(self) -> float:
        """The share of calls that found their join in the worker, up to date; 1 before there was a call."""
        calls = sum(self.total[name] for name in ("hits", "catch_ups", "rebuilds"))
        return self.total["hits"] / calls if calls else 1.0

    def recall_in(self, label: int) -> Estimate:
        """The recall of one bucket since the query began."""
        return recall_of(self.buckets[label])


def metrics(query: StreamingQuery, name: str = "join") -> JoinMetrics:
    """The counters of the join that was given this name; all zero before its first micro-batch.

    Spark remembers the last spark.sql.streaming.numRecentProgressUpdates (100) micro-batches.
    """
    if not hasattr(query, "recentProgress"):
        raise ConfigError(f"query={query!r}: expected a StreamingQuery, as start() gives it")
    rows = [
        progress.observedMetrics[f"{OBSERVED}:{name}"]
        for progress in query.recentProgress
        if f"{OBSERVED}:{name}" in progress.observedMetrics
    ]
    rows = [row for row in rows if row["buckets"]]
    buckets: dict[int, Mapping[str, float]] = {}
    for row in rows:
        buckets |= _by_bucket(row["buckets"])
    total = {counter: sum(row["total"][counter] for row in rows) for counter in (*COUNTERS, *MEASURES)}
    # A bucket that had no rows for a while still has its state.
    total |= {gauge: sum(bucket[gauge] for bucket in buckets.values()) for gauge in GAUGES}
    last = dict.fromkeys((*COUNTERS, *MEASURES), 0)
    if rows:
        last = {counter: rows[-1]["total"][counter] for counter in last}
        last |= {gauge: total[gauge] for gauge in GAUGES}
    return JoinMetrics(
        last=last,
        total=total,
        buckets=buckets,
        batches=len(rows),
        recall=recall_of(total),
        last_recall=float(rows[-1]["total"]["recall"]) if rows else 1.0,
    )


def _by_bucket(reports: Iterable[Any]) -> dict[int, dict[str, float]]:
    """What each bucket reported in a micro-batch; one that was called twice reported twice."""
    out: dict[int, dict[str, float]] = {}
    for report in reports:
        held = out.setdefault(report["label"], dict.fromkeys((*COUNTERS, *MEASURES), 0))
        for counter in held:
            held[counter] += report[counter]
    return out
