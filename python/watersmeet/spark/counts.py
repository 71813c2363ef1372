"""What a bucket counts, and what its counters mean when they are added up over buckets and micro-batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Final

from watersmeet.spark.missing import Missing, missing
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
    "rows_us",  # of it, with such a bound: what the rows take, whatever is shed
)
# Since the query's first micro-batch, so that all samples bear the estimates; numbers with a fraction.
_MISSING: Final = tuple(each.name for each in fields(Missing))
MEASURES: Final = (*_MISSING, "missed_now")
GAUGES: Final = ("state_rows", "state_bytes", "segments", *_MISSING)


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


def counted(before: Sequence[Look], after: Sequence[Look], *, past: Missing | None) -> dict[str, float]:
    """The work between two looks at the lanes of a bucket.

    `past` is what joins before these found and missed; None: nothing is missed.
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
        out |= asdict(Missing.sum([past, estimates(after)]))
        out["missed_now"] = estimates(after).missed - estimates(before).missed
    return out


def estimates(looks: Sequence[Look]) -> Missing:
    """What the lanes of a bucket found, and are estimated to have missed."""
    return Missing.sum(_missing(look) for look in looks)


def recall_of(counts: Mapping[str, float]) -> Estimate:
    """The share of the full answer, from measures summed over buckets."""
    return Missing(*(counts[name] for name in _MISSING)).recall()


def _ways(metrics: Metrics, name: str) -> int:
    return sum(int(getattr(way, name)) for way in metrics.directions)


def _dropped(metrics: Metrics) -> int:
    return sum(stream.dropped_rows for stream in metrics.streams)


def _missing(look: Look) -> Missing:
    own, other = look.metrics.streams
    # A row that was dropped might have met every row of the other stream.
    lost = own.dropped_rows * other.rows + other.dropped_rows * own.rows
    return missing(
        found=look.metrics.results, recall=look.metrics.recall, done=look.done, given_up=look.shed + lost
    )
