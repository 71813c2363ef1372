"""When to make a ring longer or shorter, by measured load ([PSP] 6; the decision rule is ours).

[PSP] says that nodes are added when the ring is overloaded or its length is not optimal, and that frequent
changes should be avoided. Here: a band of utilisation within which nothing happens, and patience.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.ring._check import at_least, share, whole

__all__ = ["Resize", "ResizeRule", "ResizeState", "RingStatistics", "adapt_length"]

Resize: TypeAlias = Literal["keep", "passive", "aggressive"]


@dataclass(frozen=True, slots=True)
class RingStatistics:
    """One period: how long, how busy the slices were in sum, rows that wait at its end and did so before,
    and the length that the cost model would choose, if it was asked.
    """

    period_s: float
    busy_s: float
    waiting_rows: int = 0
    waited_rows: int = 0
    model_slices: int | None = None

    def __post_init__(self) -> None:
        at_least(self.period_s, 0.0, argument="period_s", strictly=True)
        at_least(self.busy_s, 0.0, argument="busy_s")


@dataclass(frozen=True, slots=True)
class ResizeRule:
    """Longer above `high` utilisation, shorter below `low`, towards `aim`; each after `patience` periods in
    a row. Beyond `urgent`, with rows piling up, state is moved at once instead of with time.
    """

    least: int = 1
    most: int = 64
    low: float = 0.4
    high: float = 0.85
    aim: float = 0.7
    urgent: float = 0.97
    patience: int = 3

    def __post_init__(self) -> None:
        whole(self.least, 1, argument="least")
        whole(self.most, self.least, argument="most")
        whole(self.patience, 1, argument="patience")
        for name in ("low", "high", "aim", "urgent"):
            share(getattr(self, name), argument=name)
        if not self.low < self.aim < self.high <= self.urgent:
            raise ConfigError(
                f"low={self.low!r}, aim={self.aim!r}, high={self.high!r}, urgent={self.urgent!r}: "
                "expected low < aim < high <= urgent"
            )


@dataclass(frozen=True, slots=True)
class ResizeState:
    """The length in force, and how many periods in a row asked for more (or, negative, for fewer)."""

    slices: int
    streak: int = 0
    changes: int = 0


def adapt_length(
    state: ResizeState, statistics: RingStatistics, rule: ResizeRule
) -> tuple[ResizeState, Resize]:
    """One period: the state holds the length to have from now on, the decision how to get there."""
    used = statistics.busy_s / (statistics.period_s * state.slices)
    growing = statistics.waiting_rows > statistics.waited_rows
    wish = _wish(state.slices, used, growing=growing, rule=rule)
    streak = _streak(state.streak, wish - state.slices)
    if abs(streak) < rule.patience:
        return replace(state, streak=streak), "keep"
    if statistics.model_slices is not None and wish > state.slices:
        wish = max(state.slices, min(wish, statistics.model_slices))
    if wish == state.slices:
        return replace(state, streak=0), "keep"
    how: Resize = "aggressive" if growing and used >= rule.urgent else "passive"
    return ResizeState(wish, 0, state.changes + 1), how


def _wish(slices: int, used: float, *, growing: bool, rule: ResizeRule) -> int:
    crowded = used > rule.high or (growing and used > rule.aim)
    if not crowded and used >= rule.low:
        return slices
    ideal = math.ceil(slices * used / rule.aim)
    if crowded:
        return min(rule.most, max(slices + 1, ideal))
    after = slices * used / max(ideal, rule.least)
    return slices if after > rule.high else max(rule.least, min(slices, ideal))


def _streak(streak: int, wish: int) -> int:
    if wish == 0:
        return 0
    step = 1 if wish > 0 else -1
    return streak + step if streak * step > 0 else step
