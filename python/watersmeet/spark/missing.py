"""What joins found and missed, in sums that add up over lanes, buckets and courses, and the recall from them.

Each lane estimates its recall with an interval of its own. Errors of lanes that sampled are independent: the
distances from their estimates to their bounds add up squared, each side for itself (Zou and Donner: method
of variance estimates recovery), so that a single lane keeps its interval. A lane that no sample bounds is
judged by its comparisons, and only what is certain bounds it: at best nothing was missed, at worst every pair
that was given up would have been a result. Such errors have one cause: they add up as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from watersmeet.vocabulary import Estimate

__all__ = ["Missing", "missing"]


@dataclass(frozen=True, slots=True)
class Missing:
    """Results found; estimated misses, and how far above and below the estimate they may be."""

    found: float = 0.0
    missed: float = 0.0
    missed_over: float = 0.0  # of lanes that sampled: squared
    missed_under: float = 0.0
    unsampled_over: float = 0.0  # of the others
    unsampled_under: float = 0.0

    @classmethod
    def sum(cls, parts: Iterable[Missing]) -> Missing:
        """All of them together."""
        return cls(*(math.fsum(column) for column in zip(*map(astuple, parts), strict=True)))

    def recall(self) -> Estimate:
        """The share of the full answer, with its 95 % interval."""
        most = self.missed + math.sqrt(max(0.0, self.missed_over)) + max(0.0, self.unsampled_over)
        least = self.missed - math.sqrt(max(0.0, self.missed_under)) - max(0.0, self.unsampled_under)
        return Estimate(self._share(self.missed), self._share(most), self._share(least))

    def _share(self, missed: float) -> float:
        whole = self.found + max(0.0, missed)
        return self.found / whole if whole > 0.0 else 1.0


def missing(*, found: float, recall: Estimate, done: float, given_up: float) -> Missing:
    """One lane. `given_up`: pairs that were not decided, whatever the reason; `done`: those that were."""
    if given_up == 0.0:
        return Missing(found)
    if found == 0.0 or recall.low <= 0.0:
        guess = found * given_up / max(1.0, done)
        return Missing(found, guess, unsampled_over=max(0.0, given_up - guess), unsampled_under=guess)

    def misses(share: float) -> float:
        return found * (1.0 / share - 1.0)

    missed, most, least = misses(recall.value), misses(recall.low), misses(recall.high)
    return Missing(found, missed, (most - missed) ** 2, (missed - least) ** 2)
