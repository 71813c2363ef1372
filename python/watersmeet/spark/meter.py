"""The budget of one bucket: how much a micro-batch may cost, and what that is in units of the core's work.

The rows of a micro-batch are there all at once, so arrival has no meaning that streams would share. A bucket
has a clock of its own instead. A micro-batch takes so many seconds of it, over which its rows are spread in
order of time, and the core's server works through them at a speed that makes the seconds the budget:

* comparisons(n): the clock is stream time, by the mean of how far the two streams have come, and the speed
  is n per second, divided over the buckets. Nothing is measured: the same micro-batches give the same rows.
* per_batch(span): a micro-batch takes a fixed number of seconds, and the speed is what is affordable: the
  span, less what the rows take anyway, over the measured cost of a unit. A large micro-batch is joined in
  a few stretches, each with what is left of the span, so that a wrong guess is made good at once.

What is learnt travels in the log's index (`carried`), the courses of the joins with it.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import astuple, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.control import BatchCosts, affordable_units, learn_batch
from watersmeet.spark.counts import estimates
from watersmeet.spark.live import Arrived, Live
from watersmeet.spark.missing import Missing
from watersmeet.spark.request import Request
from watersmeet.vocabulary import Comparisons, PerBatch
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Meter", "clock", "courses"]

clock: Callable[[], float] = time.perf_counter

# Of the bucket's clock that a micro-batch takes. Rows wait for a second or two of it at most: were it
# longer, a calm batch would be shed where costly rows come together.
_BATCH_S: Final = 4.0
_STRETCHES: Final = 8
_STRETCH_ROWS: Final = 512  # at least, unless the micro-batch has fewer
_AIM: Final = 0.8  # share of the span that is planned for: costs vary from batch to batch
_LEAST_LANE_SHARE: Final = 0.05
_MOST_RISE: Final = 2.0  # of what a row takes beside the join, from batch to batch: a disk may hiccup


class Meter:
    """Joins micro-batches of one bucket within its budget."""

    def __init__(self, request: Request, carried: dict[str, Any], disorder: int) -> None:
        assert request.shed is not None
        self._request, self._budget = request, request.shed.budget
        goes_on = courses(request, carried, disorder) is not None
        # What joins found and missed that had another policy, or another room for disorder.
        self.past = Missing(*carried.get("past" if goes_on else "known", ()))
        self._tick = int(carried.get("clock", 0)) if goes_on else 0
        self._ends: list[int | None] = list(carried.get("ends", (None, None)))
        self._costs = BatchCosts(*carried.get("costs", ()))
        self._row_s = float(carried.get("row_s", 0.0))  # of a row, beside the join: its way to the log
        self._dues: list[float] = list(carried.get("dues", [1.0] * len(request.lanes)))
        self._entries = 0

    def join(self, live: Live, rows: list[Arrived]) -> list[pa.Table]:
        """The results of a micro-batch, as many as the budget allows."""
        if not rows:
            return []
        if isinstance(self._budget, Comparisons):
            per_s = self._budget.per_second / self._request.partitions
            return self._drained(live, rows, seconds=self._progress_s(rows), units_per_s=per_s)
        assert isinstance(self._budget, PerBatch)
        left_s = self._bound_s() * _AIM - self._row_s * _count(rows)
        stretches = _cut(rows, min(_STRETCHES, max(1, _count(rows) // _STRETCH_ROWS)))
        entries = [live.entries(stretch) for stretch in stretches]
        self._entries = sum(entries)
        seconds = _BATCH_S / len(stretches)
        out = []
        for place, stretch in enumerate(stretches):
            # All rows to come are seen to before a unit is spent; what is then left is theirs in equal parts.
            to_come = max(1, sum(entries[place:]))
            bound_s = max(left_s, 1e-3 * self._bound_s())
            units = affordable_units(self._costs, rows=to_come, bound_s=bound_s) * entries[place] / to_come
            began, before = clock(), live.units()
            out += self._drained(live, stretch, seconds=seconds, units_per_s=units / seconds)
            took_s = max(0.0, clock() - began)
            left_s -= took_s
            done = live.units() - before
            self._costs = learn_batch(self._costs, rows=entries[place], units=done, seconds=took_s)
        return out

    def rows_s(self, rows: int) -> float:
        """What the rows of this batch took by what is known now, whatever was shed; 0 if not measured."""
        if isinstance(self._budget, Comparisons):
            return 0.0
        return self._row_s * rows + self._costs.per_row_and_unit[0] * self._entries

    def note_overhead(self, rows: int, seconds: float) -> None:
        """What the batch took beside the join. The first one also loads what the later ones find loaded."""
        if rows:
            row_s = max(0.0, seconds) / rows
            if self._row_s > 0.0:
                row_s = min(row_s, _MOST_RISE * self._row_s)
            self._row_s = 0.5 * (self._row_s + row_s)

    def carried(self, live: Live) -> dict[str, Any]:
        """What the next batch needs to know, on whichever worker it is."""
        return {
            "clock": self._tick,
            "ends": self._ends,
            "costs": astuple(self._costs),
            "row_s": self._row_s,
            "dues": self._dues,
            "policy": _policy(self._request),
            "disorder": live.disorder,
            "past": astuple(self.past),
            "known": astuple(Missing.sum([self.past, estimates(live.looks())])),
            "courses": [base64.b64encode(course).decode() for course in live.courses()],
        }

    def _bound_s(self) -> float:
        """One bucket's part of the span: buckets that share a core come one after the other."""
        assert isinstance(self._budget, PerBatch)
        return float(self._budget.span.amount) * 1e-9 / self._request.waves

    def _progress_s(self, rows: list[Arrived]) -> float:
        """How far the streams have come with these rows, on average, in seconds."""
        progress = 0
        for side in (0, 1):
            own = [entry.times for entry in rows if entry.side == side]
            if not own:
                continue
            newest = max(int(times[-1]) for times in own)
            known = self._ends[side]
            oldest = min(int(times[0]) for times in own) if known is None else known
            progress += max(0, newest - oldest)
            self._ends[side] = newest if known is None else max(known, newest)
        return progress / 2 * NANOSECONDS[self._request.unit] * 1e-9

    def _drained(
        self, live: Live, rows: list[Arrived], *, seconds: float, units_per_s: float
    ) -> list[pa.Table]:
        """The rows spread over so many seconds of the bucket's clock, joined at this speed."""
        low = min(int(entry.times[0]) for entry in rows)
        high = max(int(entry.times[-1]) for entry in rows)
        ticks = seconds * 1e9 / NANOSECONDS[self._request.unit]
        scale = ticks / max(1, high - low)
        arriving = [(entry, self._tick + ((entry.times - low) * scale).astype(np.int64)) for entry in rows]
        self._tick += int(ticks) + 1
        before = live.looks()
        shares = _shares(self._dues)
        out = live.drain(arriving, [units_per_s * share for share in shares])
        self._dues = [float(now.due - then.due) for now, then in zip(live.looks(), before, strict=True)]
        return out


