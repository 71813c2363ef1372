"""How much of the full answer comes out: an unbiased estimate with a 95 % interval.

What a plan leaves out is visited all the same with a known probability, as a whole (full probes) or cell by
cell. Weighting what such samples show by the inverse probability (Horvitz and Thompson) estimates what was
missed everywhere else, whatever the policy looked at, content included. Results are counted, not estimated:
only the missing part is uncertain, and with nothing shed the recall is exactly 1. Rows dropped at the door
are another loss, estimated in the same way from the rows that were kept (`Survived`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from watersmeet.control._check import above, at_least, share
from watersmeet.control.decision import CellCounts

__all__ = [
    "Missed",
    "RecallEstimate",
    "Survived",
    "estimate_recall",
    "missed_by_cells",
    "missed_by_samples",
]

_NORMAL_95 = 1.959964
_UNSEEN = 3.0  # what is expected so often stays away in 5 % of cases
_EVEN_UNSEEN = math.log(2.0)  # and this in half of them


@dataclass(frozen=True, slots=True)
class Missed:
    """Results, and matches missed among probes that were made: estimate, its variance, how many samples
    bear it.

    Periods, windows and workers add up. `heaviest` is the most that one unseen miss could count for. `due`
    and `done` are pairs that the full answer asks for and those decided: all there is to go by where no
    sample bears an estimate.
    """

    results: float = 0.0
    missed: float = 0.0
    variance: float = 0.0
    samples: int = 0
    shed: bool = False
    heaviest: float = 0.0
    due: float = 0.0
    done: float = 0.0

    @property
    def is_blind(self) -> bool:
        """Whether something was shed and no sample bounds what was missed."""
        return self.shed and (self.samples == 0 or math.isinf(self.heaviest))

    def unseen(self, expected: float = _UNSEEN) -> float:
        """As many may be missed though no sample missed any: by the rule of three, unless told otherwise."""
        return math.inf if self.is_blind else expected * max(self.heaviest, 1.0)

    @property
    def decided(self) -> float:
        """The share of the pairs that were decided; 1 where their numbers are not known."""
        return min(1.0, self.done / self.due) if self.due > 0.0 else 1.0

    def plus(self, other: Missed) -> Missed:
        """Both together: independent samples."""
        return Missed(
            self.results + other.results,
            self.missed + other.missed,
            self.variance + other.variance,
            self.samples + other.samples,
            self.shed or other.shed,
            max(self.heaviest, other.heaviest),
            self.due + other.due,
            self.done + other.done,
        )

    def guessed(self) -> Missed:
        """The same, but where no sample missed anything: pairs not decided may match as the others do, unless
        that would most likely have been seen.
        """
        if not self.shed or self.missed > 0.0 or self.decided == 0.0:
            return self
        guess = self.results * (1.0 / self.decided - 1.0)
        return replace(self, missed=min(guess, self.unseen(_EVEN_UNSEEN)))


@dataclass(frozen=True, slots=True)
class RecallEstimate:
    """The estimated share of the full answer, and bounds that hold it with 95 % confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Survived:
    """What dropped rows left of the answer: a share, and the standard error of its logarithm."""

    share: float = 1.0
    deviation: float = 0.0

    def __post_init__(self) -> None:
        share(self.share, argument="share")
        at_least(self.deviation, 0.0, argument="deviation")

    @classmethod
    def of(cls, *, results: float, weighed: float, variance: float) -> Survived:
        """From results and what they stand for: each pair the product of its rows' weights, 1 / probability.

        Where nothing came out nothing is known.
        """
        if weighed <= 0.0:
            return cls(1.0, 0.0)
        return cls(min(1.0, results / weighed), math.sqrt(math.log1p(variance / weighed**2)))


def missed_by_samples(
    *, results: float, sampled_missed: Iterable[float], full_probe_share: float, shed: bool = True
) -> Missed:
    """From full probes: for each, how many matches lay outside its plan.

    With probability p a probe was full. The other probes' misses are estimated by (1 - p) / p times the
    sum; the error has the variance (1 - p) / p^2 times the sum of squares (an independent coin per probe),
    which covers both the estimate's scatter and that of which probes happened to be the unsampled ones.
    """
    at_least(results, 0.0, argument="results")
    share(full_probe_share, argument="full_probe_share")
    outside = np.fromiter(sampled_missed, dtype=np.float64)
    if not shed or full_probe_share >= 1.0:
        return Missed(results=results, samples=outside.size)
    if full_probe_share == 0.0:
        return Missed(results=results, shed=True, heaviest=math.inf)
    odds = (1.0 - full_probe_share) / full_probe_share
    variance = odds / full_probe_share * float((outside**2).sum())
    return Missed(results, odds * float(outside.sum()), variance, outside.size, True, odds)


