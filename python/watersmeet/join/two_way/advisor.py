"""The index of each window under index="auto": what the cost model advises, while the join runs.

A join starts with the usual index for its predicate. As soon as its counters say something about rates,
window sizes and matches, each window gets the structure that is cheapest by the model. They are looked at
again every so many rows; and at once if the rows that come would have been cheaper under another index by
more than looking costs (load_watch.py), or if far more is compared than foreseen, since a scan knows no bound
but the window. When a look may change an index is said in look_times.py: another is taken where it saves more
than building it costs, if the load lasts as long again as it has. Windows are judged as they will be when
they are full. A change is made before a push, so that a push that fails changes nothing, and no answer
depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from watersmeet.cost import (
    DirectionLoad,
    Kind,
    Price,
    Structure,
    UnitCosts,
    cheapest,
    kind_of,
    observed_loads,
    structure_costs,
    structure_prices,
    worth_switching,
)
from watersmeet.join.calibration.cache import current_unit_costs
from watersmeet.join.two_way.config import Index, JoinConfig
from watersmeet.join.two_way.load_watch import LoadWatch, Prices
from watersmeet.join.two_way.look_times import LOOK_EVERY_ROWS, LookTimes
from watersmeet.join.two_way.split import Split
from watersmeet.vocabulary import Metrics, Span

__all__ = ["Change", "IndexAdvisor", "met_spans"]

# Rows before a first look, which cost as much as it does; and the least and the most between two looks.
_FIRST_LOOK_ROWS: Final = {"equal": 8_192, "overlap": 512, "weighted": 512}
_RAREST_LOOK_ROWS: Final = 1 << 20
_LOOK_S: Final = 3e-4  # that a look takes, in caches that the join has filled
_REGRET_S: Final = 3 * _LOOK_S  # that makes up for the looks at a changed load
_LOOK_SHARE: Final = 0.01  # of the join's time that looks may take
_FASTEST_ROW_S: Final = 1e-8
_SURPRISE: Final = 4.0  # times the comparisons foreseen until the next look, beyond which it comes at once
_FEWEST_SURPRISING: Final = 100_000
_FEWEST_PROBES: Final = 32  # in a direction, before its counters say anything
_CHOOSABLE: Final = ("equal", "overlap", "weighted")


@dataclass(frozen=True, slots=True)
class Change:
    """A window's index was replaced: when, by stream time in seconds since the first row, and why."""

    stream: str
    index: Index
    at_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Look:
    """What one window costs per second, the prices of each structure, cheapest first, and what would pay."""

    cost: float
    prices: Mapping[Structure, Price]
    change: Change | None = None
    unpaid_s: float = 0.0  # building a better index, which is more than it would save so far


