"""What policies remember as plain dictionaries, lists and numbers, and back, for snapshots."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import numpy as np

from watersmeet.control import BacklogState, CellCounts, ContentState, DensityState, GedikState, TimeState
from watersmeet.control.recall_samples import RecallSums
from watersmeet.errors import ConfigError, SnapshotError
from watersmeet.join.shedding.policies import PolicyState
from watersmeet.vocabulary import Comparisons, Shed, Span

__all__ = ["from_plain", "plain_shed", "shed_from_plain", "to_plain"]

_KINDS: Final[dict[str, Any]] = {
    kind.__name__: kind
    for kind in (
        BacklogState,
        CellCounts,
        ContentState,
        DensityState,
        GedikState,
        PolicyState,
        RecallSums,
        TimeState,
    )
}


def to_plain(value: Any) -> Any:
    """A state as JSON can write it."""
    if type(value).__name__ in _KINDS:
        parts = {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
        return {"is": type(value).__name__, **parts}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [to_plain(part) for part in value] if isinstance(value, tuple) else value


def from_plain(plain: Any) -> Any:
    """The state that to_plain() wrote."""
    if isinstance(plain, dict):
        kind = _KINDS.get(plain.get("is", ""))
        if kind is None:
            raise SnapshotError(f"the snapshot holds a state of unknown kind {plain.get('is')!r}")
        return kind(**{name: from_plain(part) for name, part in plain.items() if name != "is"})
    return tuple(from_plain(part) for part in plain) if isinstance(plain, list) else plain


def plain_shed(shed: Shed) -> dict[str, Any]:
    """A Shed as JSON can write it; ConfigError if its types are no strings or numbers."""
    plain: dict[str, Any] = {}
    for field in fields(shed):
        value = getattr(shed, field.name)
        if isinstance(value, Span):
            value = {"span": [value.nanoseconds, value.rows]}
        elif isinstance(value, Comparisons):
            value = {"per_second": value.per_second, "costs": dict(value.costs)}
        elif field.name == "utility" and value is not None:
            value = [[_plain_type(kind), worth] for kind, worth in value.items()]
        plain[field.name] = list(value) if isinstance(value, tuple) else value
    return plain


def _plain_type(kind: Any) -> Any:
    if kind is not None and not isinstance(kind, str | int | float | bool):
        raise ConfigError(f"Shed(utility[{kind!r}]): a snapshot can hold types that are strings or numbers")
    return kind


def shed_from_plain(plain: dict[str, Any]) -> Shed:
    """The Shed that plain_shed() wrote; checked as any other."""
    values: dict[str, Any] = {}
    for name, value in plain.items():
        if isinstance(value, dict) and "span" in value:
            value = Span(*value["span"])
        elif isinstance(value, dict):
            value = Comparisons(value["per_second"], value["costs"])
        elif name == "utility" and value is not None:
            value = dict(value)
        values[name] = tuple(value) if name == "adapt" else value
    return Shed(**values)
