"""Plans in the engine itself: random streams through wm.MultiJoin in stream time.

Rates and windows are a tenth of Table 3's, selectivities ten times as large: every half-way join is as
productive as there, and a window lasts seconds. Keys of each join are drawn evenly from 1 / selectivity
values. Two models of the states between joins:

counted   the paper's: each keeps its last rows, as many as are drawn from the range of the windows. A half-
way
          join is as productive under a budget as without one.
living    the default of MultiJoin: results lie within the streams' windows. What is starved below runs dry
above;
          saturation is the exact join.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count as count_from
from typing import Any

import numpy as np
import pyarrow as pa

import watersmeet as wm
from bench.figures.jaqpot.plans import HEURISTICS, SHAPES
from watersmeet.plan import Plan, Workload, allocate, parse_tree, saturation, steady_state

__all__ = [
    "SHARES",
    "EnginePlan",
    "Measured",
    "compared",
    "engine_plans",
    "figure_7_engine",
    "run_engine",
    "summary",
]

_NAMES = "ABCD"
_EDGES = (("A", "B"), ("B", "C"), ("C", "D"))
_BATCH_S = 2
_MONITOR_S = 5
_WARM_S, _LONGEST_WARM_S = 30, 600
SHARES = (0.2, 0.4, 0.6)
_BLOCK_S = 10
_FAR = 0.75  # of JAQPOT's results: heuristics that make less in half a minute are not the better ones
_KNOWN = 0.015  # the standard error of a mean that predictions are compared with


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """Streams with count windows and a chain of equi-joins."""

    tree: Any
    rates: Mapping[str, float]
    windows: Mapping[str, int]
    values: Mapping[tuple[str, str], int]  # how many keys each join has
    states: Mapping[str, int] | None  # counted, or living
    seed: int

    def workload(self) -> Workload:
        """What the model of living states knows of it."""
        shares = {edge: 1.0 / count for edge, count in self.values.items()}
        return Workload(rates=self.rates, windows=self.windows, selectivity=shares)

    def plan(self) -> Plan:
        """The plan with everything processed."""
        if self.states is None:
            return self.workload().plan(self.tree)
        tree = parse_tree(self.tree)
        work = self.workload()
        return Plan(
            tree,
            rates=self.rates,
            states={**self.windows, **self.states},
            selectivity={join.name: work.match_shares(join) for join in tree.joins},
        )

    def promised(self, budget: float, policy: str = "jaqpot") -> float:
        """Results per second that the model promises."""
        if self.states is None:
            steady = steady_state(self.workload(), self.tree, budget=budget, policy=policy)  # type: ignore[arg-type]
            return steady.allocation.throughput
        return allocate(self.plan(), budget=budget, policy=policy).throughput  # type: ignore[arg-type]

    def batches(self) -> Iterator[list[tuple[str, pa.Table]]]:
        """Poisson arrivals, two seconds at a time, without end."""
        rng = np.random.default_rng(self.seed)
        for start in count_from(0, _BATCH_S):
            batches = []
            for name in _NAMES:
                count = int(rng.poisson(self.rates[name] * _BATCH_S))
                times = np.sort(rng.integers(start * 1_000_000, (start + _BATCH_S) * 1_000_000, count))
                keys = {
                    "".join(edge): rng.integers(0, values, count)
                    for edge, values in self.values.items()
                    if name in edge
                }
                batches.append((name, pa.table({"ts": pa.array(times, pa.timestamp("us")), **keys})))
            yield batches


def engine_plans(
    shape: str, *, count: int, selectivity: tuple[float, float], counted: bool, seed: int = 7
) -> list[EnginePlan]:
    """Plans drawn from Table 3, scaled."""
    rng = np.random.default_rng(seed)
    between = parse_tree(SHAPES[shape]).susceptible
    return [
        EnginePlan(
            SHAPES[shape],
            {name: float(rng.uniform(30, 120)) for name in _NAMES},
            {name: int(rng.integers(20, 500)) for name in _NAMES},
            {edge: max(1, round(0.1 / rng.uniform(*selectivity))) for edge in _EDGES},
            {name: int(rng.integers(20, 500)) for name in between} if counted else None,
            seed=1000 * seed + place,
        )
        for place in range(count)
    ]


@dataclass(frozen=True, slots=True)
class Measured:
    """A run after its warm-up: results per second, what the running join itself predicted, the share spent,
    and how many results there were.
    """

    results_per_s: float
    predicted: float
    spent: float
    results: int


def run_engine(
    plan: EnginePlan,
    *,
    budget: float,
    policy: str,
    seconds: int = 30,
    results: int = 0,
    cells: bool = True,
) -> Measured:
    """Push a plan's streams through a MultiJoin. Measured for so many seconds, and on until there are so many
    results and their rate is known, or twenty times the seconds have passed: matches come in bunches, and
    20,000 of them may be no more than a few hundred of these.
    """
    join = wm.MultiJoin(
        [wm.Stream(name, window=f"{plan.windows[name]}i") for name in _NAMES],
        tree=plan.tree,
        on={edge: wm.equal("".join(edge)) for edge in plan.values},
        budget=budget,
        policy=policy,  # type: ignore[arg-type]
        monitor=_MONITOR_S,
        analysis="inline",
        output="rows",
        states=plan.states,
        cells=cells,
    )
    batches = plan.batches()
    _warm_up(join, plan, batches)
    probes, predicted, made = _probes(join), [], [join.metrics.results]
    past = 0
    while past < seconds or (results and past < 20 * seconds and not _is_known(made, results)):
        predicted.append(join.explain().predicted or 0.0)
        _push(join, next(batches))
        past += _BATCH_S
        made.append(join.metrics.results)
    total = made[-1] - made[0]
    spent = (_probes(join) - probes) / (budget * past)
    return Measured(total / past, float(np.mean(predicted)), spent, total)


def _is_known(made: list[int], results: int) -> bool:
    """Whether the rate of results, counted so far after every batch, is known closely enough."""
    if made[-1] - made[0] < results:
        return False
    blocks = np.diff(made[:: _BLOCK_S // _BATCH_S])
    error = float(np.std(blocks, ddof=1)) / len(blocks) ** 0.5
    return error <= _KNOWN * float(np.mean(blocks))


def _warm_up(join: wm.MultiJoin, plan: EnginePlan, batches: Iterator[list[tuple[str, pa.Table]]]) -> None:
    """Half a minute, and on until the counted states are as full as the model has them."""
    past, filled_at = 0, 0
    while past < max(_WARM_S, filled_at + 2 * _MONITOR_S) and past < _LONGEST_WARM_S:
        _push(join, next(batches))
        past += _BATCH_S
        halves = join.metrics.half_joins
        if any(halves[name].state_rows < 0.95 * rows for name, rows in (plan.states or {}).items()):
            filled_at = past


def _push(join: wm.MultiJoin, batches: list[tuple[str, pa.Table]]) -> None:
    for name, batch in batches:
        join.push(name, batch)


def _probes(join: wm.MultiJoin) -> int:
    return sum(each.probes for each in join.metrics.half_joins.values())


def compared(plan: EnginePlan, share: float, *, results: int = 0) -> dict[str, float]:
    """JAQPOT against every heuristic, against saturation, and against what the models said; JAQPOT is
    measured until it has made so many results, and so is a heuristic that comes close to it: the best of
    four rates that are known to a tenth is too high by chance.
    """
    everything = saturation(plan.plan())
    budget = share * everything.budget
    own = run_engine(plan, budget=budget, policy="jaqpot", results=results)
    rivals = [_rival(plan, budget, policy, own.results_per_s, results) for policy in HEURISTICS]
    promised = plan.promised(budget)
    return {
        "own": own.results_per_s / everything.throughput,
        **{
            f"rival {name}": made / everything.throughput
            for name, made in zip(HEURISTICS, rivals, strict=True)
        },
        "gain": own.results_per_s / max(rivals) if max(rivals) else 1.0,
        "formula": promised / everything.throughput,
        "over model": own.results_per_s / promised,
        "over prediction": own.results_per_s / own.predicted if own.predicted else 1.0,
        "spent": own.spent,
        "results": own.results,
    }


def _rival(plan: EnginePlan, budget: float, policy: str, own: float, results: int) -> float:
    made = run_engine(plan, budget=budget, policy=policy).results_per_s
    if made < _FAR * own:
        return made
    return run_engine(plan, budget=budget, policy=policy, results=results).results_per_s


def figure_7_engine(count: int = 6) -> dict[str, float]:
    """J-Fig7 in the engine at 20, 40 and 60 % of saturation, counted and living states."""
    values: dict[str, float] = {}
    for counted in (True, False):
        for shape in SHAPES:
            plans = engine_plans(shape, count=count, selectivity=(0.0001, 0.001), counted=counted)
            runs = [
                compared(plan, SHARES[place % len(SHARES)], results=5_000) for place, plan in enumerate(plans)
            ]
            values |= summary(f"{shape}, {'counted' if counted else 'living'}", runs)
            if not counted:
                values[f"{shape}, living cells over whole probes"] = _cells(plans, runs)
    return values


def _cells(plans: list[EnginePlan], runs: list[dict[str, float]]) -> float:
    """What looking at the best cells makes of the budget, over whole probes."""
    gains = []
    for place, (plan, run) in enumerate(zip(plans, runs, strict=True)):
        everything = saturation(plan.plan())
        budget = SHARES[place % len(SHARES)] * everything.budget
        whole = run_engine(plan, budget=budget, policy="jaqpot", cells=False, results=5_000)
        gains.append(run["own"] * everything.throughput / whole.results_per_s)
    return float(np.mean(gains))


def summary(kind: str, runs: list[dict[str, float]], shares: tuple[float, ...] = SHARES) -> dict[str, float]:
    """Means over plans, by share of saturation where that matters; plans go through the shares in turn."""
    values: dict[str, float] = {}
    for place, share in enumerate(shares):
        part = runs[place :: len(shares)]
        if not part:
            continue
        best = max(np.mean([run[f"rival {name}"] for run in part]) for name in HEURISTICS)
        values |= {
            f"{kind} jaqpot mu={share:g}": float(np.mean([run["own"] for run in part])),
            f"{kind} formula mu={share:g}": float(np.mean([run["formula"] for run in part])),
            f"{kind} over best heuristic mu={share:g}": float(np.mean([run["own"] for run in part]) / best),
        }
    for name in ("gain", "over model", "over prediction", "spent"):
        values[f"{kind} {name}"] = float(np.mean([run[name] for run in runs]))
    near = [abs(run["over prediction"] - 1.0) <= 0.05 for run in runs]
    return values | {
        f"{kind} median gain": float(np.median([run["gain"] for run in runs])),
        f"{kind} at least the best": float(np.mean([run["gain"] >= 1.0 for run in runs])),
        f"{kind} prediction within 5 %": float(np.mean(near)),
    }
