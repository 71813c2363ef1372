"""A virtual-time model of an overloaded overlap join, in NumPy: every policy that decides by age and
direction.

The trace is that of [Gedik] VI (SPEC G13, 4.2). Matches and comparisons of every (probe, cell) are counted
once, then policies are played on these counts: partial cells count as a share of their matches. Nothing
here imports the core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from watersmeet.control import (
    CellCounts,
    DensityRule,
    DensityState,
    GedikRule,
    GedikState,
    TypeWorth,
    WindowPlan,
    WindowStatistics,
    adapt_density,
    fill_knapsack,
    fraction_for_share,
    learn_time_correlation,
    plan_probes,
)

Array = npt.NDArray[np.float64]
_PERIOD_S = 5
_OVERLAP = 3


@dataclass(frozen=True)
class Trace:
    """matches[window][second, probe, cell], rows likewise; window i is probed by the other stream."""

    matches: tuple[Array, Array]
    rows: tuple[Array, Array]
    window_s: int

    @property
    def seconds(self) -> int:
        return int(self.matches[0].shape[0])

    def full(self, start: int) -> float:
        return float(sum(part[start:].sum() for part in self.matches))


def make_trace(
    seed: int,
    *,
    kappa: float,
    rate: int,
    seconds: int,
    window_s: int = 20,
    shift_jump: int | None = None,
) -> Trace:
    """Evenly spaced streams, the first one shifted (SPEC G3); after `shift_jump` seconds its shift is 1/8
    of the cycle.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    cycle = 2.0 * window_s
    times = [(np.arange(rate * seconds) + phase) / rate for phase in (0.25, 0.75)]
    shifts = np.full(rate * seconds, 5 / 8 * cycle)
    if shift_jump is not None:
        shifts[times[0] >= shift_jump] = 1 / 8 * cycle
    items = [_sets(rng, times[0] - shifts, kappa, cycle), _sets(rng, times[1], kappa, cycle)]
    first = _counts(times, items, window=0, seconds=seconds, window_s=window_s)
    second = _counts(times, items, window=1, seconds=seconds, window_s=window_s)
    return Trace((first[0], second[0]), (first[1], second[1]), window_s)


def _sets(
    rng: np.random.Generator, at: Array, kappa: float, cycle: float, domain: int = 100
) -> npt.NDArray[np.float32]:
    """Sets as rows of a 0/1 matrix: Gumbel top-k draws by Zipf rank, ranks starting at the cycle's popular
    item.
    """
    first = np.floor(domain * np.mod(at, cycle) / cycle).astype(np.int64)
    sizes = np.maximum(1, np.rint(rng.normal(5.0, 1.0, at.size))).astype(np.int64)
    keys = -kappa * np.log(np.arange(1, domain + 1)) + rng.gumbel(size=(at.size, domain))
    ranks = np.argsort(-keys, axis=1)
    taken = np.arange(domain)[None, :] < sizes[:, None]
    matrix = np.zeros((at.size, domain), dtype=np.float32)
    rows, columns = np.nonzero(taken)
    matrix[rows, (ranks[rows, columns] + first[rows]) % domain] = 1.0
    return matrix


def _counts(
    times: list[Array], items: list[npt.NDArray[np.float32]], *, window: int, seconds: int, window_s: int
) -> tuple[Array, Array]:
    cells = window_s + 1
    rate = times[0].size // seconds
    matches = np.zeros((seconds, rate, cells))
    rows = np.zeros((seconds, rate, cells))
    own, other = times[window], times[1 - window]
    for second in range(seconds):
        probes = slice(second * rate, (second + 1) * rate)
        low, high = max(0, second - window_s) * rate, (second + 1) * rate
        age = other[probes, None] - own[None, low:high]
        # A pair belongs to the probe of its later member.
        live = (age <= window_s) & ((age > 0) if window == 0 else (age >= 0))
        hit = (items[1 - window][probes] @ items[window][low:high].T >= _OVERLAP - 0.5) & live
        starts = np.arange(0, high - low, rate)
        newest_first = slice(None, None, -1)
        reached = starts.size
        matches[second, :, :reached] = np.add.reduceat(hit, starts, axis=1, dtype=np.int32)[:, newest_first]
        rows[second, :, :reached] = np.add.reduceat(live, starts, axis=1, dtype=np.int32)[:, newest_first]
    return matches, rows


def best_by_lag(trace: Trace, share: float, *, start: int, stop: int | None = None) -> float:
    """O-lag: the knapsack over (window, cell) totals in hindsight."""
    matches = [part[start:stop].sum(axis=(0, 1))[None, :] for part in trace.matches]
    rows = [part[start:stop].sum(axis=(0, 1))[None, :] for part in trace.rows]
    budget = share * float(rows[0].sum() + rows[1].sum())
    density = [m / np.maximum(n, 1.0) for m, n in zip(matches, rows, strict=True)]
    shares = fill_knapsack((density[0], density[1]), (rows[0], rows[1]), budget)
    return float(sum((part * m).sum() for part, m in zip(shares, matches, strict=True)))


