"""What to shed, policy by policy: each turns a period's statistics into the plans of the next.

A policy holds one frozen state and replaces it as a whole, so that a change which fails can be taken back by
keeping the state from before. All decisions are the controllers'; here they are only put together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias

import numpy as np

from watersmeet.control import (
    BacklogRule,
    BacklogState,
    BacklogStatistics,
    CellCounts,
    ContentRule,
    ContentState,
    DensityRule,
    DensityState,
    GedikRule,
    GedikState,
    RateRule,
    RateStatistics,
    ScoreLevels,
    TypeWorth,
    WindowPlan,
    WindowStatistics,
    adapt_density,
    adapt_fraction,
    adapt_threshold,
    adapt_to_backlog,
    expected_utilities,
    learn_time_correlation,
    plan_probes,
)
from watersmeet.control.utility import PairUtility
from watersmeet.join.shedding.period import NativePlan, Period, native_plans

__all__ = [
    "AutoPolicy",
    "ContentPolicy",
    "DensityPolicy",
    "DropPolicy",
    "Geometry",
    "PolicyState",
    "PublishedPolicy",
    "SheddingPolicy",
    "Worth",
]

Plans: TypeAlias = tuple[NativePlan, NativePlan]
_PLENTY_SHARE: Final = 0.1  # of the full cost, from which on exploration is not felt
_LEAST_FULL_PROBES: Final = 2e-4  # of all probes: without samples nothing is known of the recall
_WORTH_SCORING: Final = 4.0  # times what scoring costs must be at stake in a probe
_EXPLORATION: Final = 0.02  # share of the budget for full probes where the scores choose


@dataclass(frozen=True, slots=True)
class Geometry:
    """Windows and cells: seconds of each window, of a basic window, cells of each window, types of rows."""

    windows_s: tuple[float, float]
    basic_window_s: float
    cells: tuple[int, int]
    types: int = 1

    def everything(self) -> tuple[WindowPlan, WindowPlan]:
        """The plans that visit all."""
        first, second = (WindowPlan(tuple(range(cells)), (1.0,) * self.types) for cells in self.cells)
        return first, second


@dataclass(frozen=True, slots=True)
class Worth:
    """The value of a row by its type, and how two of them make a result's."""

    values: tuple[float, ...]
    combine: PairUtility = "max"


@dataclass(frozen=True, slots=True, eq=False)
class PolicyState:
    """All that a policy remembers."""

    backlog: BacklogState
    learnt: GedikState | DensityState | ContentState | None = None
    sampled: tuple[CellCounts, CellCounts] | None = None
    steps: int = 0
    keep: float = 1.0
    alternative: PolicyState | None = None  # of the policy that rests, where there are two


class SheddingPolicy(Protocol):
    """A policy: its state, and the step to the next plans."""

    state: PolicyState

    def step(self, period: Period) -> Plans:
        """Learn from the period and plan the next one."""


def _budget(state: BacklogState, period: Period, rule: BacklogRule, due_units_per_s: float) -> BacklogState:
    """The pace of the next period: `budget_share` of the units that everything would cost."""
    statistics = BacklogStatistics(
        period_s=period.elapsed_s,
        due_per_s=due_units_per_s,
        done_units=period.units,
        busy_s=period.busy_s,
        backlog_s=period.backlog_s,
        overhead_units=period.score_units / period.elapsed_s,
        window_rows=period.largest_window_rows,
    )
    return adapt_to_backlog(state, statistics, rule)[0]


