"""Ours for any predicate: what each age of row is worth, learnt from every comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from watersmeet.control import (
    BacklogRule,
    BacklogState,
    CellCounts,
    DensityRule,
    DensityState,
    WindowPlan,
    WindowStatistics,
    adapt_density,
    expected_utilities,
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

__all__ = ["DensityPolicy"]

_PLENTY_SHARE: Final = 0.1  # of the full cost, from which on exploration is not felt


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
        return native_plans(self.plan(period), types=self._geometry.types)

    def plan(self, period: Period) -> tuple[WindowPlan, ...]:
        """The same, for any number of windows."""
        state = self.state
        assert isinstance(state.learnt, DensityState)
        due = period.due_pairs_per_s
        backlog = paced(
            state.backlog, period, self._backlog_rule, due_units_per_s=due * period.units_per_pair
        )
        learnt, plans = adapt_density(
            state.learnt,
            self._valued(period),
            budget_per_s=backlog.budget_share * due,
            period_s=period.elapsed_s,
            rule=self._paced_rule(backlog.budget_share),
            worth=period.worth,
        )
        self.state = PolicyState(backlog, learnt, steps=state.steps + 1)
        return plans

    def _paced_rule(self, budget_share: float) -> DensityRule:
        """Where hardly anything can be compared, exploring costs the best cells: half as much of it then."""
        plenty = min(1.0, budget_share / _PLENTY_SHARE)
        return replace(self._rule, exploration=self._rule.exploration * (0.4 + 0.6 * plenty))

    def _valued(self, period: Period) -> tuple[WindowStatistics, ...]:
        """Matches weighed by what results with rows of the type are worth."""
        if self._worth is None:
            return period.windows
        frequencies = (type_frequencies(period.windows[1]), type_frequencies(period.windows[0]))
        worths = expected_utilities(self._worth.values, frequencies, combine=self._worth.combine)
        return tuple(_weighed(window, worth) for window, worth in zip(period.windows, worths, strict=True))


def _weighed(window: WindowStatistics, worth: Sequence[float]) -> WindowStatistics:
    weights = np.asarray(worth, dtype=np.float64)[:, None]
    seen = CellCounts(window.seen.comparisons, window.seen.matches * weights)
    return WindowStatistics(seen, window.sampled, window.due)
