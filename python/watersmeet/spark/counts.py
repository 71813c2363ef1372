"""What a bucket counts, and what its counters mean when they are added up over buckets and micro-batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from watersmeet.control import Missed, estimate_recall
from watersmeet.vocabulary import Estimate, Metrics

__all__ = ["COUNTERS", "GAUGES", "MEASURES", "Look", "counted", "estimates", "recall_of"]

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
_WIDEST: Final = 3.0  # deviation of the logarithm of what is missed: by a factor of 400 either way


@dataclass(frozen=True, slots=True)
class Look:
    """The counters of a lane at some moment, since it was made."""

    due: int
    done: int
    shed: int
    metrics: Metrics  # everything else

    @classmethod
    def at(cls, metrics: Metrics) -> Look:
        """What the core says."""
        due, done, shed = (_ways(metrics, name) for name in ("due", "done", "shed"))
        return cls(due, done, shed, metrics)


def counted(
    before: Sequence[Look], after: Sequence[Look], *, past: Sequence[float] | None
) -> dict[str, float]:
    """The work between two looks at the lanes of a bucket.

    `past` is what joins before these found and missed, and the variance of that; None: nothing is missed.
    """
    out: dict[str, float] = {
        name: sum(getattr(look, name) for look in after) - sum(getattr(look, name) for look in before)
        for name in ("due", "done", "shed")
    }
    then, now = ([look.metrics for look in looks] for looks in (before, after))
    out["comparisons"] = sum(_ways(m, "comparisons") for m in now) - sum(
        _ways(m, "comparisons") for m in then
    )
    out["dropped_rows"] = sum(map(_dropped, now)) - sum(map(_dropped, then))
    out |= dict.fromkeys(MEASURES, 0.0)
    if past is not None:
        found, missed, variance = estimates(after)
        out["found"], out["missed"] = past[0] + found, past[1] + missed
        out["missed_variance"] = past[2] + variance
        out["missed_now"] = missed - estimates(before)[1]
    return out


def estimates(looks: Sequence[Look]) -> tuple[float, float, float]:
    """What the lanes of a bucket found, what they are estimated to have missed, and the variance of that."""
    missed = [_missed(look.metrics) for look in looks]
    found = float(sum(look.metrics.results for look in looks))
    return found, sum(each for each, _ in missed), sum(variance for _, variance in missed)


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
    if recall.is_exact or found == 0:
        return 0.0, 0.0

    def missing(share: float) -> float:
        return found * (1.0 / share - 1.0)

    if recall.low <= 0.0:  # no sample bounds it: judged by the comparisons made, and trusted that little
        missed = found * _ways(metrics, "shed") / max(1, _ways(metrics, "done"))
        return missed, missed**2 * math.expm1(_WIDEST**2)
    most = missing(recall.low)
    if recall.value >= 1.0:  # no sample missed anything, which bounds it by the rule of three
        missed, least = most / 3.0, most / 9.0
    else:
        missed, least = missing(recall.value), missing(recall.high)
    # The interval is one of the logarithm.
    spread = math.log(max(most, 1e-9) / max(least, 1e-9)) / (2 * _NORMAL_95) if least > 0.0 else 1.0
    return missed, missed**2 * math.expm1(min(spread, _WIDEST) ** 2)
