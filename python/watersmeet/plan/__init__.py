"""Trees of binary joins under one budget of probes: what a path yields, how to spend, when to plan again.

Pure: no clock, no I/O, no compiled core. Paper: [JAQPOT].
"""

from __future__ import annotations

from watersmeet.plan.adapt import AdaptRule, Decision, analyse, largest_move, should_analyse
from watersmeet.plan.allocation import Allocation, Flow, flow, from_counts, from_probes
from watersmeet.plan.cells import EVEN, CellCurve, cell_curve
from watersmeet.plan.choice import Choice, choose_tree, probes_per_s
from watersmeet.plan.cover import Cover, cover, greedy_cover, minimum_cover
from watersmeet.plan.freshness import refresh_rates
from watersmeet.plan.knapsack import Cycle, best_cycles, fill_by_productivity, greedy_cycles, whole_cycle
from watersmeet.plan.margin import carried, margin, with_headroom
from watersmeet.plan.measure import (
    Drift,
    analyse_tree,
    analyse_workload,
    drifted,
    measured_plan,
    measured_workload,
)
from watersmeet.plan.period import Period, blended, changed
from watersmeet.plan.plan import Path, Plan
from watersmeet.plan.policy import POLICIES, Policy, Saturation, allocate, saturation
from watersmeet.plan.steady import Steady, settle, steady_state
from watersmeet.plan.tree import Node, Tree, TreeLike, every_tree, parse_tree
from watersmeet.plan.workload import Workload

__all__ = [
    "EVEN",
    "POLICIES",
    "AdaptRule",
    "Allocation",
    "CellCurve",
    "Choice",
    "Cover",
    "Cycle",
    "Decision",
    "Drift",
    "Flow",
    "Node",
    "Path",
    "Period",
    "Plan",
    "Policy",
    "Saturation",
    "Steady",
    "Tree",
    "TreeLike",
    "Workload",
    "allocate",
    "analyse",
    "analyse_tree",
    "analyse_workload",
    "best_cycles",
    "blended",
    "carried",
    "cell_curve",
    "changed",
    "choose_tree",
    "cover",
    "drifted",
    "every_tree",
    "fill_by_productivity",
    "flow",
    "from_counts",
    "from_probes",
    "greedy_cover",
    "greedy_cycles",
    "largest_move",
    "margin",
    "measured_plan",
    "measured_workload",
    "minimum_cover",
    "parse_tree",
    "probes_per_s",
    "refresh_rates",
    "saturation",
    "settle",
    "should_analyse",
    "steady_state",
    "whole_cycle",
    "with_headroom",
]
