"""[Gedik]'s algorithms, put together and paced."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from watersmeet.control import (
    BacklogRule,
    BacklogState,
    CellCounts,
    GedikRule,
    GedikState,
    RateRule,
    RateStatistics,
    TypeWorth,
    WindowPlan,
    adapt_fraction,
    expected_utilities,
    learn_time_correlation,
    plan_probes,
)
from watersmeet.join.shedding.period import Period, native_plans
from watersmeet.join.shedding.policies.policy import (
    Geometry,
    Plans,
    PolicyState,
    Worth,
    paced,
    type_frequencies,
)

__all__ = ["PublishedPolicy"]

_SAMPLING: Final = 0.01  # share of the budget for samples where the algorithms themselves take none


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
        self._learns = "time" in rule.adapt
        self._backlog_rule = replace(backlog_rule, sampling=rule.sampling if self._learns else _SAMPLING)
        self._rate_steps, self._time_steps = rate_steps, time_steps
        self._rate_rule = rate_rule
        self._worth = worth
        first, second = (CellCounts.nothing(cells, types=geometry.types) for cells in geometry.cells)
        self._nothing = (first, second)
        cells = (geometry.cells[0], geometry.cells[1])
        self.state = PolicyState(BacklogState(), GedikState.unknown(cells), self._nothing)

    def step(self, period: Period) -> Plans:
        """Gather and plan."""
        return native_plans(self.plan(period), types=self._geometry.types)

    def plan(self, period: Period) -> tuple[WindowPlan, ...]:
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
        rule = self._sized(self._rule, period)
        plans = plan_probes(learnt, backlog.fraction, rule, worth=self._type_worth(learnt, period))
        if self._learns:
            return plans
        return tuple(replace(plan, full_probe_share=_SAMPLING * backlog.fraction) for plan in plans)

    def _sized(self, rule: GedikRule, period: Period) -> GedikRule:
        """The rule with windows measured in comparisons, where they cannot be in seconds."""
        if not self._geometry.counts_rows:
            return rule
        first, second = (max(1e-9, float(window.due.sum())) for window in period.windows)
        cells = self._geometry.cells
        basic = (first / max(1, cells[0] - 1), second / max(1, cells[1] - 1))
        return replace(rule, windows_s=(first, second), basic_window_s=basic)

    def _pace(self, backlog: BacklogState, period: Period) -> BacklogState:
        if self._rate_rule is None:
            due = period.due_pairs_per_s * period.units_per_pair
            return paced(backlog, period, self._backlog_rule, due_units_per_s=due)
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
        frequencies = (type_frequencies(period.windows[1]), type_frequencies(period.windows[0]))
        means = [max(float(np.mean(cells)), 1e-12) for cells in learnt.time.densities]
        utilities = expected_utilities(
            self._worth.values,
            frequencies,
            densities=(means[0], means[1]),
            combine=self._worth.combine,
        )
        return TypeWorth(utilities, frequencies)
