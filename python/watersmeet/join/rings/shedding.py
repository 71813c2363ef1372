"""Shedding on slices: the policies of the shedding room plan which cells of the windows rows look at.

A *direction* is (own, other): rows of `own` probing the window of `other`. With two streams there are two,
and all is as in a two-way join. With more, rows of a stream probe the others one after the other, so a match
is worth the results it leads to, less what these cost: both as measured in the last periods.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from watersmeet.control import Missed, WindowPlan, estimate_recall
from watersmeet.errors import ConfigError, SnapshotError
from watersmeet.join.rings.config import RingConfig
from watersmeet.join.shedding.build import policy_for
from watersmeet.join.shedding.core import LEAST_SAMPLE_SHARE
from watersmeet.join.shedding.layout import Layout, cut_windows, paced_layout
from watersmeet.join.shedding.pace import Pace
from watersmeet.join.shedding.period import Period, window_of
from watersmeet.join.shedding.policies import DensityPolicy, Geometry, PolicyState, PublishedPolicy
from watersmeet.join.shedding.state import from_plain, to_plain
from watersmeet.vocabulary import Comparisons, Estimate, Shed

__all__ = ["RingShedding", "ShedDirection", "check_ring_shed", "shed_orderings"]

_TICKS: Final = 16  # of a control period, after each of which the lag is known anew
_MEMORY: Final = 0.8  # of what matches lead to, from period to period

Table = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShedDirection:
    """Rows of `own` probing `other`: pairs due, compared and shed, matches, and the plan in force.

    `due` counts what rows and partial results that were found ask for: due = compared + shed.
    """

    own: str
    other: str
    due: int
    compared: int
    shed: int
    matches: int
    order: tuple[int, ...]
    fraction: float
    sample_share: float


def check_ring_shed(config: RingConfig) -> None:
    """ConfigError where shedding and the rest of the configuration do not go together."""
    shed = config.shed
    if shed is None:
        return
    if shed.policy in ("content", "random-drop"):
        raise ConfigError(
            f"Shed(policy={shed.policy!r}) with RingJoin: slices shed by age; expected 'auto', 'density' or,"
            " with two streams, 'gedik'"
        )
    if shed.policy == "gedik" and len(config.streams) > 2:
        raise ConfigError(
            f"Shed(policy='gedik') with {len(config.streams)} streams: the published algorithms divide a"
            " budget between two windows; expected 'auto' or 'density'"
        )
    if shed.rate_control == "published":
        raise ConfigError(
            "Shed(rate_control='published') with RingJoin: it counts rows that wait, and here none does;"
            " expected 'backlog'"
        )
    if shed.utility is not None:
        raise ConfigError("Shed(utility) with RingJoin: expected None")
    if not isinstance(shed.budget, Comparisons) and shed.budget != "cpu":
        raise ConfigError("Shed(per_batch(...)) with RingJoin: expected 'cpu' or comparisons(n)")
    if isinstance(shed.budget, Comparisons) and set(shed.budget.costs.values()) != {1.0}:
        raise ConfigError(
            "comparisons(costs=...) with RingJoin: its budget counts pairs, whatever an index saves of them;"
            " expected no costs"
        )
    if config.order not in (None, "sync-filter"):
        raise ConfigError(
            f"order={config.order!r} with shed= in RingJoin: plans go by time, so rows must be processed by"
            " time; expected None or 'sync-filter'"
        )


class RingShedding:
    """The policy of one join, called at control times, and what it was told."""

    def __init__(
        self, config: RingConfig, unit_ns: int, spans: list[int], *, clock: Callable[[], float] | None = None
    ) -> None:
        shed = config.shed
        assert shed is not None  # this is what it is for
        self._config, self._shed = config, shed
        count = len(config.streams)
        # By window, then by who probes it: two streams make two windows in the order that policies know.
        self._directions = [(own, other) for other in range(count) for own in range(count) if own != other]
        self._budget = shed.budget if isinstance(shed.budget, Comparisons) else None
        self.clock = None if self._budget is not None else clock or time.perf_counter
        self._layout, self._cells = _layout(config, shed, unit_ns, spans, self._directions)
        self._unit_ns = unit_ns
        capacity = None if self._budget is None else self._budget.per_second
        policy = policy_for(shed, self.policy_name, self._layout, capacity=capacity)
        assert isinstance(policy, DensityPolicy | PublishedPolicy)
        self._policy = policy
        self._pace = Pace()
        self._flows = np.zeros((count, count, 3))  # faded: pairs compared, matches, results, by direction

    @property
    def policy_name(self) -> str:
        """The policy that runs."""
        return "gedik" if self._shed.policy == "gedik" else "density"

    def prepare(self, core: Any, row_bases: list[int]) -> None:
        """Have a fresh core shed."""
        period = max(1, round(self._layout.control_period_s * 1e9 / self._unit_ns))
        core.shed(
            cell_spans=list(self._layout.cell_spans),
            cells=self._cells,
            units_per_second=math.inf if self._budget is None else self._budget.per_second,
            seconds_per_unit=self._unit_ns * 1e-9,
            control_span=period,
            tick_span=max(1, period // _TICKS),
            room_s=2.0 * self._shed.input_buffer.amount * 1e-9 + self._layout.control_period_s,
            least_sample_share=LEAST_SAMPLE_SHARE,
            whole_samples=self.policy_name == "gedik" and "time" in self._shed.adapt,
            seed=self._config.seed & (2**64 - 1),
            row_bases=row_bases,
        )

    def controlling(self, call: Callable[[], Any]) -> Any:
        """Make a call of the core, in which control() may be called; an error leaves all as it was."""
        known = (self._policy.state, self._pace, self._flows)
        if self.clock is not None:
            self._pace = self._pace.resumed(self.clock())
        try:
            found = call()
        except BaseException:
            self._policy.state, self._pace, self._flows = known
            raise
        if self.clock is not None:
            self._pace = self._pace.paused(self.clock())
        return found

    def control(self, core: Any, counted: Mapping[str, Any]) -> None:
        """A control period has ended: plan the next one."""
        plans = self._policy.plan(self._period(counted))
        count = len(self._config.streams)
        by_direction: list[Any] = [None] * (count * count)
        for (own, other), plan in zip(self._directions, plans, strict=True):
            by_direction[own * count + other] = _native(plan)
        for own in range(count):
            by_direction[own * count + own] = (list(range(self._cells[own])), 1.0, 0.0)
        core.set_plans(by_direction)

    def statistics(self, core: Any) -> tuple[tuple[ShedDirection, ...], Estimate]:
        """What was shed in every direction, and the share of the full answer that came out."""
        counted, names = core.shedding(), self._config.names
        directions = []
        for own, other in sorted(self._directions):
            at = own * len(names) + other
            tally, (order, fraction, share) = counted["tallies"][at], counted["plans"][at]
            compared, due = sum(tally["comparisons"]), sum(tally["due"])
            directions.append(
                ShedDirection(
                    own=names[own],
                    other=names[other],
                    due=due,
                    compared=compared,
                    shed=tally["shed"],
                    matches=sum(tally["matches"]),
                    order=tuple(order),
                    fraction=fraction,
                    sample_share=share,
                )
            )
        estimate = estimate_recall([_missed(counted)])
        return tuple(directions), Estimate(estimate.value, estimate.low, estimate.high)

    def snapshot(self, core: Any) -> bytes:
        """The policy's memory and the core's."""
        plain = {"policy": to_plain(self._policy.state), "flows": self._flows.ravel().tolist()}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
        return len(text).to_bytes(8, "little") + text + bytes(core.shedding_state())

    def load(self, core: Any, body: bytes) -> None:
        """Go on from there."""
        start = 8 + int.from_bytes(body[:8], "little")
        plain = json.loads(body[8:start])
        state = from_plain(plain["policy"])
        if not isinstance(state, PolicyState):
            raise SnapshotError("the snapshot holds no state of a policy")
        self._policy.state = state
        self._flows = np.array(plain["flows"], np.float64).reshape(self._flows.shape)
        core.load_shedding_state(body[start:])

    def _period(self, counted: Mapping[str, Any]) -> Period:
        busy_s, backlog_s = counted["units"] / (self._budget.per_second if self._budget else 1.0), 0.0
        if self.clock is None:
            backlog_s = counted["lag_s"]
        else:
            stream_s = counted["begin_s"] + counted["elapsed_s"]
            self._pace = self._pace.controlled(self.clock(), stream_s=stream_s)
            busy_s, backlog_s = self._pace.last_busy_s, self._pace.lag_s
        count = len(self._config.streams)
        directions = []
        for own, other in self._directions:
            rows = counted["rows"][own]
            tally = counted["tallies"][own * count + other]
            directions.append({**tally, "arrived": rows, "probes": rows, "dropped": 0})
        elapsed_s = max(counted["elapsed_s"], 1e-9)
        return Period(
            elapsed_s=elapsed_s,
            busy_s=busy_s,
            backlog_s=backlog_s,
            units=float(counted["units"]),
            score_units=0.0,
            planned_units=0.0,
            windows=tuple(window_of(direction, 1, elapsed_s) for direction in directions),
            directions=tuple(directions),
            worth=self._worth(counted),
        )

    def _worth(self, counted: Mapping[str, Any]) -> tuple[float, ...] | None:
        """Per direction: results that a match leads to, over what a pair costs with all that follows."""
        count = len(self._config.streams)
        if count == 2:
            return None
        now = np.zeros_like(self._flows)
        for own, other in self._directions:
            tally = counted["tallies"][own * count + other]
            now[own, other] = (sum(tally["comparisons"]), sum(tally["matches"]), counted["results"][own])
        self._flows = _MEMORY * self._flows + now
        orderings = shed_orderings(self._config)
        return tuple(_worth_of(self._flows[own], orderings[own], other) for own, other in self._directions)


def shed_orderings(config: RingConfig) -> tuple[tuple[int, ...], ...]:
    """For rows of each stream, the others in the order in which they are probed, for good.

    Selectivities measured on some cells would mislead. So: as given, or else next the first stream that a
    predicate joins with those already there.
    """
    if config.orderings is not None:
        return config.orderings
    pairs = {frozenset((test.left, test.right)) for test in config.tests}
    orderings = []
    for own in range(len(config.streams)):
        there, left = [own], [other for other in range(len(config.streams)) if other != own]
        while left:
            joined = [other for other in left if any(frozenset((one, other)) in pairs for one in there)]
            there.append(joined[0] if joined else left[0])
            left.remove(there[-1])
        orderings.append(tuple(there[1:]))
    return tuple(orderings)


def _missed(counted: Mapping[str, Any]) -> Missed:
    """What the core estimates; a sum that a few samples dominate is worth no more than those few."""
    samples = counted["samples"]
    if counted["variance_squared"] > 0.0:
        samples = min(samples, max(2, round(counted["variance"] ** 2 / counted["variance_squared"])))
    return Missed(
        counted["results"],
        counted["missed"],
        counted["variance"],
        samples,
        counted["shed"],
        counted["heaviest"],
        due=float(sum(sum(tally["due"]) for tally in counted["tallies"])),
        done=float(sum(sum(tally["comparisons"]) for tally in counted["tallies"])),
    )


def _worth_of(flows: Table, ordering: tuple[int, ...], other: int) -> float:
    """Half a match and half a result more than were seen: what is not known yet is worth a try."""
    compared, matches, results = (float(value) for value in flows[other])
    later = ordering[ordering.index(other) + 1 :]
    leads_to = (results + 0.5) / (matches + 0.5) if later else 1.0
    further = sum(float(flows[step, 0]) for step in later) / (matches + 0.5)
    chance = (matches + 0.5) / (compared + 1.0)
    return leads_to / (1.0 + chance * further)


def _native(plan: WindowPlan) -> tuple[list[int], float, float]:
    return list(plan.order), plan.fraction, plan.full_probe_share


def _layout(
    config: RingConfig, shed: Shed, unit_ns: int, spans: list[int], directions: list[tuple[int, int]]
) -> tuple[Layout, list[int]]:
    """Cells of each stream's window, and the geometry by direction."""
    counts = []
    for stream in config.streams:
        assert stream.window is not None  # the configuration was checked
        counts.append(stream.window.amount if stream.window.is_rows else None)
    ages = [span if count is None else count for span, count in zip(spans, counts, strict=True)]
    cell_spans, cells = cut_windows(ages, counts)
    tick_s = unit_ns * 1e-9
    geometry = Geometry(
        windows_s=tuple(max(ages[other], 1) * tick_s for _, other in directions),
        basic_windows_s=tuple(cell_spans[other] * tick_s for _, other in directions),
        cells=tuple(cells[other] for _, other in directions),
        counts_rows=any(count is not None for count in counts),
    )
    policy = "gedik" if shed.policy == "gedik" else "density"
    return paced_layout(geometry, cell_spans, tick_s, shed, policy), cells
