"""What a bucket counts, and what its counters mean when they are added up over buckets and micro-batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from watersmeet.control import Missed, estimate_recall
from watersmeet.vocabulary import Estimate, Metrics

__all__ = ["COUNTERS", "GAUGES", "MEASURES", "counted", "recall_of"]

COUNTERS: Final = (
    "left_rows",
    "right_rows",
    "bad_rows",
    "late_rows",
    "dropped_rows",
    "results",
    "due",  # pairs that the full answer asks to be decided; due = done + shed
    "done",
    "shed",
    "comparisons",
    "hits",
    "catch_ups",
    "rebuilds",
    "state_rows",
    "state_bytes",
    "segments",
    "find_us",  # to find, catch up or rebuild the live join
    "join_us",  # everything else: what a bound on a micro-batch is about
)
# Since the query's first micro-batch, so that all samples bear the estimates; numbers with a fraction.
MEASURES: Final = ("found", "missed", "missed_variance", "missed_now")
GAUGES: Final = ("state_rows", "state_bytes", "segments", "found", "missed", "missed_variance")
_NORMAL_95: Final = 1.959964


def counted(before: Sequence[Metrics], after: Sequence[Metrics], *, sheds: bool) -> dict[str, float]:
    """The work between two looks at the lanes of a bucket."""
    out: dict[str, float] = {}
    for name in ("due", "done", "shed", "comparisons"):
        out[name] = sum(_ways(metrics, name) for metrics in after) - sum(
            _ways(metrics, name) for metrics in before
        )
    out["dropped_rows"] = sum(map(_dropped, after)) - sum(map(_dropped, before))
    out |= dict.fromkeys(MEASURES, 0.0)
    if sheds:
        missed, variance = (sum(values) for values in zip(*map(_missed, after), strict=True))
        out["found"] = float(sum(metrics.results for metrics in after))
        out["missed"], out["missed_variance"] = missed, variance
        out["missed_now"] = missed - sum(_missed(metrics)[0] for metrics in before)
    return out


def recall_of(*, found: float, missed: float, variance: float) -> Estimate:
    """The share of the full answer, from sums over buckets."""
    missed = max(0.0, missed)
    if missed == 0.0 and variance == 0.0:
        return Estimate.exactly(1.0)
    part = Missed(results=found, missed=missed, variance=variance, samples=1000, shed=True, heaviest=1.0)
    made = estimate_recall([part])
    return Estimate(made.value, made.low, made.high)


def _ways(metrics: Metrics, name: str) -> int:
    return sum(int(getattr(way, name)) for way in metrics.directions)


def _dropped(metrics: Metrics) -> int:
    return sum(stream.dropped_rows for stream in metrics.streams)


def _missed(metrics: Metrics) -> tuple[float, float]:
    """The results that a lane is estimated to have missed, and the variance of that."""
    found, recall = metrics.results, metrics.recall
    if recall.value >= 1.0 or found == 0:
        return 0.0, 0.0

    def missing(share: float) -> float:
        return found * (1.0 / share - 1.0)

    missed = missing(recall.value) if recall.value > 0.0 else 0.0
    most = missing(recall.low) if recall.low > 0.0 else 4.0 * missed + found
    least = missing(recall.high) if recall.high > 0.0 else 0.0
    # The interval is one of the logarithm.
    spread = math.log(max(most, 1e-9) / max(least, 1e-9)) / (2 * _NORMAL_95) if least > 0.0 else 1.0
    return missed, missed**2 * math.expm1(min(spread, 3.0) ** 2)
