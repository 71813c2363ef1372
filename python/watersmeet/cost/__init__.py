"""What a window join costs per unit of time, and what follows: which index, which rates, which windows."""

from __future__ import annotations

from watersmeet.cost.calibration import Calibration, CalibrationLine, Observation
from watersmeet.cost.choice import IndexChoice, Switch, choose_index, choose_structure, worth_switching
from watersmeet.cost.crossover import crossover, crossover_ratio
from watersmeet.cost.density import WindowShares, split_memory_by_density
from watersmeet.cost.estimate import estimate_loads, kind_of
from watersmeet.cost.explanation import DirectionPlan, Explanation, explain_direction
from watersmeet.cost.memory import Shares, split_memory, split_memory_and_rates
from watersmeet.cost.model import Algorithm, Invalidation, Model, output_rate
from watersmeet.cost.observed import observed_loads, sampled_share
from watersmeet.cost.regulate import regulate
from watersmeet.cost.unit_costs import CostCurve, Kind, OperationCosts, Structure, UnitCosts
from watersmeet.cost.work import DirectionLoad, Work, predicted_cost, probe_work

__all__ = [
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
    "Shares",
    "Structure",
    "Switch",
    "UnitCosts",
    "WindowShares",
    "Work",
    "choose_index",
    "choose_structure",
    "crossover",
    "crossover_ratio",
    "estimate_loads",
    "explain_direction",
    "kind_of",
    "observed_loads",
    "output_rate",
    "predicted_cost",
    "probe_work",
    "regulate",
    "sampled_share",
    "split_memory",
    "split_memory_and_rates",
    "split_memory_by_density",
    "worth_switching",
]
