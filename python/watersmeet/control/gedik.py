"""The published algorithms one after the other: rate, then time correlation, then direction or utility
([Gedik] IV-V).

A thin composition: every step lives in its own module and is usable alone. `adapt` names which steps run;
the rate step always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from watersmeet.control._check import above, share
from watersmeet.control.decision import CellCounts, WindowPlan
from watersmeet.control.direction import split_between_windows
from watersmeet.control.time_correlation import TimeState, adapt_time_correlation
from watersmeet.control.utility import UtilityPlan, allocate_by_utility
from watersmeet.errors import ConfigError

__all__ = ["GedikRule", "GedikState", "TypeWorth", "learn_time_correlation", "plan_probes"]

_STEPS = ("rate", "time", "direction")


@dataclass(frozen=True, slots=True)
class GedikRule:
    """Window geometry and which adaptations run: a prefix of ("rate", "time", "direction")."""

    windows_s: tuple[float, float]
    basic_window_s: float | tuple[float, float]
    adapt: tuple[str, ...] = _STEPS
    sampling: float = 0.1  # gamma
    as_printed: bool = False  # Algorithm 5 without SPEC G4b's repair

    def __post_init__(self) -> None:
        if not self.adapt or tuple(self.adapt) != _STEPS[: len(self.adapt)]:
            raise ConfigError(f"adapt={self.adapt!r}: expected a prefix of {_STEPS!r}, at least ('rate',)")
        share(self.sampling, argument="sampling")
        cells_s = self.basic_window_s if isinstance(self.basic_window_s, tuple) else (self.basic_window_s,)
        for cell_s in cells_s:
            above(cell_s, 0.0, argument="basic_window_s")
        for window_s in self.windows_s:
            above(window_s, 0.0, argument="windows_s")


@dataclass(frozen=True, slots=True)
class TypeWorth:
    """Utility-based shedding: expected utilities by window and type, type frequencies by stream."""

    utilities: tuple[Sequence[float], Sequence[float]]
    frequencies: tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class GedikState:
    """What time-correlation adaptation has learnt."""

    time: TimeState

    @classmethod
    def unknown(cls, cells: tuple[int, int]) -> GedikState:
        """Before the first period."""
        return cls(TimeState.unknown(cells))


def learn_time_correlation(state: GedikState, sampled: tuple[CellCounts, CellCounts]) -> GedikState:
    """Every time_period: take in the full probes of the period."""
    time, _ = adapt_time_correlation(state.time, sampled)
    return replace(state, time=time)


def plan_probes(
    state: GedikState, fraction: float, rule: GedikRule, *, worth: TypeWorth | None = None
) -> tuple[WindowPlan, WindowPlan]:
    """After each rate step: the probe plans that `fraction` of both windows pays for.

    Full probes are sampled with `fraction * sampling` in both windows, also in one whose own fraction is 0,
    or it would never be seen again (SPEC G8). Without the time step there is nothing to learn and nothing
    is sampled.
    """
    share(fraction, argument="fraction")
    learns = "time" in rule.adapt
    sampling = fraction * rule.sampling if learns and fraction < 1.0 else 0.0
    orders = state.time.orders if learns else TimeState.unknown(_cells(state)).orders
    fractions = _fractions(state, fraction, rule, worth)
    first, second = (
        WindowPlan(order, tuple(parts), sampling) for order, parts in zip(orders, fractions, strict=True)
    )
    return first, second


def _fractions(
    state: GedikState, fraction: float, rule: GedikRule, worth: TypeWorth | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if worth is not None:
        return _by_utility(state, fraction, rule, worth).fractions
    if "direction" not in rule.adapt:
        return (fraction,), (fraction,)
    first, second = split_between_windows(fraction, rule.windows_s, state.time.densities)
    return (first,), (second,)


def _by_utility(state: GedikState, fraction: float, rule: GedikRule, worth: TypeWorth) -> UtilityPlan:
    return allocate_by_utility(
        fraction=fraction,
        windows_s=rule.windows_s,
        basic_window_s=rule.basic_window_s,
        densities=state.time.densities,
        utilities=worth.utilities,
        frequencies=worth.frequencies,
        as_printed=rule.as_printed,
    )


def _cells(state: GedikState) -> tuple[int, int]:
    return len(state.time.densities[0]), len(state.time.densities[1])
