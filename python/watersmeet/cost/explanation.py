"""Explanation: how a join is run, direction by direction, at what predicted and measured cost, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from watersmeet.cost.choice import IndexChoice, choose_structure, seconds
from watersmeet.cost.unit_costs import Structure, UnitCosts
from watersmeet.cost.work import DirectionLoad

__all__ = ["DirectionPlan", "Explanation", "explain_direction"]

_UNPRICED: Final = (
    "nothing else serves this predicate; what a pair costs depends on the function, or on the length of the"
    " vectors, so nothing is predicted"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionPlan:
    """One direction: `probing` rows look into the window of `window`, kept as `structure`.

    predicted   seconds of processor time per second of stream time for the probing stream's rows, by the cost
                model; None: rates unknown
    measured    the same by the clock; None: nothing has run yet
    costs       per structure that could serve the window, what all that touches it would cost, cheapest first
    notes       what else is known, in words
    """

    probing: str
    window: str
    structure: str
    asked: bool  # by the user, rather than chosen here
    reason: str
    load: DirectionLoad | None = None
    predicted: float | None = None
    measured: float | None = None
    costs: Mapping[Structure, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        load = self.load
        return {
            "probing": self.probing,
            "window": self.window,
            "structure": self.structure,
            "chosen_by": "user" if self.asked else "cost model" if self.costs else "predicate",
            "reason": self.reason,
            "predicted_s_per_s": self.predicted,
            "measured_s_per_s": self.measured,
            "costs_s_per_s": dict(self.costs),
            "load": None if load is None else {name: getattr(load, name) for name in load.__slots__},
            "notes": list(self.notes),
        }

    @property
    def _chosen(self) -> str:
        return "chosen by the cost model" if self.costs else "the usual one for this predicate"

    def lines(self) -> list[str]:
        """What a tree shows below the direction's name."""
        found = [f"{self.structure}, {'as asked' if self.asked else self._chosen}"]
        known = (("predicted", self.predicted), ("measured", self.measured))
        costs = [f"{word} {seconds(value)}" for word, value in known if value is not None]
        if costs:
            found.append(f"{', '.join(costs)} of processor time per second for the rows of {self.probing}")
        if len(self.costs) > 1:
            listed = ", ".join(f"{name} {seconds(cost)}" for name, cost in self.costs.items())
            found.append(f"keeping and probing that window: {listed}")
        return [*found, f"why: {self.reason}", *self.notes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The whole join: what is joined, and its directions. `str` of it is a tree."""

    title: str
    facts: tuple[str, ...] = ()
    directions: tuple[DirectionPlan, ...] = ()
    calibrated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "join": self.title,
            "facts": list(self.facts),
            "calibrated": self.calibrated,
            "directions": [each.to_dict() for each in self.directions],
        }

    def to_json(self) -> str:
        """The explanation as JSON."""
        return json.dumps(self.to_dict(), indent=1)

    def __str__(self) -> str:
        branches = [[fact] for fact in self.facts]
        branches += [[f"{each.probing} → {each.window}", *each.lines()] for each in self.directions]
        origin = "measured on this machine" if self.calibrated else "defaults; run `watersmeet calibrate`"
        branches.append([f"unit costs: {origin}"])
        lines = [self.title]
        for at, (head, *rest) in enumerate(branches):
            last = at == len(branches) - 1
            lines.append(f"{'└─' if last else '├─'} {head}")
            lines += [f"{' ' if last else '│'}     {line}" for line in rest]
        return "\n".join(lines)


def explain_direction(
    load: DirectionLoad | None,
    *,
    names: tuple[str, str],
    unit_costs: UnitCosts,
    structure: Structure | None = None,
    asked: bool = False,
    predicted: float | None = None,
    measured: float | None = None,
    notes: tuple[str, ...] = (),
) -> DirectionPlan:
    """The plan of one direction.

    names       the probing stream and the stream of the window
    structure   what the window is kept as; None: what the model would choose
    asked       by the user, whatever the model says
    """
    is_priced = load is not None and bool(unit_costs.structures(load.kind))
    choice = choose_structure(load, unit_costs=unit_costs) if load is not None and is_priced else None
    kept = structure or ("scan" if choice is None else choice.structure)
    return DirectionPlan(
        probing=names[0],
        window=names[1],
        structure=kept,
        asked=asked,
        reason=_reason(choice, kept, asked) if choice is not None or load is None else _UNPRICED,
        load=load,
        predicted=predicted,
        measured=measured,
        costs={} if choice is None else choice.costs,
        notes=notes,
    )


def _reason(choice: IndexChoice | None, kept: Structure, asked: bool) -> str:
    if choice is None:
        return "asked for" if asked else "rates are not known yet"
    if kept == choice.structure:
        return choice.reason
    if asked:
        return f"asked for; the model would take {choice.reason}"
    return f"changing it has not paid so far; the model would take {choice.reason}"
