"""A join's configuration as JSON and back, for snapshots. A user's own function has no such form."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any, Final

from watersmeet.errors import ConfigError
from watersmeet.join.shedding.state import plain_shed, shed_from_plain
from watersmeet.join.two_way.config import JoinConfig, checked_config
from watersmeet.vocabulary import (
    AdaptiveOrder,
    And,
    Band,
    Compiled,
    Cosine,
    Distance,
    Dot,
    Equal,
    Jaccard,
    Lateness,
    Overlap,
    Predicate,
    SameSet,
    Span,
    Stream,
    Subset,
    Superset,
    Where,
)

__all__ = [
    "config_from_plain",
    "leaf_from_plain",
    "plain_config",
    "plain_leaf",
    "plain_stream",
    "plain_value",
    "stream_from_plain",
    "value_from_plain",
]

_LEAVES: Final[dict[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (Band, Cosine, Distance, Dot, Equal, Jaccard, Overlap, SameSet, Subset, Superset)
}
_VALUES: Final[dict[str, type[Any]]] = {kind.__name__: kind for kind in (AdaptiveOrder, Lateness)}
_OPTIONS: Final = (
    "how",
    "output",
    "suffix",
    "basic_window",
    "order",
    "index",
    "merge",
    "expiry",
    "seed",
    "memory_limit",
    "on_memory",
)


def plain_config(config: JoinConfig) -> dict[str, Any]:
    """The configuration as dictionaries, lists, strings and numbers."""
    plain = {name: plain_value(getattr(config, name)) for name in (*_OPTIONS, "between", "threads")}
    plain["streams"] = [plain_stream(stream) for stream in config.streams]
    plain["shed"] = None if config.shed is None else plain_shed(config.shed)
    plain["on"] = [plain_leaf(leaf) for leaf in config.leaves]
    return plain


def config_from_plain(plain: dict[str, Any]) -> JoinConfig:
    """The configuration that plain_config() wrote; checked as any other."""
    left, right = (stream_from_plain(stream) for stream in plain["streams"])
    leaves = [leaf_from_plain(leaf) for leaf in plain["on"]]
    between = plain["between"]
    return checked_config(
        left,
        right,
        on=None if not leaves else leaves[0] if len(leaves) == 1 else And(tuple(leaves)),
        shed=None if plain["shed"] is None else shed_from_plain(plain["shed"]),
        between=None if between is None else tuple(value_from_plain(end) for end in between),
        threads=plain.get("threads", 1),
        **{name: value_from_plain(plain[name]) for name in _OPTIONS},
    )


def plain_stream(stream: Stream) -> dict[str, Any]:
    """A stream as plain values, but for its schema: a snapshot holds the columns that a join has."""
    return {f.name: plain_value(getattr(stream, f.name)) for f in fields(stream) if f.name != "schema"}


def stream_from_plain(plain: dict[str, Any]) -> Stream:
    """The stream that plain_stream() wrote."""
    return Stream(**{name: value_from_plain(value) for name, value in plain.items()})


def plain_leaf(leaf: Predicate) -> dict[str, Any]:
    """A simple predicate as plain values; ConfigError for a user's function."""
    if isinstance(leaf, Compiled | Where):
        raise ConfigError(f"{leaf}: a join with a function of your own has no snapshot: code is not state")
    values = {f.name: plain_value(getattr(leaf, f.name)) for f in fields(leaf)}  # type: ignore[arg-type]
    return {"predicate": type(leaf).__name__, **values}


def leaf_from_plain(plain: dict[str, Any]) -> Predicate:
    """The predicate that plain_leaf() wrote."""
    values = {name: value_from_plain(value) for name, value in plain.items() if name != "predicate"}
    leaf: Predicate = _LEAVES[plain["predicate"]](**values)
    return leaf


def plain_value(value: Any) -> Any:
    """One argument as plain values."""
    if isinstance(value, Span):
        return {"span": [value.nanoseconds, value.rows]}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, AdaptiveOrder | Lateness):
        parts = {f.name: plain_value(getattr(value, f.name)) for f in fields(value)}
        return {"value": type(value).__name__, "parts": parts}
    return [plain_value(part) for part in value] if isinstance(value, tuple) else value


def value_from_plain(plain: Any) -> Any:
    """The argument that plain_value() wrote."""
    if isinstance(plain, dict):
        if "span" in plain:
            return Span(*plain["span"])
        if "value" in plain:
            parts = {name: value_from_plain(part) for name, part in plain["parts"].items()}
            return _VALUES[plain["value"]](**parts)
        return Decimal(plain["decimal"])
    return tuple(value_from_plain(part) for part in plain) if isinstance(plain, list) else plain
