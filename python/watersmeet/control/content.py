"""Shedding by content, on line: visit a cell when its score per cost passes a threshold (SPEC 4.2, I2b).

The core scores cells per probe; this controller only keeps the threshold at the level where the passing
cells use up the budget, and a token bucket of a second's budget evens out what the threshold gets wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from watersmeet.control._check import above, at_least, frozen_array, same_shape, share

__all__ = [
    "ContentRule",
    "ContentState",
    "ScoreLevels",
    "TokenBucket",
    "adapt_threshold",
    "threshold_for_budget",
]


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Units that may be spent now. Fills with time up to `capacity`; a spender may not go below nothing."""

    tokens: float
    capacity: float
    rate_per_s: float

    def __post_init__(self) -> None:
        at_least(self.tokens, 0.0, argument="tokens")
        above(self.capacity, 0.0, argument="capacity")
        at_least(self.rate_per_s, 0.0, argument="rate_per_s")

    def after(self, seconds: float) -> TokenBucket:
        """The bucket some seconds later."""
        at_least(seconds, 0.0, argument="seconds")
        return replace(self, tokens=min(self.capacity, self.tokens + seconds * self.rate_per_s))

    def spend(self, units: float) -> tuple[TokenBucket, float]:
        """The bucket after spending, and what was granted: all of `units` or what is left."""
        granted = min(self.tokens, at_least(units, 0.0, argument="units"))
        return replace(self, tokens=self.tokens - granted), granted


@dataclass(frozen=True, slots=True, eq=False)
class ScoreLevels:
    """Cost of all (probe, cell) candidates of a period, gathered by level of score per cost; levels need no
    order.
    """

    scores: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", frozen_array(self.scores, argument="scores"))
        object.__setattr__(self, "costs", frozen_array(self.costs, argument="costs"))
        same_shape(self.scores, self.costs, arguments="scores, costs")


@dataclass(frozen=True, slots=True)
class ContentRule:
    """`smoothing` is the weight of the newest threshold; one below `least_move` counts as 0."""

    smoothing: float = 0.7
    least_move: float = 1e-12

    def __post_init__(self) -> None:
        share(self.smoothing, argument="smoothing")
        above(self.smoothing, 0.0, argument="smoothing")


@dataclass(frozen=True, slots=True)
class ContentState:
    """The threshold in force; None before the first period, when everything passes while tokens last."""

    threshold: float | None = None


def threshold_for_budget(levels: ScoreLevels, budget: float) -> float:
    """The score at and above which candidates cost `budget` together; 0 when everything is affordable."""
    at_least(budget, 0.0, argument="budget")
    order = np.argsort(-levels.scores, kind="stable")
    spent = np.cumsum(levels.costs[order])
    if not spent.size or spent[-1] <= budget:
        return 0.0
    return float(levels.scores[order[int(np.searchsorted(spent, budget, side="right"))]])


def adapt_threshold(
    state: ContentState, levels: ScoreLevels, *, budget: float, rule: ContentRule | None = None
) -> tuple[ContentState, float]:
    """The threshold for the next period from the last one's scores; `budget` is what remains after paying
    for scores.

    A period without candidates teaches nothing. In plenty the threshold falls to 0 at once: nothing need be
    shed.
    """
    rule = rule or ContentRule()
    if not levels.scores.size:
        return state, state.threshold or 0.0
    wanted = threshold_for_budget(levels, budget)
    if state.threshold is None or wanted <= rule.least_move:
        return ContentState(wanted), wanted
    threshold = rule.smoothing * wanted + (1.0 - rule.smoothing) * state.threshold
    return ContentState(threshold), threshold
