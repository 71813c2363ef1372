"""What a running join has done, read from the query's own progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watersmeet.errors import ConfigError
from watersmeet.spark.operator import COUNTERS, GAUGES
from watersmeet.spark.streaming import OBSERVED

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["JoinMetrics", "metrics"]


@dataclass(frozen=True, slots=True)
class JoinMetrics:
    """The counters of one join.

    last        of the last micro-batch that it took part in, over all buckets
    total       over all micro-batches that the query still remembers; state is what there is now
    buckets     of the last micro-batch, by the bucket's label
    batches     how many micro-batches `total` is over
    """

    last: Mapping[str, int]
    total: Mapping[str, int]
    buckets: Mapping[int, Mapping[str, int]]
    batches: int

    @property
    def hit_rate(self) -> float:
        """The share of calls that found their join in the worker, up to date; 1 before there was a call."""
        calls = sum(self.total[name] for name in ("hits", "catch_ups", "rebuilds"))
        return self.total["hits"] / calls if calls else 1.0


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
    rows = [row for row in rows if row["results"] is not None]
    last = _counts(rows[-1]) if rows else dict.fromkeys(COUNTERS, 0)
    total = {
        counter: last[counter] if counter in GAUGES else sum(row[counter] for row in rows)
        for counter in COUNTERS
    }
    buckets: dict[int, dict[str, int]] = {}
    for bucket in rows[-1]["buckets"] if rows else ():
        held = buckets.setdefault(bucket["label"], dict.fromkeys(COUNTERS, 0))
        for counter in COUNTERS:
            held[counter] += bucket[counter]
    return JoinMetrics(last=last, total=total, buckets=buckets, batches=len(rows))


def _counts(row: Any) -> dict[str, int]:
    return {counter: int(row[counter]) for counter in COUNTERS}
