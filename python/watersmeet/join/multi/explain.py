"""How a tree of joins is run, as a value that prints as text: rates, productivities, allowances."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.join.multi.engine import MultiEngine
from watersmeet.plan import Allocation, Plan, Tree, saturation

__all__ = ["MultiExplanation", "explain_multi"]


@dataclass(frozen=True, slots=True)
class MultiExplanation:
    """The tree in force, the statistics it was planned with, and the plan.

    plan        None until a monitoring period has been measured
    predicted   results per second that the plan gives; None without one
    measured    results per second in the last monitoring period
    """

    tree: Tree
    budget: float | None
    policy: str
    plan: Plan | None
    allocation: Allocation | None
    predicted: float | None
    measured: float | None
    last_decision: str | None

    def __str__(self) -> str:
        exact = self.budget is None
        head = "exact" if exact else f"budget {self.budget:g} probes/s, policy {self.policy}"
        lines = [f"tree {self.tree}, {head}"]
        for join in self.tree.joins:
            lines.append(f"  {join.name}")
            lines += [f"    {self._half(node.name)}" for node in join.inputs or ()]
        if self.plan is not None:
            everything = saturation(self.plan)
            lines.append(
                f"saturation {everything.budget:.4g} probes/s, {everything.throughput:.4g} results/s"
            )
        if self.allocation is not None and self.allocation.cover is not None:
            cover = self.allocation.cover
            rates = ", ".join(f"{name} {rate:.4g}/s" for name, rate in cover.rates.items())
            lines.append(f"freshness cover {cover.cost:.4g} probes/s, to renew {rates}")
            lines += [cover.problem] if cover.problem else []
        if self.predicted is not None and self.measured is not None:
            lines.append(f"results/s predicted {self.predicted:.4g}, measured {self.measured:.4g}")
        lines += [f"last decision: {self.last_decision}"] if self.last_decision else []
        return "\n".join(lines)

    def _half(self, name: str) -> str:
        join = self.tree.parents[name]
        text = f"{name} probes {join.partner(name).name}"
        if self.plan is not None:
            rate = self.plan.rates.get(name)
            text += "" if rate is None else f", {rate:.4g} rows/s"
            text += f", {self.plan.productivities[name]:.4g} per probe"
            if name in self.plan.paths:
                text += f", path {self.plan.paths[name].productivity:.4g}"
        if self.allocation is not None:
            text += f", may probe {self.allocation.probes.get(name, 0.0):.4g}/s"
        return text


def explain_multi(engine: MultiEngine) -> MultiExplanation:
    """What is in force now."""
    config, running = engine.config, engine.running
    control = None if running is None else running.control
    if control is None:
        return MultiExplanation(config.tree, config.budget, config.policy, None, None, None, None, None)
    state = control.state
    plan = control.plan()
    predicted = control.predicted()
    last = str(state.decisions[-1]) if state.decisions else None
    return MultiExplanation(
        state.tree,
        config.budget,
        config.policy,
        plan,
        state.allocation,
        predicted,
        state.measured if plan is not None else None,
        last,
    )