def missed_by_cells(
    *, results: float, counts: CellCounts, shed_comparisons: CellCounts | None = None
) -> Missed:
    """From densities: comparisons shed in each cell, times matches per comparison made there.

    Steadier than samples, since every comparison bears it, but sound only when the choice depended on age
    and type alone (SPEC G9). `shed_comparisons.comparisons` holds what was not compared. A cell with shed
    comparisons and none made leaves the estimate without an upper bound.
    """
    if shed_comparisons is None or shed_comparisons.comparisons.sum() == 0.0:
        return Missed(results=results)
    made, found, skipped = counts.comparisons, counts.matches, shed_comparisons.comparisons
    scale = np.divide(skipped, made, out=np.zeros_like(made), where=made > 0.0)
    blind = bool(((skipped > 0.0) & (made == 0.0)).any())
    variance = float((scale**2 * np.maximum(found, 1.0)).sum() + (scale * found).sum())
    heaviest = math.inf if blind else float(scale.max())
    return Missed(results, float((scale * found).sum()), variance, int(made.sum()), True, heaviest)


def estimate_recall(
    parts: Iterable[Missed], *, dropped_shares: Iterable[float] = (), survived: Survived | None = None
) -> RecallEstimate:
    """The recall of all parts together.

    `dropped_shares`: per stream, the share of its rows lost before the window (input buffer overflow), where
    no more is known. A pair is lost with either member, so what is left of the full answer is the product of
    what is left of each stream. `survived` says it better, with its own uncertainty.

    The interval is normal on the logarithm of the missed matches, which are positive and skewed; where none
    was seen in the samples the bound is that of the rule of three, and the value goes by the pairs decided as
    far as the samples allow it. Where samples are too few to tell, the interval is 0 to 1.
    """
    parts = list(parts)
    total = reduce(Missed.plus, parts, Missed())
    kept = math.prod(1.0 - share(value, argument="dropped_shares") for value in dropped_shares)
    left = Survived(kept) if survived is None else survived
    if left.share == 0.0:
        return RecallEstimate(0.0, 0.0, 0.0)
    if not total.shed:
        return _scaled(left, RecallEstimate(1.0, 1.0, 1.0))
    if total.results + total.missed == 0.0:
        return _scaled(left, RecallEstimate(total.decided, 0.0, 1.0))
    value = _recall(total.results, sum(part.guessed().missed for part in parts))
    if total.is_blind:
        return _scaled(left, RecallEstimate(value, 0.0, 1.0))
    least, most = _interval(total)
    return _scaled(left, RecallEstimate(value, _recall(total.results, most), _recall(total.results, least)))


def _scaled(left: Survived, inside: RecallEstimate) -> RecallEstimate:
    """Two losses, one after the other: shares multiply, errors of their logarithms add squared."""
    if left.deviation == 0.0 or inside.value == 0.0:
        return RecallEstimate(left.share * inside.value, left.share * inside.low, left.share * inside.high)
    reach = _NORMAL_95 * left.deviation
    down = math.hypot(reach, math.log(inside.value / inside.low)) if inside.low > 0.0 else math.inf
    up = math.hypot(reach, math.log(inside.high / inside.value))
    value = left.share * inside.value
    return RecallEstimate(value, value * math.exp(-down), min(1.0, value * math.exp(up)))


def _interval(total: Missed) -> tuple[float, float]:
    if total.missed == 0.0:
        return 0.0, total.unseen()
    spread = math.sqrt(math.log1p(total.variance / above(total.missed, 0.0, argument="missed") ** 2))
    reach = _quantile(total.samples) * spread
    return total.missed * math.exp(-reach), total.missed * math.exp(reach)


def _quantile(samples: int) -> float:
    """Student's 97.5 % point by its Cornish-Fisher expansion: few samples know their own variance badly."""
    freedom = max(2, samples - 1)
    z = _NORMAL_95
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return z + first + second


def _recall(results: float, missed: float) -> float:
    whole = results + missed
    return results / whole if whole > 0.0 else 1.0
