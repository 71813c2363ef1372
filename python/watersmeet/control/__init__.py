"""The controllers: pure functions from statistics to decisions, without clock, I/O or hidden state
([Gedik], [Hammad]).

One module per question. How much may be processed: rate. Which cells first: time_correlation. Which window:
direction. Which types: utility; gedik puts these four together. Ours: density (any predicate), content
(scores per probe). How much of the answer comes out: recall. When results leave, and which way: ordering.
How long to wait for late rows: slack. All of them have the form (state, statistics, rule) -> (state,
decision).
"""

from __future__ import annotations

from watersmeet.control.batch_cost import BatchCosts, affordable_units, learn_batch
from watersmeet.control.content import (
    ContentRule,
    ContentState,
    ScoreLevels,
    TokenBucket,
    adapt_threshold,
    threshold_for_budget,
)
from watersmeet.control.decision import CellCounts, WindowPlan, WindowStatistics
from watersmeet.control.density import (
    DensityRule,
    DensityState,
    adapt_density,
    estimated_densities,
    fill_knapsack,
)
from watersmeet.control.direction import split_between_windows
from watersmeet.control.gedik import GedikRule, GedikState, TypeWorth, learn_time_correlation, plan_probes
from watersmeet.control.ordering import (
    AdaptiveRule,
    AdaptiveState,
    OrderStatistics,
    StreamClock,
    adapt_order,
    next_stream,
    releasable,
    trigger,
)
from watersmeet.control.rate import (
    BacklogRule,
    BacklogState,
    BacklogStatistics,
    RateRule,
    RateStatistics,
    adapt_fraction,
    adapt_to_backlog,
    fraction_for_share,
)
from watersmeet.control.recall import (
    Missed,
    RecallEstimate,
    estimate_recall,
    missed_by_cells,
    missed_by_samples,
)
from watersmeet.control.slack import SlackRule, SlackState, adapt_slack, late_share_for_recall
from watersmeet.control.time_correlation import (
    CellVisit,
    TimeState,
    adapt_time_correlation,
    cell_densities,
    cells_to_visit,
    visiting_order,
)
from watersmeet.control.utility import UtilityPlan, allocate_by_utility, expected_utilities

__all__ = [
    "AdaptiveRule",
    "AdaptiveState",
    "BacklogRule",
    "BacklogState",
    "BacklogStatistics",
    "BatchCosts",
    "CellCounts",
    "CellVisit",
    "ContentRule",
    "ContentState",
    "DensityRule",
    "DensityState",
    "GedikRule",
    "GedikState",
    "Missed",
    "OrderStatistics",
    "RateRule",
    "RateStatistics",
    "RecallEstimate",
    "ScoreLevels",
    "SlackRule",
    "SlackState",
    "StreamClock",
    "TimeState",
    "TokenBucket",
    "TypeWorth",
    "UtilityPlan",
    "WindowPlan",
    "WindowStatistics",
    "adapt_density",
    "adapt_fraction",
    "adapt_order",
    "adapt_slack",
    "adapt_threshold",
    "adapt_time_correlation",
    "adapt_to_backlog",
    "affordable_units",
    "allocate_by_utility",
    "cell_densities",
    "cells_to_visit",
    "estimate_recall",
    "estimated_densities",
    "expected_utilities",
    "fill_knapsack",
    "fraction_for_share",
    "late_share_for_recall",
    "learn_batch",
    "learn_time_correlation",
    "missed_by_cells",
    "missed_by_samples",
    "next_stream",
    "plan_probes",
    "releasable",
    "split_between_windows",
    "threshold_for_budget",
    "trigger",
    "visiting_order",
]
