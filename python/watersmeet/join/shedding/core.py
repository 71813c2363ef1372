"""A core that sheds: the compiled join and the policy that plans for it; called like the exact core."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.control import Survived, estimate_recall
from watersmeet.control.recall_samples import RecallSums, missed_by_line, with_period
from watersmeet.errors import SnapshotError
from watersmeet.join.shedding.pace import Pace
from watersmeet.join.shedding.period import NativePlan, period_of
from watersmeet.join.shedding.policies import PolicyState, SheddingPolicy
from watersmeet.join.shedding.state import from_plain, to_plain
from watersmeet.vocabulary import Estimate

__all__ = ["LEAST_SAMPLE_SHARE", "SheddingCore"]

LEAST_SAMPLE_SHARE: Final = 0.02  # of what is shed where the plan has no samples of its own

Rows = npt.NDArray[np.int64]
Keep = Callable[[Rows, Rows], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What a failing change must put back."""

    policy: PolicyState
    pace: Pace
    plans: tuple[NativePlan, NativePlan] | None
    recall: tuple[RecallSums, RecallSums]


class SheddingCore:
    """Drives the compiled join: at control times the policy looks at what was counted and plans anew."""

    def __init__(
        self,
        native: Any,
        policy: SheddingPolicy,
        *,
        policy_name: str,
        types: tuple[str, ...],
        unit_ns: int,
        multipliers: tuple[int, int],
        is_timed: bool,
        comparison_cost: float = 1.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._native = native
        self._policy = policy
        self.policy_name = policy_name
        self._types = types
        self._unit_ns = unit_ns
        self._multipliers = multipliers  # from the units of the streams' time columns
        self._comparison_cost = comparison_cost
        self.clock: Callable[[], float] | None = clock if is_timed else None
        self._pace = Pace()
        self._plans: tuple[NativePlan, NativePlan] | None = None
        self._recall = (RecallSums(), RecallSums())
        self.history: list[Mapping[str, Any]] | None = None

    def push(
        self, side: int, batch: Any, keep: Keep | None, *, at: float | None = None, kinds: Any = None
    ) -> tuple[Rows, Rows, Rows]:
        """As the exact core; `at` in seconds of stream time, `kinds` the codes of the rows' types."""
        arrival = None if at is None else math.floor(at * 1e9 / self._unit_ns + 0.5)
        return self._changed(  # type: ignore[no-any-return]
            lambda: self._native.push(side, batch, at=arrival, kinds=kinds, keep=keep, control=self._control),
            side=side,
            newest=lambda: self._newest(side, batch),
        )

    def advance(self, side: int, to: int, keep: Keep | None) -> tuple[Rows, Rows]:
        """As the exact core."""
        return self._changed(  # type: ignore[no-any-return]
            lambda: self._native.advance(side, to, keep=keep, control=self._control),
            side=side,
            newest=lambda: to,
        )

    def finish(self, keep: Keep | None, stream: int | None = None) -> tuple[Rows, Rows]:
        """As the exact core."""
        return self._changed(  # type: ignore[no-any-return]
            lambda: self._native.finish(keep=keep, control=self._control, stream=stream)
        )

    def refill(self, side: int, batch: Any, *, kinds: Any = None) -> None:
        """As the exact core."""
        self._native.refill(side, batch, kinds=kinds)

    def hold(self, side: int, batch: Any, *, arrivals: Rows, kinds: Any = None) -> None:
        """Take rows of a micro-batch, which arrive at these ticks of its own clock and wait for drain()."""
        self._native.hold(side, batch, arrivals=arrivals, kinds=kinds)

    def drain(self, keep: Keep | None) -> tuple[Rows, Rows]:
        """Process all rows that wait; the policy plans anew at the end."""
        return self._changed(  # type: ignore[no-any-return]
            lambda: self._native.drain(keep=keep, control=self._control)
        )

    def set_speed(self, units_per_second: float) -> None:
        """The server's speed from now on; the policy knows it at once."""
        self._native.set_speed(units_per_second)
        self._policy.state = _with_speed(self._policy.state, units_per_second)

    def poll(self, keep: Keep | None) -> tuple[Rows, Rows]:
        """As the exact core."""
        return self._changed(  # type: ignore[no-any-return]
            lambda: self._native.poll(keep=keep, control=self._control)
        )

    def set_idle(self, side: int, idle: bool) -> None:
        """As the exact core."""
        self._native.set_idle(side, idle)

    def set_lateness(self, side: int, lateness: int) -> None:
        """As the exact core."""
        self._native.set_lateness(side, lateness)

    def set_synchronised(self, synchronised: bool) -> None:
        """As the exact core; a budget in stream time always processes rows in order of arrival."""
        self._native.set_synchronised(synchronised)

    def progress(self) -> Any:
        """As the exact core."""
        return self._native.progress()

    def holds(self, left: int, right: int) -> bool:
        """As the exact core."""
        return bool(self._native.holds(left, right))

    def first_needed(self, side: int) -> int:
        """As the exact core."""
        return int(self._native.first_needed(side))

    def statistics(self) -> dict[str, Any]:
        """The exact core's counters, and those of shedding."""
        counted: dict[str, Any] = self._native.statistics()
        cells = [np.asarray(tally["due"]).size // len(self._types) for tally in counted["tallies"]]
        recalls = self._recalls(counted)
        for side, direction in enumerate(counted["directions"]):
            tally = counted["tallies"][side]
            direction["recall"] = recalls[1 + side]
            direction["cell_densities"] = _densities(tally, cells[side])
            direction["fractions"] = dict(zip(self._types, _shares(tally, cells[side]), strict=True))
            if self._plans is not None:
                order, fractions, *_ = self._plans[side]
                direction["plan_order"] = tuple(order)
                direction["plan_fractions"] = dict(zip(self._types, fractions, strict=True))
        counted["recall"] = recalls[0]
        counted["policy"] = self.policy_name
        return counted

    @property
    def memory_bytes(self) -> int:
        """As the exact core."""
        return int(self._native.memory_bytes)

    def set_room(self, room: int, *, may_evict: bool) -> None:
        """As the exact core."""
        self._native.set_room(room, may_evict=may_evict)

    def evict(self, side: int, rows: int) -> None:
        """As the exact core."""
        self._native.evict(side, rows)

    def note_thinned(self, side: int, rows: int, *, kept: int, first: int, last: int) -> None:
        """As the exact core."""
        self._native.note_thinned(side, rows, kept=kept, first=first, last=last)

    def trim(self) -> None:
        """As the exact core."""
        self._native.trim()

    def tallies(self) -> list[dict[str, Any]]:
        """Pairs decided and matches per direction, by type of row and cell of age, and how many cells."""
        tallies = self._native.statistics()["tallies"]
        return [{**tally, "cells": np.asarray(tally["due"]).size // len(self._types)} for tally in tallies]

    def snapshot(self) -> bytes:
        """The core and the policy's memory as bytes."""
        return self._remembered() + bytes(self._native.snapshot())

    def load(self, body: bytes) -> None:
        """Become the join that a snapshot was taken of."""
        self._native.load(self._recollect(body))

    def course(self) -> bytes:
        """All but the rows: a core refilled with those goes on like this one."""
        return self._remembered() + bytes(self._native.course())

    def set_course(self, body: bytes) -> None:
        """Go on like the core that this came from. Requires: its rows are here."""
        self._native.set_course(self._recollect(body))

    def _remembered(self) -> bytes:
        plain = {
            "policy": to_plain(self._policy.state),
            "plans": None if self._plans is None else [list(plan) for plan in self._plans],
            "recall": [to_plain(sums) for sums in self._recall],
        }
        text = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
        return len(text).to_bytes(8, "little") + text

    def _recollect(self, body: bytes) -> bytes:
        """Take the policy's memory back; returns what is the native core's."""
        start = 8 + int.from_bytes(body[:8], "little")
        plain = json.loads(body[8:start])
        state = from_plain(plain["policy"])
        if not isinstance(state, PolicyState):
            raise SnapshotError("the snapshot holds no state of a policy")
        self._policy.state = state
        self._plans = None if plain["plans"] is None else _plans(plain["plans"])
        first, second = (from_plain(sums) for sums in plain["recall"])
        self._recall = (first, second)
        return body[start:]

    def _changed(
        self, call: Callable[[], Any], *, side: int = 0, newest: Callable[[], int | None] = lambda: None
    ) -> Any:
        known = _Known(self._policy.state, self._pace, self._plans, self._recall)
        recorded = None if self.history is None else len(self.history)
        if self.clock is not None:
            ticks = newest()
            newest_s = None if ticks is None else ticks * self._unit_ns * 1e-9
            self._pace = self._pace.resumed(self.clock(), side=side, newest_s=newest_s)
        try:
            found = call()
        except BaseException:
            self._policy.state, self._pace = known.policy, known.pace
            self._plans, self._recall = known.plans, known.recall
            if self.history is not None:
                del self.history[recorded:]
            raise
        if self.clock is not None:
            self._pace = self._pace.paused(self.clock())
        return found

    def _newest(self, side: int, batch: pa.RecordBatch) -> int | None:
        """The time of the newest row of a batch, in ticks."""
        newest = pc.max(batch.column(0)).cast(pa.int64()).as_py()
        return None if newest is None else newest * self._multipliers[side]

    def _control(self, counted: Mapping[str, Any] | None) -> tuple[NativePlan, NativePlan] | float | None:
        """Plans at a control time; between two of them, without counts, the lag by now."""
        if counted is None:
            return None if self.clock is None else self._pace.lag_at(self.clock())
        busy_s = backlog_s = None
        if self.clock is not None:
            self._pace = self._pace.controlled(
                self.clock(), stream_s=counted["begin_s"] + counted["elapsed_s"]
            )
            busy_s, backlog_s = self._pace.last_busy_s, self._pace.lag_s
            self._native.set_lag(backlog_s)
        self._remember(counted)
        period = period_of(
            counted,
            types=len(self._types),
            busy_s=busy_s,
            backlog_s=backlog_s,
            comparison_cost=self._comparison_cost,
        )
        self._plans = self._policy.step(period)
        if self.history is not None:
            self.history.append({**counted, "plans": self._plans, "lag_s": backlog_s})
        return self._plans

    def _remember(self, counted: Mapping[str, Any]) -> None:
        """Add the period to the sums of the recall."""
        self._recall = self._sums_with(counted["directions"])

    def _sums_with(self, directions: Sequence[Mapping[str, Any]]) -> tuple[RecallSums, RecallSums]:
        """The sums of the recall with a period added, each direction for itself."""
        first, second = (
            _with_direction(sums, direction) for sums, direction in zip(self._recall, directions, strict=True)
        )
        return first, second

    def _recalls(self, counted: Mapping[str, Any]) -> tuple[Estimate, Estimate, Estimate]:
        """Of both directions together, and of each, the period under way included."""
        found = [float(np.sum(tally["matches"])) for tally in counted["tallies"]]
        sums_now = self._sums_with(self._native.period())
        parts = [
            missed_by_line(replace(sums, results=results), due=float(way["due"]), done=float(way["done"]))
            for sums, results, way in zip(sums_now, found, counted["directions"], strict=True)
        ]
        weighed = counted["weighed"]
        variance = counted["weighed_variance"]
        both = Survived.of(results=sum(found), weighed=sum(weighed), variance=variance)
        each = [
            Survived(Survived.of(results=results, weighed=weight, variance=0.0).share, both.deviation)
            for results, weight in zip(found, weighed, strict=True)
        ]
        estimates = (
            estimate_recall(parts, survived=both),
            estimate_recall(parts[:1], survived=each[0]),
            estimate_recall(parts[1:], survived=each[1]),
        )
        first, second, third = (Estimate(one.value, one.low, one.high) for one in estimates)
        return first, second, third


def _with_speed(state: PolicyState, units_per_s: float) -> PolicyState:
    other = state.alternative
    return replace(
        state,
        backlog=replace(state.backlog, units_per_s=units_per_s),
        alternative=None if other is None else _with_speed(other, units_per_s),
    )


def _with_direction(sums: RecallSums, direction: Mapping[str, Any]) -> RecallSums:
    known, missed = np.asarray(direction["sample_known"]), np.asarray(direction["sample_missed"])
    return with_period(
        sums,
        results=float(np.sum(direction["matches"])),
        others=float(direction["others"]),
        known=float(direction["others_known"]),
        sampled_known=known,
        sampled_missed=missed,
        sampled_shares=np.asarray(direction["sample_shares"]),
        unasked=float(direction["not_asked"]),
    )


def _densities(tally: Mapping[str, Any], cells: int) -> tuple[float | None, ...]:
    made = np.asarray(tally["comparisons"]).reshape(-1, cells).sum(axis=0)
    found = np.asarray(tally["matches"]).reshape(-1, cells).sum(axis=0)
    return tuple(float(f / m) if m > 0 else None for f, m in zip(found, made, strict=True))


def _shares(tally: Mapping[str, Any], cells: int) -> list[float]:
    due = np.asarray(tally["due"]).reshape(-1, cells).sum(axis=1)
    made = np.asarray(tally["comparisons"]).reshape(-1, cells).sum(axis=1)
    return [float(m / d) if d > 0 else 1.0 for m, d in zip(made, due, strict=True)]


def _plans(plain: list[Any]) -> tuple[NativePlan, NativePlan]:
    first, second = ((list(p[0]), list(p[1]), float(p[2]), float(p[3]), float(p[4])) for p in plain)
    return first, second
