"""Period: what a running tree of joins counted in a monitoring period, and averages of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Period", "blended", "changed"]

_FAR = 4.0  # standard deviations
_GROWN = 1.2
_BUNCH = 6.0  # times the variance of independent matches, at least: like keys come together


@dataclass(frozen=True, slots=True)
class Period:
    """Counts of one monitoring period.

    rows      that came, per stream
    windows   rows in each stream's window
    probes    made, per half-way join; those of single cells count as what a whole probe would have to find
    for as
              many matches
    due       rows of the partner's state that they met, per half-way join, counted alike
    made      combinations that came of them, per half-way join
    """

    seconds: float
    rows: Mapping[str, float]
    windows: Mapping[str, float]
    probes: Mapping[str, float]
    due: Mapping[str, float]
    made: Mapping[str, float]

    def bunch(self, half_join: str) -> float:
        """Matches that come together: those of what one row of a stream has become below this half-way join.
        A few bunches may look like many matches and say as little as few.
        """
        rows = sum(self.probes[stream] for stream in half_join.split("+"))
        return self.made[half_join] / max(rows, 1.0)


def blended(before: Period, now: Period, memory: float) -> Period:
    """A windowed average: the counts of a period, and `memory` times those before it."""

    def blend(old: Mapping[str, float], new: Mapping[str, float]) -> dict[str, float]:
        return {name: memory * old[name] + count for name, count in new.items()}

    return Period(
        memory * before.seconds + now.seconds,
        blend(before.rows, now.rows),
        now.windows,
        blend(before.probes, now.probes),
        blend(before.due, now.due),
        blend(before.made, now.made),
    )


def changed(before: Period, now: Period) -> bool:
    """Whether the counts of a period differ from those before it by more than chance would have it, or
    windows were still filling.
    """
    if any(rows > _GROWN * before.windows[stream] for stream, rows in now.windows.items()):
        return True
    for stream, rows in now.rows.items():
        expected = before.rows[stream] / before.seconds * now.seconds
        if abs(rows - expected) > _FAR * math.sqrt(expected + rows + 1.0):
            return True
    for name, made in now.made.items():
        if before.due[name] <= 0.0:
            continue
        expected = before.made[name] / before.due[name] * now.due[name]
        bunch = max(_BUNCH, before.bunch(name))
        if abs(made - expected) > _FAR * math.sqrt(bunch * (expected + made + 1.0)):
            return True
    return False
