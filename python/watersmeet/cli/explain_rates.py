"""What `watersmeet explain --rates` prints: the cost model's answer, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from watersmeet.cli.options import INDEXES, JoinOptions, choice, pair
from watersmeet.cost import (
    KINDS,
    DirectionLoad,
    Explanation,
    Structure,
    UnitCosts,
    choose_structure,
    estimate_loads,
    explain_direction,
    kind_of,
    stream_cost,
)
from watersmeet.errors import ConfigError
from watersmeet.vocabulary import Predicate

__all__ = ["Told", "explain_from_rates"]

_DRIVERS = (
    "equal",
    "overlap",
    "weighted",
    "band",
    *(kind for kind in KINDS if kind.startswith("distance/")),
)  # a conjunction is driven by the first of these it has


@dataclass(frozen=True, slots=True)
class Told:
    """What the user says of the streams, as text."""

    rates: str
    keys: str
    items: str
    selectivity: float | None
    vector_bytes: float | None = None


def explain_from_rates(
    options: JoinOptions, told: Told, *, unit_costs: UnitCosts | None = None
) -> Explanation:
    """The plan of a join of which only predicate, windows, rates and keys are known."""
    predicate, costs = options.predicate(), UnitCosts() if unit_costs is None else unit_costs
    rates = pair(told.rates, option="--rates", read=_positive("--rates"))
    rows = _window_rows(options, rates)
    kind, items = kind_of(_driver(predicate)), pair(told.items, option="--items", read=_positive("--items"))
    facts = []
    if kind.startswith("distance/"):
        if told.vector_bytes is None:
            kind = "checked"
            facts.append("with --vector-bytes its cost is known")
        else:
            items = (told.vector_bytes / 8.0, told.vector_bytes / 8.0)
    elif kind == "where":
        facts.append("predicted without the function's own time")
    loads = estimate_loads(
        kind,
        rates=rates,
        window_rows=rows,
        keys=pair(told.keys, option="--keys", read=_positive("--keys")),
        items=items,
        selectivity=told.selectivity,
    )
    is_priced = bool(costs.structures(loads[0].kind))
    asked = pair(options.index, option="--index", read=lambda word: choice(word, INDEXES, option="--index"))
    kept = [
        _structure(word) or (choose_structure(load, unit_costs=costs).structure if is_priced else "scan")
        for word, load in zip(asked, loads, strict=True)
    ]
    names = ("left", "right")
    directions = tuple(
        explain_direction(
            loads[1 - probing],
            names=(names[probing], names[1 - probing]),
            unit_costs=costs,
            structure=kept[1 - probing],
            asked=asked[1 - probing] != "auto",
            predicted=_predicted(probing, loads, (kept[0], kept[1]), costs),
        )
        for probing in (0, 1)
    )
    facts = [
        f"windows of {rows[0]:,.0f} and {rows[1]:,.0f} rows at {rates[0]:g} and {rates[1]:g} rows/s",
        *facts,
    ]
    title = f"left ⋈ right on {'every pair' if predicate is None else predicate}"
    return Explanation(title=title, facts=tuple(facts), directions=directions, calibrated=costs.measured)


def _predicted(
    stream: int,
    loads: tuple[DirectionLoad, DirectionLoad],
    structures: tuple[Structure, Structure],
    costs: UnitCosts,
) -> float | None:
    known = all((load.kind, kept) in costs.curves for load, kept in zip(loads, structures, strict=True))
    return stream_cost(stream, loads, structures=structures, unit_costs=costs) if known else None


def _driver(predicate: Predicate | None) -> Predicate | None:
    leaves = () if predicate is None else predicate.leaves
    ranked = [leaf for kind in _DRIVERS for leaf in leaves if kind_of(leaf) == kind]
    return (*ranked, *leaves, None)[0]


def _structure(index: str) -> Structure | None:
    structures: dict[str, Structure] = {
        "scan": "scan",
        "hash": "hash",
        "inverted": "inverted/count",
        "inverted-by-id": "inverted-by-id",
    }
    return structures.get(index)


def _window_rows(options: JoinOptions, rates: tuple[float, float]) -> tuple[float, float]:
    windows, bounds = options.windows(), options.bounds()
    if windows is None:
        low, high = bounds or (None, None)
        if low is None or high is None:
            raise ConfigError("expected --window or --between")
        return rates[0] * max(0.0, high.seconds), rates[1] * max(0.0, -low.seconds)
    first, second = (
        rate * span.seconds if span.is_time else float(span.amount)
        for rate, span in zip(rates, windows, strict=True)
    )
    return first, second


def _positive(option: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 < number < float("inf"):
            raise ConfigError(f"{option} {text!r}: expected a number above 0")
        return number

    return read
