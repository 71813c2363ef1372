"""The baseline: tuples are dropped, comparisons are not."""

from __future__ import annotations

import math
from dataclasses import replace

from watersmeet.control import BacklogRule, BacklogState
from watersmeet.join.shedding.period import Period, native_plans
from watersmeet.join.shedding.policies.policy import Geometry, Plans, PolicyState, paced

__all__ = ["DropPolicy"]


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
        backlog = paced(self.state.backlog, period, self._backlog_rule, due_units_per_s=due)
        wanted = math.sqrt(backlog.budget_share)
        # Windows still hold rows that were kept at the old share: go half the way.
        keep = min(1.0, max(1e-3, math.sqrt(keep * wanted)))
        self.state = PolicyState(backlog, steps=self.state.steps + 1, keep=keep)
        return native_plans(self._geometry.everything(), types=self._geometry.types, keep=keep)
