"""What the control of a tree of joins knows, as JSON and back, for snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

import numpy as np

from watersmeet.control.decision import CellCounts
from watersmeet.join.multi.control import ControlState
from watersmeet.join.multi.monitor import Reading
from watersmeet.plan import (
    Allocation,
    CellCurve,
    Cover,
    Decision,
    Drift,
    Period,
    Plan,
    Tree,
    Workload,
    parse_tree,
)

__all__ = ["control_from_plain", "plain_control"]

_KINDS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (Allocation, CellCurve, ControlState, Cover, Decision, Drift, Period, Reading)
}

_PLAN: Final = ("tree", "rates", "states", "selectivity", "freshness", "curves")
_WORKLOAD: Final = ("rates", "windows", "freshness", "skew", "curves")


def plain_control(state: ControlState) -> Any:
    """The state as dictionaries, lists, strings and numbers."""
    return _plain(state)


def control_from_plain(plain: Any) -> ControlState:
    """The state that plain_control() wrote."""
    state = _value(plain)
    if not isinstance(state, ControlState):
        raise ValueError("the state of the control is missing")
    return state


def _plain(value: Any) -> Any:
    if isinstance(value, Tree):
        return {"@": "Tree", "tree": value.nested()}
    if isinstance(value, CellCounts):
        return {"@": "CellCounts", "counts": [value.comparisons.tolist(), value.matches.tolist()]}
    if isinstance(value, Plan):
        return {"@": "Plan", **{name: _plain(getattr(value, name)) for name in _PLAN}}
    if isinstance(value, Workload):
        pairs = [[*sorted(pair), share] for pair, share in value.selectivity.items()]
        return {"@": "Workload", "pairs": pairs, **{name: _plain(getattr(value, name)) for name in _WORKLOAD}}
    if type(value).__name__ in _KINDS:
        return {"@": type(value).__name__, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, Mapping):
        return {"@": "dict", "items": [[key, _plain(part)] for key, part in value.items()]}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(_value(part) for part in plain)
    if not isinstance(plain, dict):
        return plain
    kind = plain["@"]
    if kind in _SPECIAL:
        return _SPECIAL[kind](plain)
    return _KINDS[kind](**{name: _value(part) for name, part in plain.items() if name != "@"})


def _plan(plain: dict[str, Any]) -> Plan:
    values = {name: _value(part) for name, part in plain.items() if name not in ("@", "tree")}
    return Plan(_value(plain["tree"]), **values)


def _workload(plain: dict[str, Any]) -> Workload:
    values = {name: _value(part) for name, part in plain.items() if name not in ("@", "pairs")}
    return Workload(selectivity={(one, other): share for one, other, share in plain["pairs"]}, **values)


_SPECIAL: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "dict": lambda plain: {key: _value(part) for key, part in plain["items"]},
    "Tree": lambda plain: parse_tree(plain["tree"]),
    "CellCounts": lambda plain: CellCounts(*(np.array(part, float) for part in plain["counts"])),
    "Plan": _plan,
    "Workload": _workload,
}
