"""Ours, for any predicate: learn the match density of every cell from all comparisons, then fill one
knapsack.

[Gedik] learns from full probes alone and decides time, direction and utility one after the other. Ratios of
matches to comparisons are unbiased from selective probes too, as long as the choice depends on age and type
only (SPEC G9), so every comparison teaches. One greedy knapsack over the cells of all windows and all
types replaces Algorithms 2, 4 and 5. What is missing is sight of the cells that nobody visits: a small part
of the budget goes into samples of them (exploration), more of it for a while after a change was detected, and
never none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from watersmeet.control._check import BoolArray, FloatArray, above, at_least, share
from watersmeet.control.decision import CellCounts, WindowPlan, WindowStatistics
from watersmeet.control.time_correlation import visiting_order
from watersmeet.errors import ConfigError

__all__ = ["DensityRule", "DensityState", "adapt_density", "estimated_densities", "fill_knapsack"]


@dataclass(frozen=True, slots=True)
class DensityRule:
    """Settings of the density policy.

    `exploration` is the share of the budget for samples in quiet times, `alarmed_exploration` after a
    change, from which it falls back with `calm_half_life_s`. `alarm` is how many standard deviations the
    misfit between counts and densities must exceed its usual size to count as a change; `forget` is the
    trust left in the past then. A single cell that falls behind its own past by `cell_alarm` standard
    deviations and by the factor `barren` forgets for itself.
    """

    half_life_s: float = 10.0
    exploration: float = 0.02
    alarmed_exploration: float = 0.2
    calm_half_life_s: float = 1.5
    alarm: float = 20.0
    forget: float = 0.1
    cell_alarm: float = 3.0
    barren: float = 1.7
    prior_matches: float = 4.0  # weight of a cell's neighbours in its estimate, counted in matches
    optimism: float = 0.3  # standard errors added to a cell's density when it competes for the budget
    recent_half_life_s: float = 1.5
    doubt: float = 0.6  # standard errors of the recent counts within which the long memory is believed
    scatter: float = 3.0  # how much wider than by chance counts scatter
    longest_unseen_s: float = 30.0  # after this long without a look at a cell, one is due

    def __post_init__(self) -> None:
        for name in (
            "half_life_s",
            "calm_half_life_s",
            "prior_matches",
            "longest_unseen_s",
            "recent_half_life_s",
            "doubt",
            "scatter",
            "cell_alarm",
        ):
            above(getattr(self, name), 0.0, argument=name)
        at_least(self.optimism, 0.0, argument="optimism")
        for name in ("exploration", "alarmed_exploration", "forget"):
            share(getattr(self, name), argument=name)
        above(self.exploration, 0.0, argument="exploration")
        above(self.alarm, 1.0, argument="alarm")
        above(self.barren, 1.0, argument="barren")


@dataclass(frozen=True, slots=True, eq=False)
class DensityState:
    """Faded counts per window, the present exploration, the usual misfit, seconds since each cell was last
    looked at.
    """

    counts: tuple[CellCounts, ...]
    recent: tuple[CellCounts, ...]
    exploration: float
    usual_misfit: float = 1.0
    unseen_s: tuple[tuple[float, ...], ...] = ((), ())
    changes: int = 0

    @classmethod
    def unknown(
        cls, cells: tuple[int, ...], *, types: int = 1, rule: DensityRule | None = None
    ) -> DensityState:
        """Before the first row: nothing is known, so exploration starts as after a change."""
        rule = rule or DensityRule()
        nothing = tuple(CellCounts.nothing(count, types=types) for count in cells)
        unseen_s = tuple((0.0,) * count for count in cells)
        return cls(nothing, nothing, rule.alarmed_exploration, unseen_s=unseen_s)


def adapt_density(
    state: DensityState,
    windows: tuple[WindowStatistics, ...],
    *,
    budget_per_s: float,
    period_s: float,
    rule: DensityRule | None = None,
    worth: Sequence[float] | None = None,
) -> tuple[DensityState, tuple[WindowPlan, ...]]:
    """One step: learn from the period, then plan the next one for `budget_per_s` comparisons per second.

    `worth`, per window, is what a match found there is worth: all alike unless given.
    """
    rule = rule or DensityRule()
    at_least(budget_per_s, 0.0, argument="budget_per_s")
    above(period_s, 0.0, argument="period_s")
    state = _learn(state, windows, period_s=period_s, rule=rule)
    return state, _plan(state, windows, budget_per_s=budget_per_s, rule=rule, worth=worth)


def estimated_densities(
    counts: CellCounts, *, prior_matches: float = 4.0, optimism: float = 0.0
) -> FloatArray:
    """Matches per comparison by type and cell, steadied by the neighbouring cells where counts are few.

    A cell's prior is the density of the cells around it (weights 1/4, 1/2, 1/4 of the counts, then the
    type's mean where those are empty too); it weighs as much as `prior_matches` matches, so a well-known
    cell keeps its own sharp value and an unknown one borrows. With `optimism`, that many standard errors
    are added: a cell that may be the best one, for all that is known, gets tried, and after one period it
    is known.
    """
    comparisons, matches = counts.comparisons, counts.matches
    mean = (matches.sum(axis=1, keepdims=True) + 0.5) / (comparisons.sum(axis=1, keepdims=True) + 1.0)
    near_comparisons, near_matches = _blurred(comparisons), _blurred(matches)
    weight = 1.0 / mean  # comparisons that hold one match on average
    prior = (near_matches + mean * weight) / (near_comparisons + weight)
    found = matches + prior_matches
    weighed = found + optimism * np.sqrt(found)
    return np.asarray(weighed / (comparisons + prior_matches / prior), dtype=np.float64)


def fill_knapsack(
    densities: Sequence[FloatArray], due: Sequence[FloatArray], budget: float
) -> tuple[FloatArray, ...]:
    """Which share of every (type, cell) of all windows to visit: best density first, until `budget` is
    used up.
    """
    value = np.concatenate([part.ravel() for part in densities])
    volume = np.concatenate([part.ravel() for part in due])
    if value.shape != volume.shape:
        raise ConfigError(f"densities, due: expected one shape, got {value.shape} and {volume.shape}")
    order = np.argsort(-value, kind="stable")
    sorted_volume = volume[order]
    taken = np.clip(budget - (np.cumsum(sorted_volume) - sorted_volume), 0.0, sorted_volume)
    shares = np.zeros_like(value)
    shares[order] = np.divide(taken, sorted_volume, out=np.zeros_like(taken), where=sorted_volume > 0.0)
    parts = np.split(shares, np.cumsum([part.size for part in densities])[:-1])
    return tuple(part.reshape(like.shape) for part, like in zip(parts, densities, strict=True))


def _learn(
    state: DensityState,
    windows: tuple[WindowStatistics, ...],
    *,
    period_s: float,
    rule: DensityRule,
) -> DensityState:
    misfit = _misfit(state, windows, rule)
    changed = misfit is not None and misfit[0] > state.usual_misfit * _alarm_level(misfit[1], rule)
    calmer = rule.exploration + (state.exploration - rule.exploration) * 0.5 ** (
        period_s / rule.calm_half_life_s
    )
    barren = [_gone_barren(state, at, window, rule) for at, window in enumerate(windows)]
    trust = 0.5 ** (period_s / rule.half_life_s) * (rule.forget if changed else 1.0)
    lately = 0.5 ** (period_s / rule.recent_half_life_s)
    return replace(
        state,
        counts=tuple(
            _faded_sum(known, np.where(gone, rule.forget, 1.0) * trust, window)
            for known, gone, window in zip(state.counts, barren, windows, strict=True)
        ),
        recent=tuple(
            _faded_sum(known, np.where(gone, 0.0, lately), window)
            for known, gone, window in zip(state.recent, barren, windows, strict=True)
        ),
        exploration=max(calmer, rule.alarmed_exploration) if changed else calmer,
        usual_misfit=_usual(state.usual_misfit, None if misfit is None else misfit[0]),
        unseen_s=tuple(
            _still_unseen(waited, window, period_s)
            for window, waited in zip(windows, state.unseen_s, strict=True)
        ),
        changes=state.changes + int(changed),
    )


def _still_unseen(
    waited_s: tuple[float, ...], window: WindowStatistics, period_s: float
) -> tuple[float, ...]:
    """Seconds since a look at each cell; a cell with nothing to look at is not waited for."""
    looked_at = (window.seen.comparisons.sum(axis=0) > 0.0) | (window.due.sum(axis=0) == 0.0)
    return tuple(0.0 if seen else waited + period_s for seen, waited in zip(looked_at, waited_s, strict=True))


def _faded_sum(counts: CellCounts, trust: FloatArray, window: WindowStatistics) -> CellCounts:
    return CellCounts(counts.comparisons * trust, counts.matches * trust).plus(window.seen)


def _gone_barren(state: DensityState, at: int, window: WindowStatistics, rule: DensityRule) -> BoolArray:
    """Cells that brought far fewer matches than was known of them: a peak that has passed.

    The test over all cells hardly feels one of them; but where the budget goes to four cells, one that
    goes barren wastes a quarter of it until its past has faded. Counts scatter more than by chance, by
    `usual_misfit`, and slow drifts are the fading's business: only a sharp fall counts. A cell that rises
    needs no such test: the short memory lifts it at once, and it is then looked at as a whole.
    """
    expected, spread, usable = _expected(state.counts[at], window, rule)
    matches = window.seen.matches
    far = (matches - expected) ** 2 > rule.cell_alarm**2 * state.usual_misfit * spread
    return np.asarray(usable & far & (matches * rule.barren < expected), dtype=np.bool_)


def _expected(
    counts: CellCounts, window: WindowStatistics, rule: DensityRule
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The matches due by what is known, their variance by chance alone, and where there are enough."""
    density = estimated_densities(counts, prior_matches=rule.prior_matches)
    expected = window.seen.comparisons * density
    known = counts.comparisons * density  # matches behind the estimate
    spread = np.maximum(expected, 1.0) * (1.0 + expected / np.maximum(known, 1.0))
    return expected, spread, np.asarray((known >= 3.0) & (expected >= 3.0), dtype=np.bool_)


