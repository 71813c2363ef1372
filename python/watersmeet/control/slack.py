"""The smallest lateness that keeps the share of late rows under a target: quality-driven K-slack
(lateness="auto").

The delay of a row is how far it lies behind the largest timestamp of its stream so far. A faded histogram
of delays (32 levels per doubling, so a bound is at most about 3 % too large) gives the bound as a quantile;
a feedback factor widens it when the measured share of late rows misses the target all the same, and narrows
it back when it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from watersmeet.control._check import FloatArray, above, share

__all__ = ["SlackRule", "SlackState", "adapt_slack", "delays_of", "late_share_for_recall"]

_LEVELS = 32  # per doubling; delays below it are exact
_BINS = _LEVELS * 60
_LONGER = 10.0  # how much longer than the delays the share of late rows is remembered
_LEAST_AIM = 0.25


@dataclass(frozen=True, slots=True)
class SlackRule:
    """`late_share` is the target; `half_life_rows` how fast old delays are forgotten."""

    late_share: float = 0.01
    half_life_rows: float = 10_000.0
    feedback: float = 0.2
    most_widening: float = 8.0

    def __post_init__(self) -> None:
        share(self.late_share, argument="late_share")
        above(self.half_life_rows, 0.0, argument="half_life_rows")
        above(self.most_widening, 1.0, argument="most_widening")


@dataclass(frozen=True, slots=True, eq=False)
class SlackState:
    """Faded histogram of delays, largest timestamp so far, feedback factor, bound in force."""

    histogram: FloatArray
    newest: int | None = None
    widening: float = 1.0
    lateness: int = 0
    late: float = 0.0  # rows behind the bound in force, faded slowly
    seen: float = 0.0  # all rows, faded as slowly

    @classmethod
    def unknown(cls) -> SlackState:
        """Before the first row."""
        empty = np.zeros(_BINS)
        empty.setflags(write=False)
        return cls(empty)


def late_share_for_recall(recall: float, *, streams: int = 2) -> float:
    """The share of rows of each stream that may be late for a result to survive with probability `recall`."""
    return float(1.0 - share(recall, argument="recall") ** (1.0 / streams))


def delays_of(timestamps: npt.ArrayLike, *, newest: int | None = None) -> npt.NDArray[np.int64]:
    """How far each row lies behind the largest timestamp before it; 0 for one that is itself the largest."""
    times = np.asarray(timestamps, dtype=np.int64)
    reached = np.maximum.accumulate(times)
    if newest is not None:
        reached = np.maximum(reached, newest)
    return np.asarray(reached - times, dtype=np.int64)


def adapt_slack(
    state: SlackState, timestamps: npt.ArrayLike, rule: SlackRule | None = None
) -> tuple[SlackState, int]:
    """Learn from rows in their order of arrival; return the bound for the rows after them, in the same
    unit.
    """
    rule = rule or SlackRule()
    times = np.asarray(timestamps, dtype=np.int64)
    if not times.size:
        return state, state.lateness
    delays = delays_of(times, newest=state.newest)
    histogram = state.histogram * 0.5 ** (times.size / rule.half_life_rows)
    histogram = histogram + np.bincount(_bin(delays), minlength=_BINS)
    histogram.setflags(write=False)
    late = float((delays > state.lateness).mean()) if state.newest is not None else 0.0
    widening = _feedback(state.widening, late, rows=times.size, rule=rule)
    fade = 0.5 ** (times.size / (_LONGER * rule.half_life_rows))
    state = replace(state, late=state.late * fade + late * times.size, seen=state.seen * fade + times.size)
    lateness = int(np.ceil(_quantile(histogram, 1.0 - _aim(state, rule)) * widening))
    newest = int(max(times.max(), times.max() if state.newest is None else state.newest))
    return replace(state, histogram=histogram, newest=newest, widening=widening, lateness=lateness), lateness


def _aim(state: SlackState, rule: SlackRule) -> float:
    """The share of late rows to aim at: less than allowed for as long as it takes to make up for more.

    When the disorder grows, many rows are late before the histogram knows; on average the target is only met
    if fewer than allowed are late otherwise.
    """
    over = state.late / state.seen / rule.late_share
    return rule.late_share * float(min(1.0, max(_LEAST_AIM, 2.0 - over)))


def _feedback(widening: float, late: float, *, rows: int, rule: SlackRule) -> float:
    """Multiplicative, in proportion to the rows seen, with an allowance of two standard errors before it
    widens.
    """
    weight = rule.feedback * min(1.0, rows / rule.half_life_rows * 10.0)
    allowance = rule.late_share + 2.0 * (rule.late_share / rows) ** 0.5
    factor = 1.0 + weight if late > allowance else 1.0 - weight / 2.0
    return float(min(rule.most_widening, max(1.0, widening * factor)))


def _bin(delays: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    small = delays < _LEVELS
    mantissa, exponent = np.frexp(np.where(small, _LEVELS, delays).astype(np.float64))
    level = np.floor((mantissa * 2.0 - 1.0) * _LEVELS).astype(np.int64)
    doubling = exponent.astype(np.int64) - int(np.log2(_LEVELS)) - 1
    return np.asarray(np.where(small, delays, _LEVELS * (doubling + 1) + level), dtype=np.int64)


def _upper_edge(index: int) -> float:
    """The largest delay that falls into a bin."""
    if index < _LEVELS:
        return float(index)
    doubling, level = divmod(index - _LEVELS, _LEVELS)
    return float((_LEVELS + level + 1) * 2.0**doubling - 1)


def _quantile(histogram: FloatArray, quantile: float) -> float:
    reached = np.cumsum(histogram)
    index = int(np.searchsorted(reached, quantile * reached[-1] * (1.0 - 1e-12), side="left"))
    return _upper_edge(min(index, _BINS - 1))
