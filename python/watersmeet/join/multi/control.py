"""The budget of a tree of joins at run time: monitor, analyse, actuate ([JAQPOT] 4.4).

Monitoring and actuation happen between rows, at the ends of monitoring periods of stream time; analysis runs
in a thread of its own, so that it never holds up the data: its decision is taken before the next push that
comes after it. With analysis="inline" it is taken at once: everything is then a function of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from watersmeet.control.decision import CellCounts
from watersmeet.join.multi.config import MultiConfig
from watersmeet.join.multi.core import tree_inputs
from watersmeet.join.multi.monitor import (
    CELLS,
    Ranked,
    Reading,
    cells_since,
    curves_of,
    faded_cells,
    observed,
    orders_of,
    ranked_cells,
    read_core,
)
from watersmeet.plan import (
    EVEN,
    Allocation,
    Decision,
    Drift,
    Period,
    Plan,
    Tree,
    Workload,
    analyse,
    analyse_tree,
    analyse_workload,
    blended,
    carried,
    changed,
    drifted,
    flow,
    from_counts,
    margin,
    measured_plan,
    measured_workload,
    settle,
    with_headroom,
)
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Believed", "Control", "ControlState"]

_MOST_DECISIONS: Final = 1000
_LONG_MEMORY: Final = 0.75  # weight of what was measured before the last period
_MEMORY: Final = 0.15  # the same if it has changed
_DRIFT_MEMORY: Final = 0.85  # the half-way joins of one join differ less, and need more still
_CELL_MEMORY: Final = 0.7  # cells need more matches than half-way joins do
_LEARNING: Final = 0.04  # of an allowance that goes to single cells: whole probes, to know the others
_SURE_FILLING: Final = 5  # periods
_HEADWAY: Final = 0.03  # of a state, per period
_FULL: Final = 0.98
_EAGER: Final = 1.05  # rows come in bursts: what some of them leave over is to be spent by others
Believed = Workload | Plan  # a plan where the states between joins are counted


@dataclass(frozen=True, slots=True)
class ControlState:
    """What the control knows; replaced as a whole, so that a failed push can put the old one back.

    `believed` is the last measurement, `analysed` the one behind the allocation in force. `next_tree` comes
    into force between two pushes.
    """

    tree: Tree
    allocation: Allocation | None
    period: int | None = None
    reading: Reading | None = None  # at the end of the last period
    averaged: Period | None = None  # the counts of the last periods, older ones with less weight
    cells: Mapping[str, CellCounts] = field(default_factory=dict)  # the same of the cells
    ranked: Mapping[str, Ranked] = field(default_factory=dict)  # and of their ranks the period before
    drift: Drift = field(default_factory=Drift)
    filled_for: int = 0  # periods that there was to fill counted states
    believed: Believed | None = None
    analysed: Believed | None = None
    measured: float = 0.0  # results per second in the last period
    decisions: tuple[Decision, ...] = ()
    next_tree: Tree | None = None


class Control:
    """Watches one core, and sets its allowances, its cells and its tree."""

    def __init__(self, config: MultiConfig, unit_ns: int, core: Any) -> None:
        self._config = config
        self._unit_ns = unit_ns
        self._core = core
        self._span = max(1, config.monitor.amount // unit_ns)
        self._pending: Future[tuple[Decision, Believed]] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._freshness = {
            stream.name: stream.freshness.seconds for stream in config.streams if stream.freshness is not None
        }
        self.state = ControlState(config.tree, self._equal(config.tree))
        self._set_allowances()

    def process(self, keep: Any) -> None:
        """Let the core work on all rows that are due, stopping at the ends of periods."""
        while (due := self._core.next_due()) is not None:
            period = due // self._span
            if not self._core.synchronised() and self.state.period is not None:
                period = max(period, self.state.period)  # a stream that lags behind does not turn time back
            if self.state.period is not None and period > self.state.period:
                self._end_period(period)
            self.state = replace(self.state, period=period)
            self._core.process((period + 1) * self._span, keep)

    def before_change(self, keep: Any) -> None:
        """Bring into force what was decided in the meantime. Between two pushes."""
        if self._pending is not None and self._pending.done():
            self._take(*self._pending.result())
            self._pending = None
        tree = self.state.next_tree
        if tree is None:
            return
        try:
            self._core.set_tree(tree_inputs(tree, self._config.names), keep)
        except Exception as error:  # a user's function, asked about other pairs than ever before
            problem = f"tree {tree} could not be made, {self.state.tree} stays: {error}"
            decisions = self.state.decisions
            if decisions:
                last = replace(decisions[-1], problem=problem, tree=self.state.tree)
                decisions = (*decisions[:-1], last)
            self.state = replace(self.state, next_tree=None, decisions=decisions, reading=None)
        else:
            self.state = replace(
                self.state,
                tree=tree,
                next_tree=None,
                reading=None,
                averaged=None,
                cells={},
                ranked={},
                drift=Drift(),
            )
        self._set_allowances()

    def decide_for(self, tree: Tree) -> None:
        """Have another tree from the next change on, whatever it promises; for tests."""
        self.state = replace(self.state, next_tree=tree)

    def resume(self, state: ControlState) -> None:
        """Go on from a state that was saved with the core's."""
        self.state = state

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
            if self._pending is not None and self._pending.done() and not self._pending.cancelled():
                self._take(*self._pending.result())
            self._pending = None

    def plan(self) -> Plan | None:
        """The tree with the last measurement, its states as the allowances in force fill them."""
        state = self.state
        if state.believed is None or isinstance(state.believed, Plan):
            return state.believed
        plan = state.believed.plan(state.tree)
        return plan if state.allocation is None else settle(state.believed, plan, self.allowances())

    def predicted(self) -> float | None:
        """Results per second that the allowances in force give, by the last measurement."""
        plan = self.plan()
        if plan is None or self.state.allocation is None:
            return None
        return flow(self._as_filled(plan), self.allowances()).throughput

    def _as_filled(self, plan: Plan) -> Plan:
        """Counted states with the rows that they had at the last reading: they start empty, and freshness
        empties them.
        """
        states, reading = self._config.states, self.state.reading
        if states is None or reading is None:
            return plan
        rows = {name: min(most, reading.counts[name]["state_rows"]) for name, most in states.items()}
        return plan.with_states(rows)

    @property
    def budget(self) -> float:
        """What is planned with: the budget but for the share that goes into exploring."""
        return (self._config.budget or 0.0) * (1.0 - self._config.explore)

    def allowances(self) -> dict[str, float]:
        """Per half-way join: what was allocated; at least its part of exploring, so that all are known. What
        exploring does not need goes where more is worth most.
        """
        names, allocation = self.state.tree.half_joins, self.state.allocation
        exploring = (self._config.budget or 0.0) * self._config.explore
        if allocation is None:
            return dict.fromkeys(names, exploring / len(names))
        given = {name: allocation.probes.get(name, 0.0) for name in names}  # it may be of the next tree
        least = {name: max(each, exploring / len(names)) for name, each in given.items()}
        rest = exploring - (sum(least.values()) - sum(given.values()))
        more = margin(self._believed_plan(), allocation)
        return {name: least[name] + rest * more.get(name, 0.0) for name in names}

    def _believed_plan(self) -> Plan | None:
        return self.state.believed if isinstance(self.state.believed, Plan) else None

    def _end_period(self, period: int) -> None:
        state, config = self.state, self._config
        assert state.period is not None
        reading = read_core(self._core, state.tree)
        seconds = (period - state.period) * self._span * self._unit_ns / NANOSECONDS["s"]
        cells_now = cells_since(reading, state.reading)
        orders = orders_of(state.cells) if config.uses_cells else {}
        cells = faded_cells(state.cells, cells_now, _CELL_MEMORY)
        ranked = ranked_cells(state.ranked, orders, cells_now)
        curves = curves_of(cells, ranked, reading.bunches)
        now = observed(config, state.tree, reading, state.reading, orders, ranked, seconds)
        anew = state.averaged is None or changed(state.averaged, now)
        memory = _MEMORY if anew else _LONG_MEMORY
        if anew and state.averaged is not None:
            memory *= min(1.0, seconds / state.averaged.seconds)  # one period's worth
        averaged = now if state.averaged is None else blended(state.averaged, now, memory)
        believed: Believed
        if config.states is None:
            before = state.believed if isinstance(state.believed, Workload) else None
            drift = drifted(
                state.drift, state.tree, now, config.joined, memory=_MEMORY if anew else _DRIFT_MEMORY
            )
            self.state = state = replace(state, drift=drift)
            believed = measured_workload(
                state.tree, averaged, config.joined, before, drift=drift, curves=curves
            )
        else:
            last = state.believed if isinstance(state.believed, Plan) else None
            filling = self._filling(reading, seconds)
            self.state = state = replace(state, filled_for=state.filled_for + 1)
            believed = measured_plan(
                state.tree,
                averaged,
                config.states,
                last,
                freshness=self._freshness,
                curves=curves,
                filling=filling,
            )
        root = [node.name for node in state.tree.root.inputs or ()]
        self.state = replace(
            state,
            reading=reading,
            averaged=averaged,
            cells=cells,
            ranked=ranked,
            believed=believed,
            measured=sum(now.made[name] for name in root) / seconds,
        )
        self._analyse(believed, period * self._span * self._unit_ns / NANOSECONDS["s"])
        if config.uses_cells and self.state.next_tree is None:
            # Which cells are best is known anew, whether or not it pays to plan anew.
            self._core.set_cells(self._cell_choices(self.allowances()))

    def _filling(self, reading: Reading, seconds: float) -> dict[str, float]:
        """Counted states start empty, and the model knows full ones: whatever the policy, they are filled
        first, for some periods and then as long as it makes headway: freshness may keep them from ever being
        full.
        """
        if self._config.budget is None:
            return {}
        before = self.state.reading
        filling = {}
        for name, rows in (self._config.states or {}).items():
            have = reading.counts[name]["state_rows"]
            grown = have - (before.counts[name]["state_rows"] if before is not None else 0.0)
            tries = self.state.filled_for < _SURE_FILLING or grown >= _HEADWAY * rows
            if have < _FULL * rows and tries:
                filling[name] = (rows - have) / seconds
        return filling

    def _analyse(self, believed: Believed, at_s: float) -> None:
        state, config, budget = self.state, self._config, self.budget

        def work() -> tuple[Decision, Believed]:
            return _decide(state, believed, config, budget, at_s), believed

        if config.analysis == "inline":
            self._take(*work())
        elif self._pending is None:
            self._pending = self._submit(work)

    def _submit(self, work: Callable[[], tuple[Decision, Believed]]) -> Future[tuple[Decision, Believed]]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="watersmeet-plan")
        return self._thread.submit(work)

    def _take(self, decision: Decision, believed: Believed) -> None:
        state = self.state
        self.state = replace(state, decisions=(*state.decisions, decision)[-_MOST_DECISIONS:])
        if decision.kind == "kept":
            return
        self.state = replace(self.state, analysed=believed)
        if decision.kind == "actuated":
            same = str(decision.tree) == str(state.tree)
            next_tree = None if same else decision.tree
            self.state = replace(self.state, allocation=decision.allocation, next_tree=next_tree)
            if same:
                self._set_allowances()

    def _set_allowances(self) -> None:
        if self.state.allocation is None:
            self._core.set_allowances([])
            return
        allowances = self.allowances()
        if self._config.policy == "jaqpot":
            allocation, plan = self.state.allocation, self._believed_plan()
            given = with_headroom(plan, allocation, allowances)
            spare = margin(plan, allocation)
            self._core.set_allowances([*given.values()], [*spare.values()], [*carried(given).values()])
        else:
            self._core.set_allowances([*allowances.values()])
        self._core.set_cells(self._cell_choices(allowances))

    def _cell_choices(self, allowances: Mapping[str, float]) -> list[tuple[list[int], float, int]]:
        """Per half-way join: its cells in order, the share at which every row looks, how often one looks at
        all.
        """
        plan = self.plan()
        if plan is None or not plan.curves:
            return []
        made = flow(plan, allowances).produced
        choices = []
        for name, allowance in allowances.items():
            curve, rows = plan.curves.get(name, EVEN), plan.rates.get(name, made.get(name, 0.0))
            fraction = min(1.0, _EAGER * allowance / rows) if rows > 0.0 else 1.0
            if curve.is_even or fraction >= 1.0:
                choices.append((list(range(CELLS)), 1.0, 0))
                continue
            every = max(2, round(1.0 / (_LEARNING * max(fraction, 1.0 / CELLS))))
            choices.append((list(curve.order), max(0.0, fraction - 1.0 / every), every))
        return choices

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


def _decide(
    state: ControlState, believed: Believed, config: MultiConfig, budget: float, at_s: float
) -> Decision:
    """The analysis itself: a function of values, in whichever thread."""
    if isinstance(believed, Plan):
        before = state.analysed if isinstance(state.analysed, Plan) else None
        if before is not None and before.filling and not believed.filling:
            before = None  # what was allocated to fill the states has no other worth
        assert state.allocation is not None  # counted states without a budget have nothing to decide
        return analyse(
            before,
            believed,
            state.allocation,
            at_s=at_s,
            budget=budget,
            policy="jaqpot" if believed.filling else config.policy,
            rule=config.rule,
        )
    known = state.analysed if isinstance(state.analysed, Workload) else None
    if state.allocation is None:
        return analyse_tree(known, believed, state.tree, at_s=at_s, rule=config.rule)
    return analyse_workload(
        known,
        believed,
        state.tree,
        state.allocation,
        at_s=at_s,
        budget=budget,
        policy=config.policy,
        rule=config.rule,
        free_tree=config.free_tree,
    )