def _up_to_date(state: DensityState, window: int, rule: DensityRule) -> FloatArray:
    """The estimate from the long memory, held within what the last moments still allow.

    The short memory gives an interval of `doubt` standard errors, widened because matches of one probe come
    together. A cell that has just become good, or bad, leaves the interval and is believed at once; all
    others keep the steadier estimate.
    """
    steady = estimated_densities(
        state.counts[window], prior_matches=rule.prior_matches, optimism=rule.optimism
    )
    comparisons, matches = state.recent[window].comparisons, state.recent[window].matches
    reach = rule.doubt * np.sqrt(rule.scatter * (matches + 1.0))
    looked_at = comparisons > 1e-6  # faded to less than that they say nothing
    made = np.where(looked_at, comparisons, 1.0)
    low = np.where(looked_at, (matches - reach) / made, 0.0)
    high = np.where(looked_at, (matches + reach + rule.scatter) / made, np.inf)
    return np.asarray(np.clip(steady, low, high), dtype=np.float64)


def _alarm_level(cells: int, rule: DensityRule) -> float:
    """How many times its usual size a mean over so many cells may reach by chance: few cells scatter
    widely.
    """
    return 1.0 + rule.alarm * math.sqrt(2.0 / cells)


def _usual(usual: float, misfit: float | None) -> float:
    """The usual misfit follows slowly, and an alarm moves it by no more than a doubling would: matches of
    one probe come together, so counts scatter more than chance alone would have it, and by how much must be
    learnt.
    """
    return usual if misfit is None else max(1.0, 0.9 * usual + 0.1 * min(misfit, 2.0 * usual))


