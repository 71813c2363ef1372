"""What a join was asked to do: every argument, checked once, in one frozen value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from watersmeet.errors import ConfigError
from watersmeet.vocabulary import (
    Order,
    Predicate,
    Shed,
    Span,
    Stream,
    parse_bytes,
    parse_order,
    parse_span,
)

__all__ = ["How", "Index", "JoinConfig", "OnMemory", "Output", "checked_config", "pair_of"]

How: TypeAlias = Literal["inner", "left", "right", "full", "semi", "anti"]
Output: TypeAlias = Literal["columns", "rows"]
OnMemory: TypeAlias = Literal["shrink", "raise"]
Index: TypeAlias = Literal["auto", "scan", "hash", "inverted", "inverted-by-id"]

HOWS: Final = ("inner", "left", "right", "full", "semi", "anti")
OUTPUTS: Final = ("columns", "rows")
INDEXES: Final = ("auto", "scan", "hash", "inverted", "inverted-by-id")
MERGES: Final = ("auto", "heap", "count", "bitmap")
EXPIRIES: Final = ("active", "lazy")
ON_MEMORY: Final = ("shrink", "raise")
SMALLEST_LIMIT: Final = 1 << 18  # an empty join takes about a tenth of it
MOST_THREADS: Final = 256


@dataclass(frozen=True, slots=True)
class JoinConfig:
    """The arguments of a WindowJoin. `between` is set, or else both streams have a window."""

    streams: tuple[Stream, Stream]
    on: Predicate | None
    how: How
    output: Output
    suffix: str
    between: tuple[Span, Span] | None
    basic_window: Span | None
    order: Order
    index: tuple[Index, Index]
    merge: str
    expiry: str
    seed: int
    shed: Shed | None = None
    memory_limit: int | None = None
    on_memory: OnMemory = "shrink"
    metered: bool = False  # the budget is set anew before each micro-batch (metered_join.py)
    threads: int = 1
    share_all: bool = False  # tests: divide every change among the threads, however small

    @property
    def leaves(self) -> tuple[Predicate, ...]:
        """The simple predicates that must all hold."""
        return () if self.on is None else self.on.leaves

    def columns(self, side: int) -> tuple[str, ...]:
        """The columns of one side that the predicate names."""
        if self.on is None:
            return ()
        return self.on.left_columns if side == 0 else self.on.right_columns

    @property
    def apart_ns(self) -> tuple[int | None, int | None]:
        """The lowest and highest ts_right - ts_left of a pair; None where a window of rows bounds it."""
        high, low = (_reach(stream) for stream in self.streams) if self.between is None else (None, None)
        low = None if low is None else -low
        if self.between is not None:
            low, high = self.between[0].amount, self.between[1].amount
        older_left, older_right = (stream.freshness for stream in self.streams)
        if low is not None and older_right is not None:
            low = max(low, -older_right.amount)
        if high is not None and older_left is not None:
            high = min(high, older_left.amount)
        return low, high

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two streams."""
        return self.streams[0].name, self.streams[1].name


def checked_config(
    left: object,
    right: object,
    *,
    on: object,
    how: object,
    output: object,
    suffix: object,
    between: object,
    basic_window: object,
    order: object,
    index: object,
    merge: object,
    expiry: object,
    seed: object,
    shed: object = None,
    memory_limit: object = None,
    on_memory: object = "shrink",
    threads: object = 1,
) -> JoinConfig:
    """The arguments as a value, or ConfigError naming the first that has no meaning."""
    streams = (_stream(left, "left"), _stream(right, "right"))
    if streams[0].name == streams[1].name:
        raise ConfigError(f"two streams have the name {streams[0].name!r}; push() could not tell them apart")
    if on is not None and not isinstance(on, Predicate):
        raise ConfigError(f"on={on!r}: expected a predicate such as wm.equal('key'), or None for every pair")
    if not isinstance(suffix, str):
        raise ConfigError(f"suffix={suffix!r}: expected a string")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"seed={seed!r}: expected a whole number")
    config = JoinConfig(
        streams=streams,
        on=on,
        how=cast("How", _one_of(how, HOWS, "how")),
        output=cast("Output", _one_of(output, OUTPUTS, "output")),
        suffix=suffix,
        between=_bounds(between, streams),
        basic_window=_basic_window(basic_window),
        order=parse_order(order),
        index=_indexes(index),
        merge=_one_of(merge, MERGES, "merge"),
        expiry=_one_of(expiry, EXPIRIES, "expiry"),
        seed=seed,
        shed=_shed(shed),
        memory_limit=None if memory_limit is None else _memory_limit(memory_limit),
        on_memory=cast("OnMemory", _one_of(on_memory, ON_MEMORY, "on_memory")),
        threads=_threads(threads),
    )
    _refuse_what_is_to_come(config)
    return config


