"""What every policy is made of: the geometry it plans for, the state it replaces, the pace it keeps.

A policy holds one frozen state and replaces it as a whole, so that a change which fails can be taken back by
keeping the state from before. All decisions are the controllers'; policies only put them together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from watersmeet.control import (
    BacklogRule,
    BacklogState,
    BacklogStatistics,
    CellCounts,
    ContentState,
    DensityState,
    GedikState,
    WindowPlan,
    WindowStatistics,
    adapt_to_backlog,
)
from watersmeet.control.utility import PairUtility
from watersmeet.join.shedding.period import NativePlan, Period

__all__ = ["Geometry", "Plans", "PolicyState", "SheddingPolicy", "Worth", "paced", "type_frequencies"]

Plans: TypeAlias = tuple[NativePlan, NativePlan]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Windows and cells: seconds of each window and of its basic windows, cells of each, types of rows.

    A window that counts rows has no length in seconds; there the comparisons that it asks for stand in.
    """

    windows_s: tuple[float, ...]
    basic_windows_s: tuple[float, ...]
    cells: tuple[int, ...]
    types: int = 1
    counts_rows: bool = False

    def everything(self) -> tuple[WindowPlan, ...]:
        """The plans that visit all."""
        return tuple(WindowPlan(tuple(range(cells)), (1.0,) * self.types) for cells in self.cells)


@dataclass(frozen=True, slots=True)
class Worth:
    """The value of a row by its type, and how two of them make a result's."""

    values: tuple[float, ...]
    combine: PairUtility = "max"


@dataclass(frozen=True, slots=True, eq=False)
class PolicyState:
    """All that a policy remembers."""

    backlog: BacklogState
    learnt: GedikState | DensityState | ContentState | None = None
    sampled: tuple[CellCounts, CellCounts] | None = None
    steps: int = 0
    keep: float = 1.0
    alternative: PolicyState | None = None  # of the policy that rests, where there are two


class SheddingPolicy(Protocol):
    """A policy: its state, and the step to the next plans."""

    state: PolicyState

    def step(self, period: Period) -> Plans:
        """Learn from the period and plan the next one."""


def paced(state: BacklogState, period: Period, rule: BacklogRule, *, due_units_per_s: float) -> BacklogState:
    """The pace of the next period: `budget_share` of the units that everything would cost."""
    statistics = BacklogStatistics(
        period_s=period.elapsed_s,
        due_per_s=due_units_per_s,
        done_units=period.units,
        busy_s=period.busy_s,
        backlog_s=period.backlog_s,
        overhead_units=period.score_units / period.elapsed_s,
        window_rows=period.largest_window_rows,
    )
    return adapt_to_backlog(state, statistics, replace(rule, target_s=rule.target_s * period.stretch))[0]


def type_frequencies(probed: WindowStatistics) -> tuple[float, ...]:
    """Shares of the types among the rows that probed a window; equal where none did."""
    by_type = probed.due.sum(axis=1)
    total = float(by_type.sum())
    if total == 0.0:
        return (1.0 / len(by_type),) * len(by_type)
    return tuple(float(value) / total for value in by_type)