class PublishedPolicy:
    """[Gedik]: rate, then time correlation, then direction or utility.

    Departs from [Gedik] unless `rate_rule` is given: the fraction is solved for from the backlog, since
    Algorithm 1 alternates between too little and too much (SPEC G11).
    """

    def __init__(
        self,
        geometry: Geometry,
        rule: GedikRule,
        backlog_rule: BacklogRule,
        *,
        rate_steps: int,
        time_steps: int,
        rate_rule: RateRule | None = None,
        worth: Worth | None = None,
    ) -> None:
        self._geometry = geometry
        self._rule = rule
        learns = "time" in rule.adapt
        self._backlog_rule = replace(backlog_rule, sampling=rule.sampling if learns else 0.0)
        self._rate_steps, self._time_steps = rate_steps, time_steps
        self._rate_rule = rate_rule
        self._worth = worth
        first, second = (CellCounts.nothing(cells, types=geometry.types) for cells in geometry.cells)
        self._nothing = (first, second)
        self.state = PolicyState(BacklogState(), GedikState.unknown(geometry.cells), self._nothing)

    def step(self, period: Period) -> Plans:
        """Gather; every time_period learn, every rate_period set the fraction."""
        state = self.state
        assert isinstance(state.learnt, GedikState)
        assert state.sampled is not None
        sampled = (
            state.sampled[0].plus(period.windows[0].sampled),
            state.sampled[1].plus(period.windows[1].sampled),
        )
        steps, learnt = state.steps + 1, state.learnt
        if steps % self._time_steps == 0:
            learnt = learn_time_correlation(learnt, (sampled[0].by_cell(), sampled[1].by_cell()))
            sampled = self._nothing
        backlog = state.backlog
        if steps % self._rate_steps == 0:
            backlog = self._pace(backlog, period)
        self.state = PolicyState(backlog, learnt, sampled, steps)
        plans = plan_probes(learnt, backlog.fraction, self._rule, worth=self._type_worth(learnt, period))
        return native_plans(plans, types=self._geometry.types)

    def _pace(self, backlog: BacklogState, period: Period) -> BacklogState:
        if self._rate_rule is None:
            due = period.due_pairs_per_s * period.units_per_pair
            return _budget(backlog, period, self._backlog_rule, due)
        statistics = RateStatistics(
            arrived=period.arrived,
            fetched=period.started,
            window_rows=period.largest_window_rows,
            dropped=period.dropped,
        )
        return replace(backlog, fraction=adapt_fraction(backlog.fraction, statistics, self._rate_rule))

    def _type_worth(self, learnt: GedikState, period: Period) -> TypeWorth | None:
        if self._worth is None:
            return None
        frequencies = (_frequencies(period.windows[1]), _frequencies(period.windows[0]))
        means = [max(float(np.mean(cells)), 1e-12) for cells in learnt.time.densities]
        utilities = expected_utilities(
            self._worth.values,
            frequencies,
            densities=(means[0], means[1]),
            combine=self._worth.combine,
        )
        return TypeWorth(utilities, frequencies)


def _frequencies(probed: WindowStatistics) -> tuple[float, ...]:
    """Shares of the types among the rows that probed a window; equal where none did."""
    by_type = probed.due.sum(axis=1)
    total = float(by_type.sum())
    if total == 0.0:
        return (1.0 / len(by_type),) * len(by_type)
    return tuple(float(value) / total for value in by_type)


class DensityPolicy:
    """Ours for any predicate: densities of all cells from all comparisons, one knapsack for both windows."""

    def __init__(
        self,
        geometry: Geometry,
        backlog_rule: BacklogRule,
        *,
        rule: DensityRule | None = None,
        worth: Worth | None = None,
    ) -> None:
        self._geometry = geometry
        self._rule = rule or DensityRule()
        self._backlog_rule = backlog_rule
        self._worth = worth
        learnt = DensityState.unknown(geometry.cells, types=geometry.types, rule=self._rule)
        self.state = PolicyState(BacklogState(), learnt)

    def step(self, period: Period) -> Plans:
        """Learn from every comparison; fill the knapsack."""
        state = self.state
        assert isinstance(state.learnt, DensityState)
        due = period.due_pairs_per_s
        backlog = _budget(state.backlog, period, self._backlog_rule, due * period.units_per_pair)
        learnt, plans = adapt_density(
            state.learnt,
            self._valued(period),
            budget_per_s=backlog.budget_share * due,
            period_s=period.elapsed_s,
            rule=self._paced_rule(backlog.budget_share),
        )
        self.state = PolicyState(backlog, learnt, steps=state.steps + 1)
        return native_plans(plans, types=self._geometry.types)

    def _paced_rule(self, budget_share: float) -> DensityRule:
        """Where hardly anything can be compared, exploring costs the best cells: half as much of it then."""
        plenty = min(1.0, budget_share / _PLENTY_SHARE)
        return replace(self._rule, exploration=self._rule.exploration * (0.4 + 0.6 * plenty))

    def _valued(self, period: Period) -> tuple[WindowStatistics, WindowStatistics]:
        """Matches weighed by what results with rows of the type are worth."""
        if self._worth is None:
            return period.windows
        frequencies = (_frequencies(period.windows[1]), _frequencies(period.windows[0]))
        worths = expected_utilities(self._worth.values, frequencies, combine=self._worth.combine)
        first, second = (
            _weighed(window, worth) for window, worth in zip(period.windows, worths, strict=True)
        )
        return first, second


def _weighed(window: WindowStatistics, worth: Sequence[float]) -> WindowStatistics:
    weights = np.asarray(worth, dtype=np.float64)[:, None]
    seen = CellCounts(window.seen.comparisons, window.seen.matches * weights)
    return WindowStatistics(seen, window.sampled, window.due)


