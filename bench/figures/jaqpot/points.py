"""The numbers behind each table and figure: a flat mapping from a name to a value, which claims.toml speaks
about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bench.figures.jaqpot.engine import figure_7_engine
from bench.figures.jaqpot.plans import HEURISTICS, SHAPES, draws, fig2b, fig4, fig6, per_cycle
from bench.figures.jaqpot.running import run_adapting, stale_shares
from bench.figures.jaqpot.weatherboards import (
    figure_8,
    figure_8_fine,
    figure_8_library,
    figure_9c,
    have_data,
)
from watersmeet.plan import (
    Plan,
    allocate,
    best_cycles,
    cover,
    greedy_cover,
    greedy_cycles,
    refresh_rates,
    saturation,
    whole_cycle,
)

__all__ = ["FIGURES", "SELECTIVITIES", "Values"]

Values = Mapping[str, float]
SELECTIVITIES = {"table 3": (0.01, 0.1), "near 1": (0.0001, 0.001), "between": (0.0005, 0.005)}
_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_WINDOWS = (1.5, 3.0, 5.0)
_STEPS = ((0.01, 0.01, 0.05), (0.03, 0.03, 0.05), (0.03, 0.03, 0.1))  # SEL1, SEL2, SEL3


def table_2() -> Values:
    """J-Tab2: the running example's paths, and three ways to spend 30 probes on them."""
    plan = fig4()
    cycles = {name: whole_cycle(path, 30) for name, path in plan.paths.items()}
    table = {name: cycle for name, cycle in cycles.items() if cycle is not None}
    values: dict[str, float] = {}
    for name, cycle in table.items():
        values |= {
            f"resources {name}": cycle.resources,
            f"output {name}": cycle.output,
            f"productivity {name}": plan.paths[name].productivity,
        }
    for way, runs in (("greedy", greedy_cycles(table, 30)), ("discrete", best_cycles(table, 30))):
        values[way] = sum(runs[name] * table[name].output for name in table)
    fractional = allocate(plan, budget=30, policy="grepp")
    return values | {
        "grepp": fractional.throughput,
        "grepp b": fractional.probes["B"],
        "grepp ab": fractional.probes["A+B"],
    }


def table_4() -> Values:
    """J-Tab4: every policy on the 2-join plan, 300 probes per second; and the caps of SPEC J5."""
    values: dict[str, float] = {}
    for policy in (*HEURISTICS, "grepp"):
        found = allocate(fig2b(), budget=300, policy=policy)  # type: ignore[arg-type]
        values |= {f"{policy} {name}": probes for name, probes in found.probes.items()}
        values |= {f"{policy} join 1": found.produced["A+B"], f"{policy} root": found.throughput}
    everything = saturation(fig2b())
    capped = allocate(fig2b(), budget=5000, policy="grepp").throughput
    return values | {"saturation": everything.budget, "saturated": everything.throughput, "capped": capped}


def figure_6() -> Values:
    """J-Fig6: cumulative results over ten minutes, selectivities changing at 3 and 7 minutes, 30 % of
    saturation.
    """
    values: dict[str, float] = {}
    for shape in SHAPES:
        plans = [fig6(shape, step) for step in _STEPS]
        budget = 0.3 * saturation(plans[0]).budget
        for policy in (*HEURISTICS, "jaqpot"):
            run = run_adapting(
                lambda second, plans=plans: plans[(second >= 180) + (second >= 420)],
                seconds=600,
                budget=lambda _, budget=budget: budget,
                policy=policy,  # type: ignore[arg-type]
                seed=11,
            )
            total = np.cumsum(run.results)
            values |= {
                f"{shape} {policy} min={minute}": float(total[60 * minute - 1]) for minute in range(1, 11)
            }
            values[f"{shape} {policy} actuated"] = run.actuated
            if policy == "jaqpot":
                values |= _recovery(shape, plans, np.array(run.results), budget)
        values |= _changes(shape, values)
        best = max(values[f"{shape} {policy} min=10"] for policy in HEURISTICS)
        values[f"{shape} best heuristic min=10"] = best
    return values


def _changes(shape: str, values: Values) -> dict[str, float]:
    """What each change added to JAQPOT's results per minute."""
    first, second, last = (
        values[f"{shape} jaqpot min={end}"] - values[f"{shape} jaqpot min={end - 1}"] for end in (3, 7, 10)
    )
    return {f"{shape} first change": second - first, f"{shape} last change": last - second}


def _recovery(shape: str, plans: list[Plan], results: np.ndarray, budget: float) -> dict[str, float]:
    """Results after two monitoring periods against the model's optimum of the new statistics."""
    found = {}
    for step, start in ((1, 180), (2, 420)):
        optimum = allocate(plans[step], budget=budget).throughput
        found[f"{shape} recovered step={step}"] = float(results[start + 20 : start + 60].mean()) / optimum
    return found


