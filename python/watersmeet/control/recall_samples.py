"""What samples show of the misses of all others, sharpened by what is known of every one.

A *unit* is what can be sampled: an incomplete probe, or a piece of one, the part of one cell that its plan
leaves out. Of a sampled unit two numbers are known: one that is known of every unit (what the plan found, or
how many rows the piece has, or how many matches its score promises), and how many matches it would have
missed. The more of the first, the more of the second, as a rule; so the misses of the others are read off a
line through the samples (the regression estimator of survey sampling), and only the scatter around that line
is uncertain. Unbiased for large samples whatever the line: what it gets wrong on the samples, weighted by
their rarity, is added back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from watersmeet.control.recall import Missed
from watersmeet.errors import ConfigError

__all__ = ["RecallSums", "missed_by_line", "with_period"]

_FEWEST_SAMPLES: Final = 3  # below, any share of the answer is possible
_MOST_UNASKED: Final = 0.2  # of all units: where more of them cannot be sampled, nothing bounds the recall
_UNASKED_DOUBT: Final = 2.0  # deviations: what such units miss, over what they would miss as the others


@dataclass(frozen=True, slots=True)
class RecallSums:
    """Sums over periods. `others` and `others_known`: units that were not sampled, and their known numbers.

    The odds sums weigh samples by (1 - p) / p, the spread sums by (1 - p) / p^2, p being the probability
    with which they were chosen: of 1, the known number x, the missed number y, and of xx, xy, yy. `unasked`
    of the others had no chance to be sampled.
    """

    results: float = 0.0
    others: float = 0.0
    others_known: float = 0.0
    odds: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spread: tuple[float, float, float, float, float, float] = (0.0,) * 6
    spread_squared: float = 0.0  # of 1: few samples of great weight know their own scatter badly
    samples: int = 0
    shed: bool = False
    heaviest: float = 0.0
    unasked: float = 0.0
    spread_fourth: float = 0.0  # squares of the spread sum's parts of yy: how well it knows itself


def with_period(
    sums: RecallSums,
    *,
    results: float,
    others: float,
    known: float,
    sampled_known: npt.ArrayLike,
    sampled_missed: npt.ArrayLike,
    sampled_shares: npt.ArrayLike,
    unasked: float = 0.0,
) -> RecallSums:
    """The sums with one more period: `others` units were not sampled, `known` is their known number.

    `sampled_shares` are the probabilities with which the samples were chosen. Without a single sample, what
    was shed is judged by the samples of other periods; so are `unasked` units, which could not be sampled,
    by those of this period, but they count against the trust in the whole.
    """
    sums = replace(sums, unasked=sums.unasked + unasked)
    x, y, chosen = (
        np.asarray(values, dtype=np.float64) for values in (sampled_known, sampled_missed, sampled_shares)
    )
    if others + x.size == 0.0:
        return _plus(sums, results=results)
    if x.size == 0:
        return _plus(sums, results=results, others=others, known=known, shed=True)
    if not (chosen.min() > 0.0 and chosen.max() <= 1.0):
        raise ConfigError(f"sampled_shares={chosen!r}: expected probabilities above 0, at most 1")
    chosen = chosen * (1.0 - unasked / (others + x.size))
    odds = (1.0 - chosen) / chosen
    spread = odds / chosen
    spread_x = spread * x
    hits = np.flatnonzero(y)  # few: most samples miss nothing
    y_hits, spread_y = y[hits], spread[hits] * y[hits]
    spread_xy, spread_yy = spread_y * x[hits], spread_y * y_hits
    return RecallSums(
        results=sums.results + results,
        others=sums.others + others,
        others_known=sums.others_known + known,
        odds=_added3(sums.odds, [_sum(odds), _sum(odds * x), _sum(odds[hits] * y_hits)]),
        spread=_added6(
            sums.spread,
            [_sum(part) for part in (spread, spread_x, spread_y, spread_x * x, spread_xy, spread_yy)],
        ),
        spread_squared=sums.spread_squared + _sum(spread * spread),
        samples=sums.samples + x.size,
        shed=True,
        heaviest=max(sums.heaviest, float(odds.max())),
        unasked=sums.unasked,
        spread_fourth=sums.spread_fourth + _sum(spread_yy * spread_yy),
    )


def missed_by_line(sums: RecallSums, *, due: float = 0.0, done: float = 0.0) -> Missed:
    """Results, and the estimate of what the probes missed, with its variance; `due` and `done` pairs."""
    one, x, y, xx, xy, yy = sums.spread
    is_shed = sums.shed and sums.others > 0.0  # samples of all that was left out leave nothing out
    if not is_shed or sums.samples < _FEWEST_SAMPLES or one <= 0.0:
        heaviest = math.inf if is_shed else 0.0
        return Missed(sums.results, shed=is_shed, heaviest=heaviest, due=due, done=done)
    across = one * xx - x * x
    slope = max(0.0, (one * xy - x * y) / across) if sums.samples > 2 and across > 1e-9 * one * xx else 0.0
    height = (y - slope * x) / one
    scatter = yy - 2 * slope * xy - 2 * height * y + slope**2 * xx + 2 * slope * height * x + height**2 * one
    corrected = sums.odds[2] - slope * sums.odds[1] - height * sums.odds[0]
    line = slope * sums.others_known + height * sums.others
    missed = max(0.0, line + corrected)
    worth = one * one / sums.spread_squared if sums.spread_squared > 0.0 else float(sums.samples)
    samples = max(_FEWEST_SAMPLES, round(worth))  # so many samples of equal weight
    # The line follows its own samples, three of them to the point; but matches scatter at least by chance.
    fitted = max(scatter * samples / max(1, samples - 2), y)
    if sums.spread_fourth > 0.0:
        # Most samples miss nothing; the scatter is known only as well as those tell that do.
        samples = max(_FEWEST_SAMPLES, min(samples, round(2.0 * yy * yy / sums.spread_fourth)))
    unasked = sums.unasked / (sums.others + sums.samples)
    fitted += (_UNASKED_DOUBT * unasked * missed) ** 2
    heaviest = math.inf if unasked > _MOST_UNASKED else sums.heaviest
    return Missed(sums.results, missed, fitted, samples, True, heaviest, due, done)


def _plus(
    sums: RecallSums, *, results: float, others: float = 0.0, known: float = 0.0, shed: bool = False
) -> RecallSums:
    return replace(
        sums,
        results=sums.results + results,
        others=sums.others + others,
        others_known=sums.others_known + known,
        shed=sums.shed or shed,
    )


def _sum(values: npt.NDArray[np.float64]) -> float:
    """One after the other: numpy's own sum depends on where the array lies in memory."""
    return float(np.cumsum(values)[-1]) if values.size else 0.0


def _added3(sums: tuple[float, float, float], more: list[float]) -> tuple[float, float, float]:
    return sums[0] + more[0], sums[1] + more[1], sums[2] + more[2]


def _added6(
    sums: tuple[float, float, float, float, float, float], more: list[float]
) -> tuple[float, float, float, float, float, float]:
    first, second = sums[:3], sums[3:]
    return (*_added3(first, more[:3]), *_added3((second[0], second[1], second[2]), more[3:]))
