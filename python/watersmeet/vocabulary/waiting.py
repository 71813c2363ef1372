"""Waiting: how long results took to come out, what was decided about it, and what holds them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from watersmeet.vocabulary.statistics import StreamStatistics

__all__ = ["ChoiceMade", "ResponseTimes", "WaitingMetrics", "why_waiting"]


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """From the arrival of a result's last row to its release, over all results so far.

    Quantiles are known to within 5 %. Of a push that releases more than 16 results, 16 stand for all.
    """

    count: int = 0
    mean_s: float = 0.0
    median_s: float = 0.0
    p95_s: float = 0.0
    p99_s: float = 0.0
    max_s: float = 0.0

    def __str__(self) -> str:
        if not self.count:
            return "no results yet"
        return (
            f"mean {self.mean_s:.4g} s, median {self.median_s:.4g} s, 95 % within {self.p95_s:.4g} s,"
            f" 99 % within {self.p99_s:.4g} s, longest {self.max_s:.4g} s"
        )


@dataclass(frozen=True, slots=True)
class ChoiceMade:
    """Something that a join decided by itself: when (seconds of its clock), what, and why."""

    at_s: float
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.at_s:.3f} s: {self.what} ({self.why})"


class WaitingMetrics(Protocol):
    """The metrics of a join, of whatever kind, as far as they are about waiting."""

    @property
    def results(self) -> int:
        """Results given so far."""

    @property
    def streams(self) -> Sequence[StreamStatistics]:
        """What each stream has seen."""

    @property
    def held_results(self) -> int:
        """Results found and kept back."""

    @property
    def order(self) -> str | None:
        """How results are put in order."""

    @property
    def blocked_by(self) -> str | None:
        """The stream for which something waits."""

    @property
    def blocked_for_s(self) -> float:
        """For how long."""

    @property
    def decisions(self) -> Sequence[object]:
        """What the join decided by itself."""


def why_waiting(metrics: WaitingMetrics) -> str:
    """What waits in a join, for whom, and what would let it go."""
    pending = sum(stream.pending_rows for stream in metrics.streams)
    what = [_counted(metrics.held_results, "result")] if metrics.held_results else []
    what += [_counted(pending, "row")] if pending else []
    if not what:
        return _nothing_waits(metrics)
    waiting = " and ".join(what) + (" waits" if what == ["1 result"] or what == ["1 row"] else " wait")
    if metrics.blocked_by is None:
        return f"{waiting}."
    lines = [f"{waiting} for stream {metrics.blocked_by!r}{_since(metrics.blocked_for_s)}."]
    blocker = next(stream for stream in metrics.streams if stream.name == metrics.blocked_by)
    lines.append(_place(blocker))
    if metrics.held_results:
        lines.append(
            f"Results leave by time ({metrics.order}): a row of {blocker.name!r} could still make one with a"
            " smaller timestamp."
        )
    lines.append(_advice(blocker))
    lines += [f"Decided at {choice}." for choice in metrics.decisions[-1:]]
    return " ".join(lines)


def _nothing_waits(metrics: WaitingMetrics) -> str:
    if metrics.results or any(stream.rows for stream in metrics.streams):
        return (
            "Nothing waits: every result found so far is out."
            " wm.why_not(join, left, right) tells why a pair is not."
        )
    return "Nothing waits: nothing has come yet."


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _since(seconds: float) -> str:
    return f", and have for {seconds:.3g} s" if seconds > 0 else ""


def _place(stream: StreamStatistics) -> str:
    if stream.watermark is None:
        return f"No row of {stream.name!r} has come."
    if stream.behind_s:
        return (
            f"It is complete up to {stream.watermark}, {stream.behind_s:.3g} s behind the newest of all rows."
        )
    return f"It is complete up to {stream.watermark}; what has that very time may still get company."


def _advice(stream: StreamStatistics) -> str:
    if stream.lateness_s:
        bound = f"{stream.lateness_s:.3g} s" if stream.lateness_s < float("inf") else "any time, for now,"
        return f"Its rows may come {bound} out of order (lateness), so the newest wait as long."
    return (
        f"Rows of it, advance({stream.name!r}, to=...), or an idle_timeout for a stream that falls silent,"
        " let them go."
    )
