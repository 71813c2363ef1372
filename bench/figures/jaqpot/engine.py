"""Plans in the engine itself: random streams through wm.MultiJoin in stream time.

Rates and windows are a tenth of Table 3's, selectivities ten times as large: every half-way join is as
productive as there, and a window lasts seconds. Keys of each join are drawn evenly from 1 / selectivity
values. States between joins follow from the streams' windows here, since results must lie within the
windows, and not from count windows of their own as in the paper: what is starved below runs dry above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import watersmeet as wm
from bench.figures.jaqpot.plans import HEURISTICS, SHAPES
from watersmeet.plan import Workload, saturation, steady_state

__all__ = ["EnginePlan", "engine_plans", "figure_7_engine", "results_per_s"]

_NAMES = "ABCD"
_EDGES = (("A", "B"), ("B", "C"), ("C", "D"))
_BATCH_S = 2
_SHARES = (0.2, 0.4, 0.6)


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """Streams with count windows and a chain of equi-joins."""

    tree: Any
    rates: Mapping[str, float]
    windows: Mapping[str, int]
    values: Mapping[tuple[str, str], int]  # how many keys each join has
    seed: int

    def workload(self) -> Workload:
        """What the model knows of it."""
        shares = {edge: 1.0 / count for edge, count in self.values.items()}
        return Workload(rates=self.rates, windows=self.windows, selectivity=shares)

    def batches(self, seconds: int) -> Iterator[tuple[str, pa.Table]]:
        """Poisson arrivals, two seconds at a time."""
        rng = np.random.default_rng(self.seed)
        for start in range(0, seconds, _BATCH_S):
            for name in _NAMES:
                count = int(rng.poisson(self.rates[name] * _BATCH_S))
                times = np.sort(rng.integers(start * 1_000_000, (start + _BATCH_S) * 1_000_000, count))
                keys = {
                    "".join(edge): rng.integers(0, values, count)
                    for edge, values in self.values.items()
                    if name in edge
                }
                yield name, pa.table({"ts": pa.array(times, pa.timestamp("us")), **keys})


def engine_plans(
    shape: str, *, count: int, selectivity: tuple[float, float], seed: int = 7
) -> list[EnginePlan]:
    """Plans drawn from Table 3, scaled."""
    rng = np.random.default_rng(seed)
    return [
        EnginePlan(
            SHAPES[shape],
            {name: float(rng.uniform(30, 120)) for name in _NAMES},
            {name: int(rng.integers(20, 500)) for name in _NAMES},
            {edge: max(1, round(0.1 / rng.uniform(*selectivity))) for edge in _EDGES},
            seed=1000 * seed + place,
        )
        for place in range(count)
    ]


def results_per_s(plan: EnginePlan, *, budget: float | None, policy: str, seconds: int = 50) -> float:
    """Throughput in the second half of a run."""
    join = wm.MultiJoin(
        [wm.Stream(name, window=f"{plan.windows[name]}i") for name in _NAMES],
        tree=plan.tree,
        on={edge: wm.equal("".join(edge)) for edge in plan.values},
        budget=budget,
        policy=policy,  # type: ignore[arg-type]
        monitor="5s",
        analysis="inline",
    )
    half = 0
    for at, (name, batch) in enumerate(plan.batches(seconds)):
        if at == len(_NAMES) * seconds // _BATCH_S // 2:
            half = join.metrics.results
        join.push(name, batch)
    return (join.metrics.results - half) / (seconds / 2)


def figure_7_engine(count: int = 24) -> dict[str, float]:
    """J-Fig7 in the engine: plans with productivities near 1 at 20, 40 and 60 % of saturation."""
    values: dict[str, float] = {}
    for shape in SHAPES:
        runs = [
            _compared(plan, _SHARES[place % len(_SHARES)])
            for place, plan in enumerate(engine_plans(shape, count=count, selectivity=(0.0001, 0.001)))
        ]
        for place, share in enumerate(_SHARES):
            own = [run["share"] for run in runs[place :: len(_SHARES)]]
            values[f"{shape} jaqpot mu={share:g}"] = float(np.mean(own))
        values |= {
            f"{shape} gain": float(np.mean([run["gain"] for run in runs])),
            f"{shape} at least the best": float(np.mean([run["gain"] >= 1.0 for run in runs])),
            f"{shape} measured over model": float(np.mean([run["model"] for run in runs])),
        }
    return values


def _compared(plan: EnginePlan, share: float) -> dict[str, float]:
    work = plan.workload()
    everything = saturation(work.plan(plan.tree))
    budget = share * everything.budget
    own = results_per_s(plan, budget=budget, policy="jaqpot")
    best = max(results_per_s(plan, budget=budget, policy=policy) for policy in HEURISTICS)
    promised = steady_state(work, plan.tree, budget=budget).allocation.throughput
    return {
        "gain": own / best if best else 1.0,
        "share": own / everything.throughput,
        "model": own / promised,
    }
