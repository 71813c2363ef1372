"""AdaptiveOrder at work: measures load, asks the controller, and tells the core how to take its rows."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Final

from watersmeet.control.ordering import AdaptiveRule, AdaptiveState, OrderStatistics, adapt_order
from watersmeet.errors import ConfigError
from watersmeet.vocabulary import AdaptiveOrder, Span, Stream, parse_bytes

__all__ = ["OrderSwitch", "held_limit", "windows_in_seconds"]

_SHORTEST_S: Final = 1e-9  # a decision forced by memory may come at once after the last one


class OrderSwitch:
    """The way of ordering in force, and what was seen since it was last thought over."""

    def __init__(
        self, order: AdaptiveOrder, *, streams: int, windows_s: tuple[float, float], memory_limit: int | None
    ) -> None:
        self._order = order
        self._period_ns = order.period.amount
        self._limit = memory_limit
        self.rule = AdaptiveRule(windows_s, memory_limit=memory_limit)
        if order.alpha is not None and order.alpha_down is not None:
            self.rule = replace(self.rule, alpha=order.alpha, hysteresis=1.0 - order.alpha_down / order.alpha)
        self.state = AdaptiveState()
        self._since_ns: int | None = None
        self._rows = (0,) * streams
        self._due = 0
        self._busy_s = 0.0
        self._drains_to = 0  # the newest time of what Filter-Order may have found

    @property
    def is_synchronised(self) -> bool:
        """Whether rows are taken in order across streams: Sync-Filter, and on the way back to it."""
        return self.state.mode != "filter-order"

    def worked(self, seconds: float) -> None:
        """The core was busy for so long."""
        self._busy_s += seconds

    def is_time(self, now_ns: int, held_bytes: int) -> bool:
        """Whether to think it over now: a period has passed, or memory is short."""
        if self._since_ns is None:
            self._since_ns = now_ns
        short = self._limit is not None and held_bytes > self._limit and not self.is_synchronised
        return short or now_ns - self._since_ns >= self._period_ns

    def decide(
        self,
        now_ns: int,
        *,
        rows: tuple[int, ...],
        due: int,
        held: int,
        held_bytes: int,
        newest: int,
        complete_to: int,
    ) -> tuple[str, str] | None:
        """Think it over, with the rows and due pairs so far, the newest time, and that up to which all
        streams are complete; returns what changed and why, if it did.
        """
        before = self.state.mode
        if before == "draining" and complete_to > self._drains_to:
            held = 0  # what is held now was found in turn
        elapsed_s = max((now_ns - (self._since_ns or 0)) / 1e9, _SHORTEST_S)
        pairs = float(max(0, due - self._due))  # a restored join may count anew
        cost = self._order.comparison_s
        statistics = OrderStatistics(
            elapsed_s,
            tuple(max(0, now - then) for now, then in zip(rows, self._rows, strict=True)),
            comparisons=pairs,
            busy_s=self._busy_s if cost is None else cost * pairs,
            held=held,
            held_bytes=held_bytes,
        )
        self.state, mode = adapt_order(self.state, statistics, self.rule)
        self._since_ns, self._rows, self._due, self._busy_s = now_ns, rows, due, 0.0
        if mode == "draining" and before == "filter-order":
            self._drains_to = newest
        return None if mode == before else (f"order: {before} to {mode}", self.state.reason)

    def plain(self) -> dict[str, Any]:
        """The switch as numbers and strings."""
        seen = {"since": self._since_ns, "rows": self._rows, "due": self._due, "busy": self._busy_s}
        seen["drains"] = self._drains_to
        return {"state": asdict(self.state), "seen": seen}

    def resume(self, plain: dict[str, Any]) -> None:
        """Go on from what plain() gave."""
        state, seen = dict(plain["state"]), plain["seen"]
        state["rows"] = tuple(state["rows"])
        self.state = AdaptiveState(**state)
        self._since_ns, self._due, self._busy_s = seen["since"], seen["due"], seen["busy"]
        self._rows, self._drains_to = tuple(seen["rows"]), seen["drains"]


def windows_in_seconds(streams: tuple[Stream, ...], between: tuple[Span, Span] | None) -> tuple[float, float]:
    """How long rows of two streams can be met; 0 for windows of rows, which are always taken in order."""
    if between is not None:
        half = (between[1].amount - between[0].amount) / 2e9
        return half, half
    spans = [0.0 if s.window is None or s.window.is_rows else s.window.amount / 1e9 for s in streams]
    return (spans[0], spans[1]) if len(spans) == 2 and all(spans) else (0.0, 0.0)


def held_limit(value: object, order: object) -> int | None:
    """The memory_limit= of a join of several streams: what held results may take."""
    if value is None:
        return None
    if not isinstance(order, AdaptiveOrder):
        raise ConfigError(
            f"memory_limit={value!r}: of a join of several streams it bounds the results wm.AdaptiveOrder"
            f" holds back, not the windows; expected None with order={order!r}"
        )
    return parse_bytes(value, argument="memory_limit")
