"""Option values that several commands share: pairs such as --window 10s,20s, and how they become a join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from watersmeet.cli.expression import parse_predicate
from watersmeet.errors import ConfigError
from watersmeet.vocabulary import Predicate, Span, Stream, TimeUnit, parse_bytes, parse_span

__all__ = ["HOWS", "INDEXES", "ON_MEMORY", "ORDERS", "JoinOptions", "choice", "pair"]

T = TypeVar("T")

HOWS: Final = ("inner", "left", "right", "full", "semi", "anti")
ORDERS: Final = ("sync-filter", "filter-order")
ON_MEMORY: Final = ("shrink", "raise")
INDEXES: Final = ("auto", "scan", "hash", "inverted", "inverted-by-id")


def choice(value: str, allowed: tuple[str, ...], *, option: str) -> str:
    """A word from a closed list."""
    if value not in allowed:
        raise ConfigError(f"{option} {value!r}: expected one of {', '.join(allowed)}")
    return value


def pair(text: str, *, option: str, read: Callable[[str], T]) -> tuple[T, T]:
    """One value for both sides, or two with a comma between them."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not all(parts):
        raise ConfigError(f"{option} {text!r}: expected one value, or two with a comma between them")
    return read(parts[0]), read(parts[-1])


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """The options of `join` and `explain` that say what to join, as text."""

    on: str | None
    window: str | None
    between: str | None
    time: str
    time_unit: str
    how: str
    index: str
    suffix: str
    lateness: str | None
    order: str | None = None
    threads: int = 1
    memory_limit: str | None = None
    on_memory: str = "shrink"

    def predicate(self) -> Predicate | None:
        """The predicate of --on, or None for every pair in the window."""
        return None if self.on is None else parse_predicate(self.on)

    def times(self) -> tuple[str, str]:
        """The time columns of the two sides."""
        return pair(self.time, option="--time", read=str)

    def windows(self) -> tuple[Span, Span] | None:
        """The windows of the two sides, unless --between is given instead."""
        if (self.window is None) == (self.between is None):
            raise ConfigError("expected either --window (e.g. 10s, or 10s,5000i) or --between (e.g. -2s,1s)")
        if self.window is None:
            return None
        return pair(self.window, option="--window", read=lambda part: parse_span(part, argument="--window"))

    def bounds(self) -> tuple[Span, Span] | None:
        """The bounds of --between."""
        if self.between is None:
            return None
        parts = self.between.split(",")
        if len(parts) != 2:
            raise ConfigError(f"--between {self.between!r}: expected two spans with a comma, e.g. -2s,1s")
        low, high = (parse_span(p.strip(), argument="--between", signed=True, rows=False) for p in parts)
        return low, high

    def streams(self) -> tuple[Stream, Stream]:
        """The two streams, named left and right."""
        windows, times = self.windows() or (None, None), self.times()
        left, right = (
            Stream(
                name,
                time=times[side],
                window=windows[side],
                lateness=self.lateness,
                time_unit=cast("TimeUnit", self.time_unit),
            )
            for side, name in enumerate(("left", "right"))
        )
        return left, right

    def build(self, *, output: str = "columns") -> Any:
        """The live join that these options describe."""
        from watersmeet.join import WindowJoin

        left, right = self.streams()
        indexes = pair(
            self.index, option="--index", read=lambda word: choice(word, INDEXES, option="--index")
        )
        more: dict[str, Any] = {"output": output, "index": indexes}
        more["how"] = choice(self.how, HOWS, option="--how")
        if self.order is not None:
            more["order"] = choice(self.order, ORDERS, option="--order")
        more["on_memory"] = choice(self.on_memory, ON_MEMORY, option="--on-memory")
        if self.memory_limit is not None:
            more["memory_limit"] = parse_bytes(self.memory_limit, argument="--memory-limit")
        if self.between is not None:
            more["between"] = self.bounds()
        return WindowJoin(
            left,
            right,
            on=self.predicate(),
            suffix=self.suffix,
            threads=self.threads,
            **more,
        )
