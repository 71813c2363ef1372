"""How far behind the wall clock a join is, and how long it was busy.

The caller feeds a live stream: stream time should run as the wall clock does. Whenever wall time less stream
time is smaller than ever before, the join is as far ahead as it can be: that is lag 0. A file that is read as
fast as possible has no lag, so nothing of it is shed. Readings of the clock come in from outside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

__all__ = ["Pace"]


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: busy since the last control time and before it, and the lag then."""

    since_s: float | None = None  # reading of the clock since which the join is busy; None: at rest
    busy_s: float = 0.0
    last_busy_s: float = 0.0
    ahead_s: float = math.inf  # smallest wall time less stream time so far
    lag_s: float = 0.0

    def resumed(self, now_s: float) -> Pace:
        """A call begins."""
        return replace(self, since_s=now_s)

    def paused(self, now_s: float) -> Pace:
        """The call ends."""
        return replace(self, since_s=None, busy_s=self.busy_s + self._since(now_s))

    def controlled(self, now_s: float, *, stream_s: float) -> Pace:
        """A control time has come: the period's work ends here."""
        behind_s = now_s - stream_s
        ahead_s = min(self.ahead_s, behind_s)
        return Pace(
            since_s=now_s,
            busy_s=0.0,
            last_busy_s=self.busy_s + self._since(now_s),
            ahead_s=ahead_s,
            lag_s=behind_s - ahead_s,
        )

    def _since(self, now_s: float) -> float:
        return 0.0 if self.since_s is None else max(0.0, now_s - self.since_s)
