"""The index of each window under index="auto": what the cost model advises, while the join runs.

A join starts with the usual index for its predicate. Every so many rows its counters tell rates, window sizes
and matches; where another structure would save more than building it costs, at two looks in a row, the window
gets that one. Windows are judged by the size they will have, not by what has come so far, and the load is
expected to last as long again as the join has run. A change is made before a push, so that a push that fails
changes nothing, and no answer depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from watersmeet.cost import (
    DirectionLoad,
    Kind,
    Structure,
    Switch,
    UnitCosts,
    choose_structure,
    kind_of,
    observed_loads,
    predicted_cost,
    worth_switching,
)
from watersmeet.join.calibration.cache import current_unit_costs
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.join.two_way.split import Split
from watersmeet.vocabulary import Metrics, Span

__all__ = ["Change", "IndexAdvisor", "met_spans"]

_LOOK_EVERY_ROWS: Final = 8_192
_RAREST_LOOK_ROWS: Final = 1 << 20
_LOOK_S: Final = 3e-4  # that a look takes
_LOOK_SHARE: Final = 0.02  # of the join's time that looks may take
_FASTEST_ROW_S: Final = 2e-8
_FEWEST_PROBES: Final = 256  # in a direction, before its counters say anything
_CHOOSABLE: Final = ("equal", "overlap", "weighted")


@dataclass(frozen=True, slots=True)
class Change:
    """A window's index was replaced: when, by stream time in seconds since the first row, and why."""

    stream: str
    index: str
    at_s: float
    reason: str


class IndexAdvisor:
    """Watches one join's counters and changes its indexes."""

    def __init__(self, config: JoinConfig, division: Split, *, unit_costs: UnitCosts | None = None) -> None:
        self.kind: Kind = kind_of(division.driver)
        self.index = list(division.index)
        self.asked = tuple(asked != "auto" for asked in config.index)
        self.changes: list[Change] = []
        self.unit_costs = current_unit_costs() if unit_costs is None else unit_costs
        self._names = config.names
        # A join that sheds has budgets counted in its index's own units; they must not change under it.
        self._active = self.kind in _CHOOSABLE and not all(self.asked) and config.shed is None
        self._spans = met_spans(config)
        self._wanted = list(division.index)
        self._rows = 0
        self._next_look = _LOOK_EVERY_ROWS
        self._before = Metrics()
        self._before_s = 0.0
        # What was last seen of lists, for windows that are scanned meanwhile and tell nothing of them.
        self._items = (1.0, 1.0)
        self._entry_shares: tuple[float, float] | None = None

    def is_due(self, rows: int) -> bool:
        """Whether to look at the counters, once so many further rows have come."""
        self._rows += rows
        return self._active and self._rows >= self._next_look

    def consider(self, core: Any, metrics: Metrics, *, elapsed_s: float) -> None:
        """Look at the counters, `elapsed_s` of stream time after the first row, and change what pays."""
        self._next_look = self._rows + _LOOK_EVERY_ROWS
        loads = self._loads(metrics, elapsed_s)
        if loads is None:
            return
        self._before, self._before_s = metrics, elapsed_s
        for window in (0, 1):
            if self.asked[window]:
                continue
            switch = self._advice(loads[window], window, horizon=elapsed_s)
            index, reason = (self.index[window], "") if switch is None else switch
            confirmed, self._wanted[window] = self._wanted[window] == index, index
            if confirmed and index != self.index[window]:
                core.reindex(window, index=index)
                self.index[window] = index
                self.changes.append(Change(self._names[window], index, elapsed_s, reason))
        if self._wanted == self.index:  # else the next look confirms it, and comes soon
            self._next_look = self._rows + self._rows_worth_a_look(loads)

    def _rows_worth_a_look(self, loads: tuple[DirectionLoad, DirectionLoad]) -> int:
        """How many rows to wait so that looking costs little of what they do; by the model, not a clock."""
        seconds, rows = 0.0, 0.0
        for window, load in enumerate(loads):
            structure = self.structure(window, load)
            if structure is not None:
                costs = self.unit_costs.of(load.kind, structure, rows=load.window_rows)
                seconds += predicted_cost(load, structure, costs)
            rows += load.window_rate
        row_s = max(_FASTEST_ROW_S, seconds / rows if rows else 0.0)
        return int(min(max(_LOOK_EVERY_ROWS, _LOOK_S / (_LOOK_SHARE * row_s)), _RAREST_LOOK_ROWS))

    def structure(self, window: int, load: DirectionLoad) -> Structure | None:
        """What the window is kept as; of an inverted index, with the merge that the load favours."""
        index, costs = self.index[window], self.unit_costs
        able = [each for each in costs.structures(load.kind) if each.partition("/")[0] == index]
        return min(
            able,
            key=lambda each: predicted_cost(load, each, costs.of(load.kind, each, rows=load.window_rows)),
            default=None,
        )

    def _loads(self, metrics: Metrics, elapsed_s: float) -> tuple[DirectionLoad, DirectionLoad] | None:
        seconds = elapsed_s - self._before_s
        probes = [
            now.probes - (self._before.directions[side].probes if self._before.directions else 0)
            for side, now in enumerate(metrics.directions)
        ]
        if seconds <= 0.0 or min(probes) < _FEWEST_PROBES:
            return None
        loads = observed_loads(
            self.kind,
            self._before,
            metrics,
            seconds=seconds,
            items=self._items,
            entry_shares=self._entry_shares,
        )
        loads = self._when_full(loads[0], 0), self._when_full(loads[1], 1)
        self._items = (loads[1].items, loads[0].items)
        first, second = (load.listed / load.window_rows if load.window_rows else 0.0 for load in loads)
        self._entry_shares = (first, second)
        return loads

    def _when_full(self, load: DirectionLoad, window: int) -> DirectionLoad:
        """The load of a window that has its full size, its rows matching as often as they do now."""
        span = self._spans[window]
        rows = float(span.rows) if span.rows is not None else load.window_rate * span.seconds
        if not 0.0 < load.window_rows < rows:
            return replace(load, window_rows=max(rows, load.window_rows))
        growth = rows / load.window_rows
        return replace(load, window_rows=rows, matches=load.matches * growth, entries=load.listed * growth)

    def _advice(self, load: DirectionLoad, window: int, *, horizon: float) -> tuple[Any, str] | None:
        current = self.structure(window, load)
        best = choose_structure(load, unit_costs=self.unit_costs)
        if current is None or best.index == self.index[window]:
            return None
        switch: Switch = worth_switching(load, current, unit_costs=self.unit_costs, horizon=horizon)
        return (best.index, switch.reason) if switch.worthwhile else None


def met_spans(config: JoinConfig) -> tuple[Span, Span]:
    """How long rows of each stream can be met."""
    if config.between is not None:
        low, high = (bound.amount for bound in config.between)
        return Span(nanoseconds=max(0, high)), Span(nanoseconds=max(0, -low))
    left, right = (stream.window for stream in config.streams)
    assert left is not None  # the configuration was checked
    assert right is not None
    return left, right
