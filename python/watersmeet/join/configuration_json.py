"""A join's configuration as JSON and back, for snapshots. A user's own function has no such form."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any, Final

from watersmeet.errors import ConfigError
from watersmeet.join.config import JoinConfig, checked_config
from watersmeet.vocabulary import (
    And,
    Band,
    Cosine,
    Dot,
    Equal,
    Jaccard,
    Overlap,
    Predicate,
    SameSet,
    Span,
    Stream,
    Subset,
    Superset,
    Where,
)

__all__ = ["config_from_plain", "plain_config"]

_LEAVES: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (Band, Cosine, Dot, Equal, Jaccard, Overlap, SameSet, Subset, Superset)
}
_OPTIONS: Final = ("how", "output", "suffix", "basic_window", "order", "index", "merge", "expiry", "seed")


def plain_config(config: JoinConfig) -> dict[str, Any]:
    """The configuration as dictionaries, lists, strings and numbers."""
    plain = {name: _plain(getattr(config, name)) for name in (*_OPTIONS, "between")}
    plain["streams"] = [
        {f.name: _plain(getattr(stream, f.name)) for f in fields(stream)} for stream in config.streams
    ]
    plain["on"] = [_plain_leaf(leaf) for leaf in config.leaves]
    return plain


def config_from_plain(plain: dict[str, Any]) -> JoinConfig:
    """The configuration that plain_config() wrote; checked as any other."""
    left, right = (Stream(**{name: _value(v) for name, v in stream.items()}) for stream in plain["streams"])
    leaves = [_leaf(leaf) for leaf in plain["on"]]
    between = plain["between"]
    return checked_config(
        left,
        right,
        on=None if not leaves else leaves[0] if len(leaves) == 1 else And(tuple(leaves)),
        between=None if between is None else tuple(_value(end) for end in between),
        **{name: _value(plain[name]) for name in _OPTIONS},
    )


def _plain_leaf(leaf: Predicate) -> dict[str, Any]:
    if isinstance(leaf, Where):
        raise ConfigError(f"{leaf}: a join with a function of your own has no snapshot: code is not state")
    values = {field.name: _plain(getattr(leaf, field.name)) for field in fields(leaf)}  # type: ignore[arg-type]
    return {"predicate": type(leaf).__name__, **values}


def _leaf(plain: dict[str, Any]) -> Predicate:
    values = {name: _value(value) for name, value in plain.items() if name != "predicate"}
    leaf: Predicate = _LEAVES[plain["predicate"]](**values)
    return leaf


def _plain(value: Any) -> Any:
    if isinstance(value, Span):
        return {"span": [value.nanoseconds, value.rows]}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _value(plain: Any) -> Any:
    if isinstance(plain, dict):
        if "span" in plain:
            return Span(*plain["span"])
        return Decimal(plain["decimal"])
    return tuple(_value(part) for part in plain) if isinstance(plain, list) else plain