class ContentPolicy:
    """Ours for predicates that can be scored: the core scores cells per probe, this keeps the threshold."""

    def __init__(
        self, geometry: Geometry, backlog_rule: BacklogRule, *, rule: ContentRule | None = None
    ) -> None:
        self._geometry = geometry
        self._rule = rule or ContentRule()
        self._backlog_rule = backlog_rule
        self.state = PolicyState(BacklogState(), ContentState())

    def step(self, period: Period) -> Plans:
        """The threshold at which what passes costs what may be spent."""
        state = self.state
        assert isinstance(state.learnt, ContentState)
        levels = _levels(period)
        scored = float(levels.costs.sum()) / period.elapsed_s
        due = scored or period.due_pairs_per_s * period.units_per_pair
        backlog = _budget(state.backlog, period, self._backlog_rule, due)
        plans = self._geometry.everything()
        if backlog.budget_share >= 1.0:
            self.state = PolicyState(backlog, ContentState(), steps=state.steps + 1)
            return native_plans(plans, types=self._geometry.types)
        exploration = max(_LEAST_FULL_PROBES, _EXPLORATION * backlog.budget_share)
        left = max(0.0, backlog.budget_share - exploration) / (1.0 - exploration)
        budget = left * due * period.elapsed_s
        learnt, threshold = adapt_threshold(
            state.learnt, levels, budget=budget / _misjudged(period), rule=self._rule
        )
        self.state = PolicyState(backlog, learnt, steps=state.steps + 1)
        first, second = (replace(plan, full_probe_share=exploration) for plan in plans)
        return native_plans((first, second), types=self._geometry.types, threshold=threshold)


def _levels(period: Period) -> ScoreLevels:
    scores = np.concatenate([direction["level_scores"] for direction in period.directions])
    costs = np.concatenate([direction["level_costs"] for direction in period.directions])
    return ScoreLevels(scores, costs)


def _misjudged(period: Period) -> float:
    """By how much visited cells cost more than their scores said; full probes are left out of account."""
    full = sum(float(window.sampled.comparisons.sum()) for window in period.windows)
    pairs = sum(float(window.seen.comparisons.sum()) for window in period.windows)
    if period.planned_units <= 0.0 or pairs <= full:
        return 1.0
    spent = (period.units - period.score_units) * (1.0 - full / pairs)
    return min(10.0, max(0.1, spent / period.planned_units))


class AutoPolicy:
    """Content where a probe is dear, density where the index makes it so cheap that scores cost more."""

    def __init__(self, content: ContentPolicy, density: DensityPolicy, *, score_units: float) -> None:
        self._content, self._density = content, density
        self._score_units = score_units  # of one probe, at most

    @property
    def state(self) -> PolicyState:
        """Both states as one."""
        return replace(self._content.state, alternative=self._density.state)

    @state.setter
    def state(self, state: PolicyState) -> None:
        assert state.alternative is not None
        self._density.state = state.alternative
        self._content.state = replace(state, alternative=None)

    def step(self, period: Period) -> Plans:
        """Let both learn; follow the one that pays."""
        by_content, by_density = self._content.step(period), self._density.step(period)
        probes_per_s = max(period.started / period.elapsed_s, 1e-9)
        probe_units = period.due_pairs_per_s * period.units_per_pair / probes_per_s
        return by_content if probe_units >= _WORTH_SCORING * self._score_units else by_density


class DropPolicy:
    """The baseline: drop rows at random before they enter, compare those that stay with everything.

    A share q of the rows of each stream leaves q^2 of the comparisons (SPEC G15).
    """

    def __init__(self, geometry: Geometry, backlog_rule: BacklogRule) -> None:
        self._geometry = geometry
        self._backlog_rule = replace(backlog_rule, sampling=0.0)
        self.state = PolicyState(BacklogState())

    def step(self, period: Period) -> Plans:
        """The share of rows for which the comparisons cost what may be spent."""
        keep = self.state.keep
        due = period.due_pairs_per_s * period.units_per_pair / keep**2
        backlog = _budget(self.state.backlog, period, self._backlog_rule, due)
        wanted = math.sqrt(backlog.budget_share)
        # Windows still hold rows that were kept at the old share: go half the way.
        keep = min(1.0, max(1e-3, math.sqrt(keep * wanted)))
        self.state = PolicyState(backlog, steps=self.state.steps + 1, keep=keep)
        return native_plans(self._geometry.everything(), types=self._geometry.types, keep=keep)