class IndexAdvisor:
    """Watches one join's counters and changes its indexes."""

    def __init__(self, config: JoinConfig, division: Split, *, unit_costs: UnitCosts | None = None) -> None:
        # Where only functions decide, every pair is put to them.
        self.kind: Kind = kind_of((*division.terms, *division.functions, None)[0])
        self.index = list(division.index)
        self.asked = tuple(asked != "auto" for asked in config.index)
        self.changes: list[Change] = []
        self.unit_costs = current_unit_costs() if unit_costs is None else unit_costs
        self._names = config.names
        # A join that sheds has budgets counted in its index's own units; they must not change under it.
        self._active = self.kind in _CHOOSABLE and not all(self.asked) and config.shed is None
        self._spans = met_spans(config)
        self._watch = LoadWatch()
        self._times = LookTimes(_FIRST_LOOK_ROWS.get(self.kind, 0))
        self._most_compared: float | None = None  # rows, in all; None where nothing is scanned
        self._before = Metrics()
        self._before_s = (0.0, 0.0)
        # What was last seen of lists, for windows that are scanned meanwhile and tell nothing of them.
        self._items = (1.0, 1.0)
        self._entry_shares: tuple[float, float] | None = None

    def is_due(self, stream: int, rows: int, core: Any) -> bool:
        """Whether to look at the counters, once so many further rows of a stream have come."""
        self._times.rows += rows
        if not self._active:
            return False
        most = self._most_compared
        is_far = most is not None and core.comparisons > most
        if (self._watch.came(stream, rows) and self._watch.check(core.results)) or is_far:
            self._times.betrayed()
        return self._times.is_due

    def postpone(self) -> None:
        """No look can be made now, though one is due."""
        self._times.said_nothing()

    def consider(self, core: Any, metrics: Metrics, *, elapsed_s: tuple[float, float]) -> None:
        """Look at the counters and change what pays; `elapsed_s`: each stream's time since the first row."""
        loads = self._loads(metrics, elapsed_s)
        if loads is None:
            self._times.said_nothing()
            return
        now_s = max(elapsed_s)
        looks = [self._look(window, load, now_s) for window, load in enumerate(loads)]
        may_change = self._times.may_change
        for window, look in enumerate(looks):
            if may_change and look is not None and look.change is not None:
                core.reindex(window, index=look.change.index)
                self.index[window] = look.change.index
                self.changes.append(look.change)
        rate = sum(load.window_rate for load in loads)
        predicted_s = sum(look.cost for look in looks if look is not None)
        rows = self._times.looked(
            wants_change=not may_change
            and any(look is not None and look.change is not None for look in looks),
            rows=_rows_worth_a_look(predicted_s / rate if rate else 0.0),
            before_s=max(self._before_s),
        )
        self._before, self._before_s = metrics, elapsed_s
        self._most_compared = self._bound_on_comparisons(metrics, loads, rows / rate if rate else 0.0)
        self._watch.start(
            [None if look is None else self._prices(window, look) for window, look in enumerate(looks)],
            enough_s=_REGRET_S + sum(look.unpaid_s for look in looks if look is not None),
            results=metrics.results,
            results_per_row=sum(load.probing_rate * load.matches for load in loads) / rate if rate else 0.0,
        )

    def _look(self, window: int, load: DirectionLoad, now_s: float) -> _Look | None:
        """What a window under this load costs, and the change that would pay; None if that is not known."""
        prices = structure_prices(load, self.unit_costs)
        costs = {name: load.cost_at(price) for name, price in prices.items()}
        prices = {name: prices[name] for name in sorted(costs, key=costs.__getitem__)}
        current = self._current(window, costs)
        if current is None:
            return None
        best = cast("Index", cheapest(costs).partition("/")[0])
        if self.asked[window] or best == self.index[window]:
            return _Look(costs[current], prices)
        switch = worth_switching(
            load, current, unit_costs=self.unit_costs, horizon=self._times.load_s(now_s), costs=costs
        )
        if not switch.worthwhile:
            return _Look(costs[current], prices, unpaid_s=switch.rebuild)
        return _Look(costs[current], prices, Change(self._names[window], best, now_s, switch.reason))

    def _prices(self, window: int, look: _Look) -> Prices | None:
        """Prices of the index that a window has now, and of the others; None if it is to keep it."""
        if self.asked[window]:
            return None
        by_index: dict[str, Price] = {}
        for name, price in look.prices.items():
            by_index.setdefault(name.partition("/")[0], price)
        return by_index.pop(self.index[window]), tuple(by_index.values())

    def _bound_on_comparisons(
        self, metrics: Metrics, loads: tuple[DirectionLoad, DirectionLoad], seconds: float
    ) -> float | None:
        """Comparisons since the join began that would be a surprise within so many seconds from now."""
        if "scan" not in self.index:
            return None
        rates = [  # what a look-up finds is compared as well
            load.probing_rate * (load.met if index == "scan" else load.matches)
            for load, index in zip(loads, self.index, strict=True)
        ]
        so_far = sum(direction.comparisons for direction in metrics.directions)
        return so_far + _FEWEST_SURPRISING + _SURPRISE * seconds * sum(rates)

    def structure(self, window: int, load: DirectionLoad) -> Structure | None:
        """What the window is kept as; of an inverted index, with the merge that the load favours."""
        index = self.index[window]
        if index == "inverted-by-id":  # never advised, so not among those
            return index if (load.kind, index) in self.unit_costs.curves else None
        return self._current(window, structure_costs(load, self.unit_costs))

    def _current(self, window: int, costs: dict[Structure, float]) -> Structure | None:
        able = [each for each in costs if each.partition("/")[0] == self.index[window]]
        return min(able, key=costs.__getitem__, default=None)

    def _loads(
        self, metrics: Metrics, elapsed_s: tuple[float, float]
    ) -> tuple[DirectionLoad, DirectionLoad] | None:
        seconds = (elapsed_s[0] - self._before_s[0], elapsed_s[1] - self._before_s[1])
        probes = [
            now.probes - (self._before.directions[side].probes if self._before.directions else 0)
            for side, now in enumerate(metrics.directions)
        ]
        if min(seconds) <= 0.0 or min(probes) < _FEWEST_PROBES:
            return None
        loads = observed_loads(
            self.kind,
            self._before,
            metrics,
            seconds=seconds,
            items=self._items,
            entry_shares=self._entry_shares,
        )
        if any(now.lost for now in metrics.directions):
            first, second = loads  # memory does not let the windows grow
        else:
            first, second = (self._when_full(loads, window, max(elapsed_s)) for window in (0, 1))
        self._items = (second.items, first.items)
        if self.kind != "equal":  # of keys, what is read is what matches
            self._entry_shares = (_per_met_row(first.listed, first), _per_met_row(second.listed, second))
        return first, second

    def _when_full(
        self, loads: tuple[DirectionLoad, DirectionLoad], window: int, now_s: float
    ) -> DirectionLoad:
        """The load of a window that has its full size, met and matching as it was."""
        load, span = loads[window], self._spans[window]
        rows = float(span.rows) if span.rows is not None else load.window_rate * span.seconds
        span_s = rows / load.window_rate if load.window_rate else 0.0
        begin_s = max(self._before_s)
        if not load.met:
            return _first_met(load, loads[1 - window], rows, span_s, now_s - begin_s)
        growth = 1.0 / _mean_fill(begin_s, now_s, span_s)
        return replace(
            load,
            window_rows=max(rows, load.window_rows),
            met_rows=load.met * growth,
            matches=load.matches * growth,
            entries=load.listed * growth,
        )


