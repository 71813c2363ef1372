"""What joins found and missed, in sums that add up over lanes, buckets and courses, and the recall from them.

Each lane estimates its recall with an interval of its own, which is one of the logarithm of what it missed.
Of lanes that sampled the variances add up. A lane that no sample bounds is judged by its comparisons, and
only what is certain bounds it: at best nothing was missed, at worst every pair that was given up would have
been a result. Such errors have one cause: they add up as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Final

from watersmeet.vocabulary import Estimate

__all__ = ["Missing", "missing"]

_NORMAL_95: Final = 1.959964
_NARROWEST: Final = 1e-3  # interval, as a share of what was missed: a few samples that happen to be alike
_WIDEST: Final = 3.0  # deviation of the logarithm of what a lane missed: by a factor of 400 either way


@dataclass(frozen=True, slots=True)
class Missing:
    """Results found, estimated misses, and how far these may be from the truth."""

    found: float = 0.0
    missed: float = 0.0
    missed_variance: float = 0.0  # where samples tell
    unsampled: float = 0.0  # the part of `missed` that no sample bears
    unsampled_more: float = 0.0  # how much more than `missed` it may be for all that is known

    @classmethod
    def sum(cls, parts: Iterable[Missing]) -> Missing:
        """All of them together."""
        return cls(*(math.fsum(column) for column in zip(*map(astuple, parts), strict=True)))

    def recall(self) -> Estimate:
        """The share of the full answer, with its 95 % interval."""
        sampled = max(0.0, self.missed - self.unsampled)
        reach = 0.0
        if sampled > 0.0:
            reach = _NORMAL_95 * math.sqrt(math.log1p(self.missed_variance / sampled**2))
        most = sampled * math.exp(reach) + self.unsampled + self.unsampled_more
        least = sampled * math.exp(-reach)
        return Estimate(self._share(self.missed), self._share(most), self._share(least))

    def _share(self, missed: float) -> float:
        whole = self.found + max(0.0, missed)
        return self.found / whole if whole > 0.0 else 1.0


def missing(*, found: float, recall: Estimate, done: float, given_up: float) -> Missing:
    """One lane. `given_up`: pairs that were not decided, whatever the reason; `done`: those that were."""
    if given_up == 0.0:
        return Missing(found)
    if found == 0.0 or recall.low <= 0.0 or recall.high - recall.low <= _NARROWEST * (1.0 - recall.value):
        guess = (found + 0.5) * given_up / (done + 1.0)  # none found is not none there
        return Missing(found, guess, unsampled=guess, unsampled_more=max(0.0, given_up - guess))

    def misses(share: float) -> float:
        return found * (1.0 / share - 1.0)

    missed, most, least = misses(recall.value), misses(recall.low), misses(recall.high)
    if missed <= 0.0:  # no sample missed anything: up to so many may have gone unseen
        return Missing(found, unsampled_more=most)
    spread = math.log(most / least) / (2 * _NORMAL_95) if least > 0.0 else _WIDEST
    return Missing(found, missed, missed**2 * math.expm1(min(spread, _WIDEST) ** 2))
