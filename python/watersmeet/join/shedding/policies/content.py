"""Ours for keys and sets: the core scores cells per probe by what they hold; this keeps the threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from watersmeet.control import (
    BacklogRule,
    BacklogState,
    ContentRule,
    ContentState,
    ScoreLevels,
    adapt_threshold,
)
from watersmeet.join.shedding.period import Period, native_plans
from watersmeet.join.shedding.policies.policy import Geometry, Plans, PolicyState, paced

__all__ = ["ContentPolicy"]

_LEAST_SAMPLES: Final = 2e-4  # of what is shed: without samples nothing is known of the recall
_EXPLORATION: Final = 0.02  # share of the budget for samples, at least
_MOST_EXPLORATION: Final = 0.1  # at most


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
        backlog = paced(state.backlog, period, self._backlog_rule, due_units_per_s=due)
        plans = self._geometry.everything()
        if backlog.budget_share >= 1.0:
            self.state = PolicyState(backlog, ContentState(), steps=state.steps + 1)
            return native_plans(plans, types=self._geometry.types)
        share = backlog.budget_share
        exploration = max(min(_LEAST_SAMPLES, _MOST_EXPLORATION * share), _EXPLORATION * share)
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
    """By how much visited cells cost more than their scores said; samples are left out of account."""
    full = sum(float(window.sampled.comparisons.sum()) for window in period.windows)
    pairs = sum(float(window.seen.comparisons.sum()) for window in period.windows)
    if period.planned_units <= 0.0 or pairs <= full:
        return 1.0
    spent = (period.units - period.score_units) * (1.0 - full / pairs)
    return min(10.0, max(0.1, spent / period.planned_units))
