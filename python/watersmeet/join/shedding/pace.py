"""How far behind the wall clock a join is, and how long it was busy.

The caller feeds a live stream: stream time should run as the wall clock does. Whenever wall time less stream
time is smaller than ever before, the join is as far ahead as it can be: that is lag 0. A file that is read as
fast as possible has no lag, so nothing of it is shed.

Rows that come in batches were late before the join saw them: that is no lag of its own. After a rest of the
caller none had waited for the join, but for what the newest row of the batch tells; so the lag is no more
than that, and the time since. Readings of the clock come in from outside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

__all__ = ["Pace"]

_REST: Final = 0.2  # of the calls before it: in a shorter pause more comes to wait than it lets go


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: busy since the last control time and before it, and the lag then."""

    since_s: float | None = None  # reading of the clock since which the join is busy; None: at rest
    busy_s: float = 0.0
    last_busy_s: float = 0.0
    ahead_s: float = math.inf  # smallest wall time less stream time so far
    lag_s: float = 0.0
    began_s: float = 0.0  # of calls without a rest between them
    paused_s: float = 0.0  # the end of the last one
    queued_s: float = math.inf  # lag when they began; not known where newest rows are not told
    newest_s: tuple[float, float] = (math.inf, math.inf)  # smallest wall time less that of a newest row

    def resumed(self, now_s: float, *, side: int = 0, newest_s: float | None = None) -> Pace:
        """A call begins; the newest of its rows, which are of that side, has this time."""
        going_on = replace(self, since_s=now_s)
        if newest_s is None:
            return going_on
        behind_s = now_s - newest_s
        known = [min(ahead, behind_s) if at == side else ahead for at, ahead in enumerate(self.newest_s)]
        going_on = replace(going_on, newest_s=(known[0], known[1]))
        if now_s - self.paused_s < _REST * (self.paused_s - self.began_s):
            return going_on
        queued_s = behind_s - known[side]
        return replace(going_on, began_s=now_s, queued_s=queued_s, lag_s=min(self.lag_s, queued_s))

    def lag_at(self, now_s: float) -> float:
        """The lag in the middle of a call: what it was, and what has passed since the last control time."""
        return self.lag_s + self._since(now_s)

    def paused(self, now_s: float) -> Pace:
        """The call ends."""
        return replace(self, since_s=None, busy_s=self.busy_s + self._since(now_s), paused_s=now_s)

    def controlled(self, now_s: float, *, stream_s: float) -> Pace:
        """A control time has come: the period's work ends here."""
        behind_s = now_s - stream_s
        ahead_s = min(self.ahead_s, behind_s)
        return replace(
            self,
            since_s=now_s,
            busy_s=0.0,
            last_busy_s=self.busy_s + self._since(now_s),
            ahead_s=ahead_s,
            lag_s=min(behind_s - ahead_s, self.queued_s + (now_s - self.began_s)),
        )

    def _since(self, now_s: float) -> float:
        return 0.0 if self.since_s is None else max(0.0, now_s - self.since_s)
