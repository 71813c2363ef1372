"""What a window join costs per unit of time, and what follows: which index, which rates, which windows.

Pure, but for one name: `calibrate` measures, so it lives in the join room, which has the core and a clock,
and is found there when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from watersmeet.cost.calibration import Calibration, CalibrationLine, Observation
from watersmeet.cost.choice import (
    IndexChoice,
    Switch,
    cheapest,
    choose_index,
    choose_structure,
    worth_switching,
)
from watersmeet.cost.crossover import crossover, crossover_ratio
from watersmeet.cost.density import WindowShares, split_memory_by_density
from watersmeet.cost.estimate import estimate_loads, kind_of
from watersmeet.cost.explanation import DirectionPlan, Explanation, explain_direction
from watersmeet.cost.memory import Shares, split_memory, split_memory_and_rates
from watersmeet.cost.model import Algorithm, Invalidation, Model, output_rate
from watersmeet.cost.observed import observed_loads, sampled_share
from watersmeet.cost.regulate import regulate
from watersmeet.cost.shrink import AgeCounts, WindowNeed, lost_results, rows_to_keep, share_of_answer
from watersmeet.cost.unit_costs import (
    BASELINES,
    KINDS,
    STRUCTURES,
    CostCurve,
    Kind,
    OperationCosts,
    Structure,
    UnitCosts,
)
from watersmeet.cost.work import (
    DirectionLoad,
    Price,
    Work,
    predicted_cost,
    probe_work,
    stream_cost,
    structure_costs,
    structure_prices,
)

if TYPE_CHECKING:
    from watersmeet.join.calibration.calibrate import calibrate

__all__ = [
    "BASELINES",
    "KINDS",
    "STRUCTURES",
    "AgeCounts",
    "Algorithm",
    "Calibration",
    "CalibrationLine",
    "CostCurve",
    "DirectionLoad",
    "DirectionPlan",
    "Explanation",
    "IndexChoice",
    "Invalidation",
    "Kind",
    "Model",
    "Observation",
    "OperationCosts",
    "Price",
    "Shares",
    "Structure",
    "Switch",
    "UnitCosts",
    "WindowNeed",
    "WindowShares",
    "Work",
    "calibrate",
    "cheapest",
    "choose_index",
    "choose_structure",
    "crossover",
    "crossover_ratio",
    "estimate_loads",
    "explain_direction",
    "kind_of",
    "lost_results",
    "observed_loads",
    "output_rate",
    "predicted_cost",
    "probe_work",
    "regulate",
    "rows_to_keep",
    "sampled_share",
    "share_of_answer",
    "split_memory",
    "split_memory_and_rates",
    "split_memory_by_density",
    "stream_cost",
    "structure_costs",
    "structure_prices",
    "worth_switching",
]


if not TYPE_CHECKING:  # type checkers read the import above

    def __getattr__(name: str) -> Any:
        """Find `calibrate` in the room that can measure."""
        if name != "calibrate":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module("watersmeet.join.calibration.calibrate").calibrate