def _misfit(
    state: DensityState, windows: tuple[WindowStatistics, ...], rule: DensityRule
) -> tuple[float, int] | None:
    """Mean squared deviation of the period's matches from the known densities, in units of its variance.

    Only cells that should have had a few matches count: a single full probe of a popular row brings many at
    once where hardly one was due, which is no change. Comes with the number of such cells; None without
    one.
    """
    total, cells = 0.0, 0
    for counts, window in zip(state.counts, windows, strict=True):
        expected, spread, usable = _expected(counts, window, rule)
        total += float(np.sum(np.where(usable, (window.seen.matches - expected) ** 2 / spread, 0.0)))
        cells += int(usable.sum())
    return (total / cells, cells) if cells else None


def _plan(
    state: DensityState,
    windows: tuple[WindowStatistics, ...],
    *,
    budget_per_s: float,
    rule: DensityRule,
    worth: Sequence[float] | None,
) -> tuple[WindowPlan, ...]:
    due = [window.due for window in windows]
    everything = float(sum(part.sum() for part in due))
    if everything <= budget_per_s:
        return tuple(WindowPlan(tuple(range(part.shape[1])), (1.0,) * part.shape[0], 0.0) for part in due)
    sampling = state.exploration * budget_per_s / everything
    left = max(0.0, budget_per_s - sampling * everything) / (1.0 - sampling)
    densities = [_up_to_date(state, window, rule) for window in range(len(windows))]
    values = densities if worth is None else [d * w for d, w in zip(densities, worth, strict=True)]
    shares = fill_knapsack(values, due, left)
    return tuple(
        _window_plan(part, density, volume, sampling=min(1.0, sampling * _urgency(waited, rule)))
        for part, density, volume, waited in zip(shares, densities, due, state.unseen_s, strict=True)
    )


def _urgency(waited_s: tuple[float, ...], rule: DensityRule) -> float:
    """1 in general; ever more once a cell has gone unseen for too long, so that none starves (SPEC G10)."""
    longest_s = max(waited_s, default=0.0)
    return 1.0 if longest_s < rule.longest_unseen_s else 2.0 ** min(60.0, longest_s / rule.longest_unseen_s)


def _window_plan(
    shares: FloatArray, densities: FloatArray, due: FloatArray, *, sampling: float
) -> WindowPlan:
    """Shares per (type, cell) as one order and a fraction per type.

    Types of one window share the order, by the density over all types; each type's fraction is its own
    volume.
    """
    volume = due.sum(axis=1)
    taken = (shares * due).sum(axis=1)
    fractions = np.divide(taken, volume, out=np.zeros_like(taken), where=volume > 0.0)
    weights = np.divide(due, due.sum(axis=0, keepdims=True), out=np.zeros_like(due), where=due > 0.0)
    order = visiting_order(_mean_by_cell(densities, weights))
    return WindowPlan(order, tuple(float(min(1.0, value)) for value in fractions), sampling)


def _mean_by_cell(densities: FloatArray, weights: FloatArray) -> FloatArray:
    together = (densities * weights).sum(axis=0)
    empty = weights.sum(axis=0) == 0.0
    return np.asarray(np.where(empty, densities.mean(axis=0), together), dtype=np.float64)


def _blurred(values: FloatArray) -> FloatArray:
    padded = np.pad(values, ((0, 0), (1, 1)), mode="edge")
    return 0.25 * padded[:, :-2] + 0.5 * padded[:, 1:-1] + 0.25 * padded[:, 2:]