def figure_7() -> Values:
    """J-Fig7: share of saturation throughput against share of saturation budget, 500 plans of each kind."""
    values: dict[str, float] = {}
    for shape in SHAPES:
        for kind, selectivity in SELECTIVITIES.items():
            plans = list(draws(shape, selectivity=selectivity))
            for share in _SHARES:
                values |= _throughputs(f"{shape}, {kind}", plans, share)
    return values


def _throughputs(kind: str, plans: list[Plan], share: float) -> dict[str, float]:
    shares = {policy: [_share(plan, share, policy) for plan in plans] for policy in (*HEURISTICS, "grepp")}
    means = {policy: float(np.mean(each)) for policy, each in shares.items()}
    best_each = np.max([shares[policy] for policy in HEURISTICS], axis=0)
    values = {f"{kind}, {policy} mu={share:g}": mean for policy, mean in means.items()}
    values[f"{kind}, gain mu={share:g}"] = means["grepp"] / max(means[policy] for policy in HEURISTICS)
    values[f"{kind}, at least the best mu={share:g}"] = float(
        np.mean(np.array(shares["grepp"]) >= best_each * (1 - 1e-9))
    )
    return values


def _share(plan: Plan, share: float, policy: str) -> float:
    everything = saturation(plan)
    found = allocate(plan, budget=share * everything.budget, policy=policy)  # type: ignore[arg-type]
    return found.throughput / everything.throughput


def figure_9() -> Values:
    """J-Fig9a, b: the share of stale results at 300 probes per second, ten plans per shape, forty seconds of
    tenths; the same for plans that cover their freshness, at 30 % of saturation, and purge.
    """
    values: dict[str, float] = {}
    for shape in SHAPES:
        plans = [per_cycle(plan, cycles_per_s=10) for plan in draws(shape, count=10)]
        for policy in (*HEURISTICS, "grepp"):
            runs = [_stale(plan, policy, seed) for seed, plan in enumerate(plans)]
            for windows in _WINDOWS:
                values[f"{shape} {policy} F={windows:g}"] = float(np.mean([run[windows] for run in runs]))
        for windows in _WINDOWS:
            values |= _covered(shape, windows)
    return values


def _stale(plan: Plan, policy: str, seed: int) -> dict[float, float]:
    allocation = allocate(plan, budget=30, policy=policy)  # type: ignore[arg-type]
    return stale_shares(plan, allocation, windows=_WINDOWS, cycles=400, seed=seed)[0]


def _covered(shape: str, windows: float) -> dict[str, float]:
    """Plans with productivities below those of Table 3: 30 % of its saturation is millions of rows."""
    stale, reached = [], []
    for seed, drawn in enumerate(draws(shape, count=10, selectivity=SELECTIVITIES["between"])):
        plan = per_cycle(drawn, cycles_per_s=10).with_freshness(windows=windows)
        found = allocate(plan, budget=0.3 * saturation(plan).budget)
        if found.cover is None or not found.cover.feasible:
            continue
        shares, results = stale_shares(
            plan, found, windows=(windows,), cycles=300, seed=seed, fresh_s=plan.freshness
        )
        stale.append(shares[windows])
        reached.append(results / found.throughput)
    return {
        f"{shape} jaqpot F={windows:g}": max(stale, default=0.0),
        f"{shape} jaqpot feasible F={windows:g}": len(stale),
        f"{shape} jaqpot reached F={windows:g}": float(np.mean(reached)) if reached else 0.0,
    }


def figure_9d() -> Values:
    """J-Fig9d: the share of the budget that freshness takes, 30 % of saturation, and plans that cannot keep
    it; J-5.4: what the greedy cover takes more than the cheapest.
    """
    values: dict[str, float] = {}
    for shape in SHAPES:
        gaps: list[float] = []
        for windows in _WINDOWS:
            spent, infeasible = [], 0
            for plan in draws(shape):
                budget = 0.3 * saturation(plan).budget
                fresh = plan.with_freshness(windows=windows)
                needed = cover(fresh, budget)
                if needed is None or not needed.feasible:
                    infeasible += 1
                    continue
                spent.append(needed.cost / budget)
                greedy = greedy_cover(fresh, refresh_rates(fresh))
                gaps += [sum(greedy.values()) / needed.cost - 1.0] if greedy else []
            values[f"{shape} share F={windows:g}"] = float(np.mean(spent))
            values[f"{shape} infeasible F={windows:g}"] = infeasible
        values |= {f"{shape} greedy mean gap": float(np.mean(gaps)), f"{shape} greedy largest gap": max(gaps)}
    return values


FIGURES: dict[str, Callable[[], Values]] = {
    "tab2": table_2,
    "tab4": table_4,
    "fig6": figure_6,
    "fig7": figure_7,
    "fig9": figure_9,
    "fig9d": figure_9d,
    "fig7e": figure_7_engine,
}
if have_data():
    FIGURES |= {"fig9c": figure_9c, "fig8": figure_8, "fig8u": figure_8_library, "fig8f": figure_8_fine}