def courses(request: Request, carried: dict[str, Any], disorder: int) -> list[bytes] | None:
    """The courses of the lanes; None where there are none that a join with this policy and room can go on
    from: another room is another window, with other cells.
    """
    if request.shed is None or carried.get("policy") != _policy(request):
        return None
    if carried.get("disorder") != disorder:
        return None
    return [base64.b64decode(course) for course in carried["courses"]]


def _policy(request: Request) -> str:
    """What must not change if a join is to go on from another one's course."""
    shed = request.shed
    assert shed is not None
    return f"{shed.policy} {shed.adapt} {shed.rate_control} {shed.utility} {shed.utility_of}"


def _count(rows: list[Arrived]) -> int:
    return sum(len(entry.times) for entry in rows)


def _shares(dues: list[float]) -> list[float]:
    """Each lane's part of the budget, by what was due in it the last time."""
    total = sum(dues) or 1.0
    parts = [max(_LEAST_LANE_SHARE, due / total) for due in dues]
    return [part / sum(parts) for part in parts]


def _cut(rows: list[Arrived], stretches: int) -> list[list[Arrived]]:
    """The rows in stretches of time with about equally many."""
    if stretches == 1:
        return [rows]
    times = np.sort(np.concatenate([entry.times for entry in rows]))
    ends = times[(np.arange(1, stretches) * len(times)) // stretches]
    cut: list[list[Arrived]] = [[] for _ in range(stretches)]
    for entry in rows:
        places = [0, *np.searchsorted(entry.times, ends).tolist(), len(entry.times)]
        for stretch, (start, end) in enumerate(pairwise(places)):
            if end > start:
                part = entry.table.slice(start, end - start)
                cut[stretch].append(replace(entry, table=part, times=entry.times[start:end]))
    return [stretch for stretch in cut if stretch]