def _first_met(
    load: DirectionLoad, other: DirectionLoad, rows: float, span_s: float, seconds: float
) -> DirectionLoad:
    """The load of a window of which no row was met: those who probe it came before the first of them.

    If batches of so many seconds go on taking turns, a probe meets what its window reaches of the batch
    before; the rows that it meets match as often as the other window's, and are listed as often.
    """
    reach_s = span_s**2 / (2.0 * seconds) if span_s < seconds else span_s - seconds / 2.0
    met = load.window_rate * reach_s
    matches, entries = (met * _per_met_row(each, other) for each in (other.matches, other.listed))
    return replace(
        load, window_rows=max(rows, load.window_rows), met_rows=met, matches=matches, entries=entries
    )


def _per_met_row(amount: float, load: DirectionLoad) -> float:
    return amount / load.met if load.met else 0.0


def _mean_fill(begin_s: float, end_s: float, span_s: float) -> float:
    """How full a window was on average between two times since the first row, if rows came evenly."""

    def filled_s(at_s: float) -> float:
        return at_s**2 / (2.0 * span_s) if at_s < span_s else at_s - span_s / 2.0

    return (filled_s(end_s) - filled_s(begin_s)) / (end_s - begin_s)


def _rows_worth_a_look(row_s: float) -> int:
    """How many rows to wait so that looking costs little of what they do; by the model, not a clock."""
    rows = _LOOK_S / (_LOOK_SHARE * max(_FASTEST_ROW_S, row_s))
    return int(min(max(LOOK_EVERY_ROWS, rows), _RAREST_LOOK_ROWS))


def met_spans(config: JoinConfig) -> tuple[Span, Span]:
    """How long rows of each stream can be met."""
    if config.between is not None:
        low, high = (bound.amount for bound in config.between)
        return Span(nanoseconds=max(0, high)), Span(nanoseconds=max(0, -low))
    left, right = (stream.window for stream in config.streams)
    assert left is not None  # the configuration was checked
    assert right is not None
    return left, right
