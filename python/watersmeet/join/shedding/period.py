"""One control period as the core counted it, in the terms of the controllers.

The core speaks of directions (whose rows probe), the controllers of windows (which are probed): window n is
probed by direction 1 - n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from watersmeet.control import CellCounts, WindowPlan, WindowStatistics

__all__ = ["NativePlan", "Period", "native_plans", "period_of", "window_of"]

Array: TypeAlias = npt.NDArray[np.float64]
# order of cells, fraction by type, share of samples, share of rows kept, least score
NativePlan: TypeAlias = tuple[list[int], list[float], float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """What happened between two control times. `busy_s` and `backlog_s` may come from another clock."""

    elapsed_s: float
    busy_s: float
    backlog_s: float
    units: float
    score_units: float
    planned_units: float
    windows: tuple[WindowStatistics, ...]  # due per second
    directions: tuple[Mapping[str, Any], ...]
    comparison_cost: float = 1.0  # in units
    worth: tuple[float, ...] | None = None  # of a match in each window; None: all alike
    stretch: float = 1.0  # by which rare rows lengthen the backlog to aim at

    @property
    def due_pairs_per_s(self) -> float:
        """Pairs per second that the full answer asks to be decided."""
        return float(sum(window.due.sum() for window in self.windows))

    @property
    def units_per_pair(self) -> float:
        """What deciding a pair cost, at most a comparison: that of a comparison where none was decided.

        Without that bound the costs of an index that few pairs do not save would make pairs look ever
        dearer as there are fewer of them, until nothing was left.
        """
        pairs = sum(float(window.seen.comparisons.sum()) for window in self.windows)
        spent = self.units - self.score_units
        if pairs <= 0.0 or spent <= 0.0:
            return self.comparison_cost
        return min(self.comparison_cost, spent / pairs)

    @property
    def arrived(self) -> float:
        """Rows of both streams."""
        return float(sum(direction["arrived"] for direction in self.directions))

    @property
    def started(self) -> float:
        """Rows that the server took up."""
        return float(sum(direction["probes"] for direction in self.directions))

    @property
    def dropped(self) -> float:
        """Rows that found no place."""
        return float(sum(direction["dropped"] for direction in self.directions))

    @property
    def largest_window_rows(self) -> float:
        """Rows in the larger window, as its probes saw it."""
        rows = [float(np.sum(one["due"])) / float(max(1, one["probes"])) for one in self.directions]
        return max(1.0, *rows)


def period_of(
    counted: Mapping[str, Any],
    *,
    types: int,
    busy_s: float | None = None,
    backlog_s: float | None = None,
    comparison_cost: float = 1.0,
) -> Period:
    """The period from the core's counters; `busy_s` and `backlog_s` replace those of the virtual server."""
    elapsed_s = max(float(counted["elapsed_s"]), 1e-9)
    first, second = counted["directions"]
    return Period(
        elapsed_s=elapsed_s,
        busy_s=float(counted["busy_s"]) if busy_s is None else busy_s,
        backlog_s=float(counted["used_s"]) if backlog_s is None else backlog_s,
        units=float(counted["units"]),
        score_units=float(counted["score_units"]),
        planned_units=float(counted["planned_units"]),
        windows=(window_of(second, types, elapsed_s), window_of(first, types, elapsed_s)),
        directions=(first, second),
        comparison_cost=comparison_cost,
        stretch=float(counted["stretch"]),
    )


def window_of(direction: Mapping[str, Any], types: int, elapsed_s: float) -> WindowStatistics:
    """What the rows that probed a window counted, as statistics of that window."""

    def table(name: str) -> Array:
        return np.asarray(direction[name], dtype=np.float64).reshape(types, -1)

    return WindowStatistics(
        seen=CellCounts(table("comparisons"), table("matches")),
        sampled=CellCounts(table("full_comparisons"), table("full_matches")),
        due=table("due") / elapsed_s,
    )


def native_plans(
    plans: tuple[WindowPlan, ...],
    *,
    types: int,
    keep: float = 1.0,
    threshold: float = -1.0,
) -> tuple[NativePlan, NativePlan]:
    """Plans by window as the core takes them, by direction; a negative threshold means no scores."""

    def native(plan: WindowPlan) -> NativePlan:
        fractions = list(plan.fractions) if len(plan.fractions) == types else [plan.fraction] * types
        return list(plan.order), fractions, plan.full_probe_share, keep, threshold

    return native(plans[1]), native(plans[0])
