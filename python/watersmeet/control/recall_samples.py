"""What full probes show of the misses of all others, sharpened by what is known of every probe.

Of a full probe two numbers are known: how many matches its plan found, and how many it would have missed. Of
every other probe only the first. The more a probe found, the more it missed, as a rule; so the misses of the
others are read off a line through the full probes (the regression estimator of survey sampling), and only the
scatter around that line is uncertain. Unbiased for large samples whatever the line: what it gets wrong on the
full probes, weighted by their rarity, is added back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from watersmeet.control._check import share
from watersmeet.control.recall import Missed

__all__ = ["RecallSums", "missed_by_line", "with_period"]

_FEWEST_SAMPLES: Final = 3  # below, any share of the answer is possible


@dataclass(frozen=True, slots=True)
class RecallSums:
    """Sums over periods. `others` and `others_known`: probes that were not full, and their known numbers.

    The odds sums weigh full probes by (1 - p) / p, the spread sums by (1 - p) / p^2, p being the probability
    with which they were chosen: of 1, the known number x, the missed number y, and of xx, xy, yy.
    """

    results: float = 0.0
    others: float = 0.0
    others_known: float = 0.0
    odds: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spread: tuple[float, float, float, float, float, float] = (0.0,) * 6
    samples: int = 0
    shed: bool = False
    blind: bool = False  # something was shed while nothing was sampled
    heaviest: float = 0.0


def with_period(
    sums: RecallSums,
    *,
    results: float,
    shed: bool,
    probes: float,
    known: float,
    sampled_known: npt.ArrayLike,
    sampled_missed: npt.ArrayLike,
    full_probe_share: float,
) -> RecallSums:
    """The sums with one more period: `probes` and `known` speak of the probes that were not full."""
    share(full_probe_share, argument="full_probe_share")
    x = np.asarray(sampled_known, dtype=np.float64)
    y = np.asarray(sampled_missed, dtype=np.float64)
    if not shed or full_probe_share >= 1.0:
        return _plus(sums, results=results)
    if full_probe_share == 0.0:
        return _plus(sums, results=results, others=probes, known=known, blind=probes > 0.0)
    odds = (1.0 - full_probe_share) / full_probe_share
    spread = odds / full_probe_share
    moments = (float(x.size), x.sum(), y.sum(), (x * x).sum(), (x * y).sum(), (y * y).sum())
    return RecallSums(
        results=sums.results + results,
        others=sums.others + probes,
        others_known=sums.others_known + known,
        odds=_added3(sums.odds, [odds * float(value) for value in moments[:3]]),
        spread=_added6(sums.spread, [spread * float(value) for value in moments]),
        samples=sums.samples + x.size,
        shed=True,
        blind=sums.blind,
        heaviest=max(sums.heaviest, odds),
    )


def missed_by_line(sums: RecallSums) -> Missed:
    """Results, and the estimate of what the probes missed, with its variance."""
    if not sums.shed or sums.samples < _FEWEST_SAMPLES:
        heaviest = float("inf") if sums.blind or sums.shed else 0.0
        missed = max(0.0, sums.odds[2])
        return Missed(sums.results, missed, shed=sums.shed or sums.blind, heaviest=heaviest)
    one, x, y, xx, xy, yy = sums.spread
    across = one * xx - x * x
    slope = max(0.0, (one * xy - x * y) / across) if sums.samples > 2 and across > 1e-9 * one * xx else 0.0
    height = (y - slope * x) / one
    scatter = yy - 2 * slope * xy - 2 * height * y + slope**2 * xx + 2 * slope * height * x + height**2 * one
    corrected = sums.odds[2] - slope * sums.odds[1] - height * sums.odds[0]
    line = slope * sums.others_known + height * sums.others
    missed = max(0.0, line + corrected)
    return Missed(sums.results, missed, max(0.0, scatter), sums.samples, True, sums.heaviest)


def _plus(
    sums: RecallSums, *, results: float, others: float = 0.0, known: float = 0.0, blind: bool = False
) -> RecallSums:
    return RecallSums(
        results=sums.results + results,
        others=sums.others + others,
        others_known=sums.others_known + known,
        odds=sums.odds,
        spread=sums.spread,
        samples=sums.samples,
        shed=sums.shed,
        blind=sums.blind or blind,
        heaviest=sums.heaviest,
    )


def _added3(sums: tuple[float, float, float], more: list[float]) -> tuple[float, float, float]:
    return sums[0] + more[0], sums[1] + more[1], sums[2] + more[2]


def _added6(
    sums: tuple[float, float, float, float, float, float], more: list[float]
) -> tuple[float, float, float, float, float, float]:
    first, second = sums[:3], sums[3:]
    return (*_added3(first, more[:3]), *_added3((second[0], second[1], second[2]), more[3:]))
