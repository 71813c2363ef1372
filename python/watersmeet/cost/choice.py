"""Which structure each window should be kept as, and whether changing it pays.

Paper: [Kang] 4.1. The directions do not depend on each other, so each window takes its own cheapest
structure; that is where the asymmetric joins come from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from watersmeet.cost import _check
from watersmeet.cost.unit_costs import Structure, UnitCosts
from watersmeet.cost.work import DirectionLoad, predicted_cost, probe_work, rebuild_cost, structure_costs

__all__ = ["IndexChoice", "Switch", "cheapest", "choose_index", "choose_structure", "worth_switching"]


_DOUBT: Final = 0.1  # by which a scan must be cheaper than the best index


@dataclass(frozen=True, slots=True)
class IndexChoice:
    """The structure advised for one window, what it costs, what the others would cost, and why."""

    structure: Structure
    cost: float  # seconds of processor time per second
    costs: Mapping[Structure, float]  # of every structure that was weighed, cheapest first
    reason: str

    @property
    def index(self) -> str:
        """The word for WindowJoin(index=...)."""
        return self.structure.partition("/")[0]

    @property
    def merge(self) -> str | None:
        """How an inverted index should merge its lists."""
        return self.structure.partition("/")[2] or None


@dataclass(frozen=True, slots=True)
class Switch:
    """Whether to rebuild a window's structure: what it saves over the horizon, what it costs, and why."""

    worthwhile: bool
    saving: float  # seconds of processor time over the horizon
    rebuild: float  # seconds of processor time, once
    reason: str


def choose_index(
    loads: tuple[DirectionLoad, DirectionLoad], *, unit_costs: UnitCosts | None = None
) -> tuple[IndexChoice, IndexChoice]:
    """The cheapest structure for each window; `loads[n]` is what the window of stream n has to bear."""
    costs = unit_costs or UnitCosts()
    first, second = (choose_structure(load, unit_costs=costs) for load in loads)
    return first, second


def choose_structure(load: DirectionLoad, *, unit_costs: UnitCosts) -> IndexChoice:
    """The cheapest structure for one window; a scan only where it is cheaper by a clear margin.

    A scan's cost grows with all that was not foreseen, longer windows and more matches, an index's hardly.
    """
    costs = structure_costs(load, unit_costs)
    best = cheapest(costs)
    ranked = MappingProxyType(dict(sorted(costs.items(), key=lambda each: each[1])))
    return IndexChoice(best, ranked[best], ranked, _reason(load, ranked, best))


def cheapest(costs: Mapping[Structure, float]) -> Structure:
    """The structure to take, by what each costs: the same rule, without the words."""
    best = min(costs, key=costs.__getitem__)
    if best == "scan" and len(costs) > 1:
        other = min((each for each in costs if each != "scan"), key=costs.__getitem__)
        if costs[best] > (1.0 - _DOUBT) * costs[other]:
            return other
    return best


def worth_switching(
    load: DirectionLoad,
    current: Structure,
    *,
    unit_costs: UnitCosts,
    horizon: float = 60.0,
    hysteresis: float = 0.1,
    costs: Mapping[Structure, float] | None = None,
) -> Switch:
    """Whether to leave `current` for the cheapest structure.

    horizon      seconds for which the load is expected to last
    hysteresis   a structure must be cheaper by this share before it is considered, so that noise around a
                 crossover does not make the window change back and forth
    costs        what structure_costs() says of the load, where it was asked already
    """
    horizon = _check.positive(horizon, argument="horizon")
    hysteresis = _check.at_least(hysteresis, 0.0, argument="hysteresis")
    costs = structure_costs(load, unit_costs) if costs is None else costs
    best = cheapest(costs)
    if best == current:
        return Switch(False, 0.0, 0.0, f"{current} is the cheapest already")
    now = costs[current] if current in costs else _cost_of(load, current, unit_costs)
    rebuild = rebuild_cost(load, unit_costs.of(load.kind, best, rows=load.window_rows))
    saving = (now - costs[best]) * horizon
    if costs[best] > now * (1.0 - hysteresis):
        reason = f"{best} would save less than {hysteresis:.0%} of {current}"
        return Switch(False, saving, rebuild, reason)
    verb = "saves more" if saving > rebuild else "saves less"
    reason = f"{best} {verb} in {horizon:g} s ({seconds(saving)}) than building it costs ({seconds(rebuild)})"
    return Switch(saving > rebuild, saving, rebuild, reason)


def _cost_of(load: DirectionLoad, structure: Structure, unit_costs: UnitCosts) -> float:
    return predicted_cost(load, structure, unit_costs.of(load.kind, structure, rows=load.window_rows))


def seconds(value: float) -> str:
    """A duration in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _reason(load: DirectionLoad, ranked: Mapping[Structure, float], best: Structure) -> str:
    others = [each for each in ranked if each != best]
    touched = _touched(load, best)
    if not others:
        return f"{best}: nothing else serves this predicate; {touched}"
    against = f"{seconds(ranked[best])} of processor time per second against {seconds(ranked[others[0]])}"
    if ranked[others[0]] < ranked[best]:
        return f"{best}: {against} for {others[0]}, which is not enough less to be sure of; {touched}"
    more = _ratio(ranked[others[0]], ranked[best])
    return f"{best}: {against} for {others[0]}{more}; {touched}; {_upkeep(load, best)}"


def _touched(load: DirectionLoad, structure: Structure) -> str:
    work, rows = probe_work(load, structure), f"{load.met:,.0f} rows"
    if work.row and load.met < load.window_rows:
        return f"a probe scans {_count(load.met)} of {load.window_rows:,.0f} rows"
    if work.row:
        return f"a probe scans all {rows}"
    if load.kind == "every":
        return f"a probe meets all {rows}"
    read = f"{load.items:.3g} look-up{'' if load.items == 1.0 else 's'}"
    if structure == "inverted/bitmap" and not work.step:
        return f"a probe makes {read} and reads {work.word:,.0f} bitmap words over {rows}"
    return f"a probe makes {read} and reads {_count(load.listed)} entries, where a scan reads {rows}"


def _upkeep(load: DirectionLoad, structure: Structure) -> str:
    if not load.window_rate:
        return "its rows do not change"
    probes = load.probing_rate / load.window_rate
    if structure == "scan" and probes < 1.0:
        return f"{_count(1.0 / probes)} rows come and go between two probes" if probes else "nobody probes it"
    return f"{_count(probes)} probes for each row that comes and goes"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _ratio(worse: float, best: float) -> str:
    if best <= 0.0 or not math.isfinite(worse / best):
        return ""
    return f" ({worse / best:.3g} x)"
