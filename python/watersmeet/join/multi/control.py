"""The budget of a tree of joins at run time: monitor, analyse, actuate ([JAQPOT] 4.4).

Monitoring and actuation happen between rows, at the ends of monitoring periods of stream time; analysis runs
in a thread of its own, so that it never holds up the data, and its decision is taken at the next such end.
With analysis="inline" it is taken at once: everything is then a function of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

from watersmeet.join.multi.config import MultiConfig
from watersmeet.plan import (
    Allocation,
    Decision,
    Period,
    Tree,
    Workload,
    analyse_workload,
    blended,
    flow,
    from_counts,
    measured_workload,
    prefer_tree,
    settle,
)
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Control", "ControlState"]

_MOST_DECISIONS: Final = 1000
_MEMORY: Final = 0.3  # weight of what was measured before the last period
Counts = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class ControlState:
    """What the control knows; replaced as a whole, so that a failed push can put the old one back.

    `workload` is the last measurement, `analysed` the one behind the allocation in force. `next_tree` comes
    into force between two pushes.
    """

    tree: Tree
    allocation: Allocation | None
    period: int | None = None
    counts: Counts | None = None  # at the end of the last period
    averaged: Period | None = None  # the counts of the last periods, older ones with less weight
    workload: Workload | None = None
    analysed: Workload | None = None
    measured: float = 0.0  # results per second in the last period
    decisions: tuple[Decision, ...] = ()
    next_tree: Tree | None = None


class Control:
    """Watches one core, and sets its allowances and its tree."""

    def __init__(self, config: MultiConfig, unit_ns: int, core: Any) -> None:
        self._config = config
        self._unit_ns = unit_ns
        self._core = core
        self._span = max(1, config.monitor.amount // unit_ns)
        self._seen = dict.fromkeys(config.names, 0.0)
        self._pending: Future[Decision] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self.state = ControlState(config.tree, self._equal(config.tree))
        self._set_allowances()

    def process(self, keep: Any) -> None:
        """Let the core work on all rows that are due, stopping at the ends of periods."""
        while (due := self._core.next_due()) is not None:
            period = due // self._span
            if self.state.period is not None and period > self.state.period:
                self._end_period(period)
            self.state = replace(self.state, period=period)
            self._core.process((period + 1) * self._span, keep)

    def change_tree(self) -> None:
        """Bring the next tree into force, if there is one. Between two pushes."""
        tree = self.state.next_tree
        if tree is None:
            return
        from watersmeet.join.multi.core import tree_inputs

        self._core.set_tree(tree_inputs(tree, self._config.names))
        self.state = replace(self.state, tree=tree, next_tree=None, counts=None, averaged=None)
        self._set_allowances()

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)

    def predicted(self) -> float | None:
        """Results per second that the allowances in force give, by the last measurement."""
        state = self.state
        if state.workload is None or state.allocation is None:
            return None
        allowances = self._allowances(state.allocation)
        plan = settle(state.workload, state.workload.plan(state.tree), allowances)
        return flow(plan, allowances).throughput

    @property
    def budget(self) -> float:
        """What is planned with: the budget but for the share that goes into exploring."""
        return (self._config.budget or 0.0) * (1.0 - self._config.explore)

    def _end_period(self, period: int) -> None:
        state = self.state
        assert state.period is not None
        counts = _counts(self._core, state.tree)
        seconds = (period - state.period) * self._span * self._unit_ns / NANOSECONDS["s"]
        observed = self._observed(counts, seconds)
        averaged = observed if state.averaged is None else blended(state.averaged, observed, _MEMORY)
        workload = measured_workload(state.tree, averaged, self._config.joined, state.workload)
        if state.workload is None:
            workload = self._with_freshness(workload)
        root = [node.name for node in state.tree.root.inputs or ()]
        self.state = replace(
            state,
            counts=counts,
            averaged=averaged,
            workload=workload,
            measured=sum(observed.made[name] for name in root) / seconds,
        )
        at_s = period * self._span * self._unit_ns / NANOSECONDS["s"]
        if self._config.budget is None:
            tree = prefer_tree(workload, state.tree, self._config.rule)
            self.state = replace(self.state, next_tree=tree)
            return
        self._analyse(workload, at_s)

    def _analyse(self, workload: Workload, at_s: float) -> None:
        state, config = self.state, self._config
        assert state.allocation is not None

        def work() -> Decision:
            assert state.allocation is not None
            return analyse_workload(
                state.analysed,
                workload,
                state.tree,
                state.allocation,
                at_s=at_s,
                budget=self.budget,
                policy=config.policy,
                rule=config.rule,
                free_tree=config.free_tree,
            )

        if config.analysis == "inline":
            self._take(work(), workload)
            return
        if self._pending is not None and self._pending.done():
            self._take(self._pending.result(), workload)
            self._pending = None
        if self._pending is None:
            self._pending = self._submit(work)

    def _submit(self, work: Callable[[], Decision]) -> Future[Decision]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="watersmeet-plan")
        return self._thread.submit(work)

    def _take(self, decision: Decision, workload: Workload) -> None:
        state = self.state
        decisions = (*state.decisions, decision)[-_MOST_DECISIONS:]
        self.state = replace(state, decisions=decisions)
        if decision.kind == "kept":
            return
        self.state = replace(self.state, analysed=workload)
        if decision.kind == "actuated":
            same = str(decision.tree) == str(state.tree)
            self.state = replace(
                self.state, allocation=decision.allocation, next_tree=None if same else decision.tree
            )
            if same:
                self._set_allowances()

    def _set_allowances(self) -> None:
        allocation = self.state.allocation
        if allocation is None:
            self._core.set_allowances([])
            return
        self._core.set_allowances(list(self._allowances(allocation).values()))

    def _allowances(self, allocation: Allocation) -> dict[str, float]:
        """Per half-way join: what was allocated, and its part of exploring."""
        names = self.state.tree.half_joins
        more = (self._config.budget or 0.0) * self._config.explore / len(names)
        return {name: allocation.probes.get(name, 0.0) + more for name in names}

    def _equal(self, tree: Tree) -> Allocation | None:
        """Where nothing is known yet every half-way join gets the same, so that all of them are measured."""
        if self._config.budget is None:
            return None
        names = tree.half_joins
        return from_counts(
            "equal",
            self.budget,
            probes=dict.fromkeys(names, self.budget / len(names)),
            produced={join.name: 0.0 for join in tree.joins},
            paths={},
        )

    def _observed(self, counts: Counts, seconds: float) -> Period:
        """The counts since the last period's end, and the windows that follow from the streams' rates."""
        before = self.state.counts or {}

        def since(what: str, name: str) -> float:
            return counts[name][what] - before.get(name, {}).get(what, 0.0)

        windows = {}
        rows = {}
        for stream in self._config.streams:
            name, window = stream.name, stream.window
            rows[name] = since("rows", name)
            rate = rows[name] / seconds
            assert window is not None
            spans = [span.seconds for span in (window, stream.freshness) if span is not None and span.is_time]
            sizes = [rate * span for span in spans] + ([float(window.amount)] if window.is_rows else [])
            windows[name] = min([*sizes, counts[name]["rows"]])
        names = self.state.tree.half_joins
        return Period(
            seconds,
            rows=rows,
            windows=windows,
            probes={name: since("probes", name) for name in names},
            made={name: since("made", name) for name in names},
        )

    def _with_freshness(self, workload: Workload) -> Workload:
        fresh = {
            stream.name: stream.freshness.seconds
            for stream in self._config.streams
            if stream.freshness is not None
        }
        pairs = {tuple(sorted(pair)): share for pair, share in workload.selectivity.items()}
        return Workload(
            rates=workload.rates,
            windows=workload.windows,
            selectivity={(one, other): share for (one, other), share in pairs.items()},
            freshness=fresh,
            skew=workload.skew,
        )


def _counts(core: Any, tree: Tree) -> Counts:
    half_joins = core.statistics()["half_joins"]
    return dict(zip(tree.half_joins, half_joins, strict=True))
