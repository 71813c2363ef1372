"""Plans and what comes of them travel between processes."""

from __future__ import annotations

import copy
import pickle
from types import MappingProxyType
from typing import Any

import pytest
from tests.python.plan.plans import paper_plan

from watersmeet.plan import (
    AdaptRule,
    Workload,
    allocate,
    analyse,
    choose_tree,
    flow,
    parse_tree,
    saturation,
    steady_state,
)


def values() -> dict[str, Any]:
    plan = paper_plan().with_freshness(windows=3.0)
    spread = allocate(plan, budget=300)
    work = Workload(
        rates={"A": 50, "B": 70, "C": 60},
        windows={"A": 500, "B": 50, "C": 100},
        selectivity={("A", "B"): 0.01, ("B", "C"): 0.05},
    )
    return {
        "tree": parse_tree((("A", "B"), "C")),
        "path": plan.paths["A"],
        "plan": plan,
        "allocation": spread,
        "cover": spread.cover,
        "flow": flow(plan, spread.probes),
        "decision": analyse(None, plan, spread, at_s=1.0, budget=300, rule=AdaptRule()),
        "saturation": saturation(plan),
        "workload": work,
        "steady": steady_state(work, (("A", "B"), "C"), budget=100),
        "choice": choose_tree(work),
    }


@pytest.mark.parametrize("name", values())
def test_what_is_planned_is_the_same_after_a_journey(name: str) -> None:
    value = values()[name]
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        assert other == value
        assert repr(other) == repr(value)


def test_mappings_stay_frozen_on_the_way() -> None:
    plan = pickle.loads(pickle.dumps(paper_plan()))
    assert isinstance(plan.rates, MappingProxyType)
    with pytest.raises(TypeError):
        plan.rates["A"] = 1.0
    assert allocate(plan, budget=300).throughput == allocate(paper_plan(), budget=300).throughput