def best_by_cell(trace: Trace, share: float, *, start: int) -> float:
    """O-cell: each second, the best (probe, cell) pairs that the second's budget can pay."""
    total = 0.0
    for second in range(start, trace.seconds):
        m = np.concatenate([part[second].ravel() for part in trace.matches])
        n = np.concatenate([part[second].ravel() for part in trace.rows])
        order = np.argsort(-m / np.maximum(n, 1.0), kind="stable")
        before = np.cumsum(n[order]) - n[order]
        taken = np.clip(share * n.sum() - before, 0.0, n[order])
        total += float((m[order] * taken / np.maximum(n[order], 1.0)).sum())
    return total


@dataclass(frozen=True)
class Outcome:
    """Results and comparisons by second."""

    results: Array
    spent: Array
    due: Array

    def total(self, start: int) -> float:
        return float(self.results[start:].sum())

    def spent_share(self, start: int) -> float:
        return float(self.spent[start:].sum() / self.due[start:].sum())


def _play(
    trace: Trace, second: int, plans: tuple[WindowPlan, WindowPlan], rng: np.random.Generator
) -> tuple[float, float, list[CellCounts], list[CellCounts]]:
    """One second under fixed plans: results, comparisons, counts of all and of full probes."""
    results = spent = 0.0
    seen, sampled = [], []
    for plan, all_matches, all_rows in zip(plans, trace.matches, trace.rows, strict=True):
        m, n = all_matches[second], all_rows[second]
        full = rng.random(n.shape[0]) < plan.full_probe_share
        order = np.array(plan.order)
        ordered = n[:, order]
        before = np.cumsum(ordered, axis=1) - ordered
        allowance = plan.fraction * n.sum(axis=1, keepdims=True)
        part = np.zeros_like(n)
        part[:, order] = np.clip(allowance - before, 0.0, ordered) / np.maximum(ordered, 1.0)
        part[full] = 1.0
        seen.append(CellCounts((part * n).sum(axis=0), (part * m).sum(axis=0)))
        sampled.append(CellCounts(n[full].sum(axis=0), m[full].sum(axis=0)))
        results += float((part * m).sum())
        spent += float((part * n).sum())
    return results, spent, seen, sampled


def _outcome(trace: Trace, results: list[float], spent: list[float]) -> Outcome:
    due = np.array([sum(float(part[second].sum()) for part in trace.rows) for second in range(trace.seconds)])
    return Outcome(np.array(results), np.array(spent), due)


def run_gedik(
    trace: Trace,
    share: float,
    *,
    adapt: tuple[str, ...],
    seed: int,
    utility: bool = False,
    as_printed: bool = False,
) -> Outcome:
    """Algorithms 2-5 with the fraction that costs `share` of the full join, sampling included (SPEC G8)."""
    rng = np.random.Generator(np.random.PCG64(1000 + seed))
    sampling = 0.1 if "time" in adapt else 0.0
    window_s = float(trace.window_s)
    rule = GedikRule((window_s, window_s), 1.0, adapt=adapt, sampling=sampling, as_printed=as_printed)
    cells = trace.window_s + 1
    state = GedikState.unknown((cells, cells))
    fraction = fraction_for_share(share, sampling)
    gathered = [CellCounts.nothing(cells), CellCounts.nothing(cells)]
    results, spent = [], []
    for second in range(trace.seconds):
        if second and second % _PERIOD_S == 0:
            state = learn_time_correlation(state, (gathered[0], gathered[1]))
            gathered = [CellCounts.nothing(cells), CellCounts.nothing(cells)]
        worth = None
        if utility:
            means = [max(float(np.mean(known)), 1e-12) for known in state.time.densities]
            worth = TypeWorth(((means[0],), (means[1],)), ((1.0,), (1.0,)))
        out, cost, _, sampled = _play(trace, second, plan_probes(state, fraction, rule, worth=worth), rng)
        gathered = [known.plus(new) for known, new in zip(gathered, sampled, strict=True)]
        results.append(out)
        spent.append(cost)
    return _outcome(trace, results, spent)


def run_density(trace: Trace, share: float, *, seed: int, rule: DensityRule | None = None) -> Outcome:
    """The density policy, deciding once a second."""
    rng = np.random.Generator(np.random.PCG64(2000 + seed))
    rule = rule or DensityRule()
    cells = trace.window_s + 1
    state = DensityState.unknown((cells, cells), rule=rule)
    order = tuple(range(cells))
    plans = (WindowPlan(order, (share,), 0.0), WindowPlan(order, (share,), 0.0))
    results, spent = [], []
    for second in range(trace.seconds):
        out, cost, seen, sampled = _play(trace, second, plans, rng)
        results.append(out)
        spent.append(cost)
        due = [part[second].sum(axis=0) for part in trace.rows]
        first, last = (WindowStatistics(seen[w], sampled[w], due[w]) for w in (0, 1))
        budget = share * float(due[0].sum() + due[1].sum())
        state, plans = adapt_density(state, (first, last), budget_per_s=budget, period_s=1.0, rule=rule)
    return _outcome(trace, results, spent)