def pair_of(value: object, *, argument: str) -> tuple[Any, Any]:
    """One value for both sides, or one for each."""
    if not isinstance(value, tuple | list):
        return value, value
    if len(value) != 2:
        raise ConfigError(f"{argument}={value!r}: expected one value for both sides, or (left, right)")
    return value[0], value[1]


def _reach(stream: Stream) -> int | None:
    assert stream.window is not None  # the configuration was checked
    return None if stream.window.is_rows else stream.window.amount


def _stream(value: object, side: str) -> Stream:
    if not isinstance(value, Stream):
        raise ConfigError(f"{side}={value!r}: expected a wm.Stream")
    return value


def _one_of(value: object, allowed: Iterable[str], argument: str) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ConfigError(f"{argument}={value!r}: expected one of {', '.join(map(repr, allowed))}")
    return value


def _shed(value: object) -> Shed | None:
    if value is not None and not isinstance(value, Shed):
        raise ConfigError(f"shed={value!r}: expected wm.Shed(...), or None for the exact join")
    return value


def _indexes(value: object) -> tuple[Index, Index]:
    own, other = (_one_of(word, INDEXES, "index") for word in pair_of(value, argument="index"))
    return cast("Index", own), cast("Index", other)


def _bounds(value: object, streams: tuple[Stream, Stream]) -> tuple[Span, Span] | None:
    if value is None:
        for stream in streams:
            if stream.window is None:
                raise ConfigError(
                    f"Stream {stream.name!r}: window is missing; give it one, or the join between="
                )
        return None
    for stream in streams:
        if stream.window is not None:
            raise ConfigError(
                f"Stream {stream.name!r}: window='{stream.window}' and between={value!r}: expected one"
            )
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ConfigError(f"between={value!r}: expected (lowest, highest) of ts_right - ts_left")
    low, high = (parse_span(end, argument="between", signed=True, rows=False) for end in value)
    if low.amount > high.amount:
        raise ConfigError(f"between={value!r}: the lower bound is above the upper one")
    return low, high


def _basic_window(value: object) -> Span | None:
    if value is None:
        return None
    span = parse_span(value, argument="basic_window", rows=False)
    if span.amount == 0:
        raise ConfigError(f"basic_window={value!r}: expected a span of time above 0")
    return span


def _memory_limit(value: object) -> int:
    limit = parse_bytes(value, argument="memory_limit")
    if limit < SMALLEST_LIMIT:
        raise ConfigError(f"memory_limit={value!r}: expected at least {SMALLEST_LIMIT:,} bytes")
    return limit


def _threads(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_THREADS:
        raise ConfigError(f"threads={value!r}: expected a whole number from 1 to {MOST_THREADS}")
    return value


def _refuse_what_is_to_come(config: JoinConfig) -> None:
    if config.memory_limit is not None and config.on_memory == "shrink" and config.how != "inner":
        raise ConfigError(
            f"memory_limit={config.memory_limit} with how={config.how!r}: a window that shrinks forgets rows"
            " that may still match, so nobody could say which stay unmatched; expected on_memory='raise'"
        )
    if config.shed is not None and config.threads > 1:
        raise ConfigError(
            f"threads={config.threads} with shed=: a join that sheds decides row by row what it can still"
            " afford, so it runs on one thread; expected threads=1, or shed=None"
        )
    low, high = config.apart_ns
    if low is not None and high is not None and low > high:
        raise ConfigError("between, freshness: no pair is within between= and as fresh as the streams ask")
