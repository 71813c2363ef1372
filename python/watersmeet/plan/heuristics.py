"""The four heuristics that [JAQPOT] Appendix B holds against itself: productivity of half-way joins, without
regard to what the joins above and below can do with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from watersmeet.plan.plan import Plan

__all__ = ["equal", "equal_best", "global_ratio", "selectivity_best"]


def equal(plan: Plan, budget: float) -> dict[str, float]:
    """EqualHJ: the same for every half-way join."""
    names = plan.tree.half_joins
    return dict.fromkeys(names, budget / len(names))


def global_ratio(plan: Plan, budget: float) -> dict[str, float]:
    """GlobalHJPR: by the productivity of the half-way joins."""
    return _in_ratio(plan.productivities, budget)


def equal_best(plan: Plan, budget: float) -> dict[str, float]:
    """EBestHJP: the same for every join, then all of it to its better half-way join."""
    names = [join.name for join in plan.tree.joins]
    return _all_to_the_better_half(plan, dict.fromkeys(names, budget / len(names)))


def selectivity_best(plan: Plan, budget: float) -> dict[str, float]:
    """SBestHJP: joins by their selectivity (of both half-way joins together), then all to the better half."""
    weights = {name: sum(pair) for name, pair in plan.selectivity.items()}
    return _all_to_the_better_half(plan, _in_ratio(weights, budget))


def _in_ratio(weights: Mapping[str, float], budget: float) -> dict[str, float]:
    total = sum(weights.values())
    if total == 0.0:
        return dict.fromkeys(weights, budget / len(weights))
    return {name: budget * weight / total for name, weight in weights.items()}


def _all_to_the_better_half(plan: Plan, budgets: Mapping[str, float]) -> dict[str, float]:
    """BestHJP inside each join, as Appendix B has it: all of the join's budget to its more productive half,
    even beyond what that can use.
    """
    allowances = dict.fromkeys(plan.tree.half_joins, 0.0)
    for join in plan.tree.joins:
        better = max(join.inputs or (), key=lambda node: plan.productivities[node.name])
        allowances[better.name] = budgets[join.name]
    return allowances
