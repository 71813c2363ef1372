"""Values with frozen mappings as bytes and back: pickle and copy know no MappingProxyType."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any

__all__ = ["Portable"]


class Portable:
    """A frozen dataclass that can be pickled and copied whole, mappings included; they stay frozen."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        frozen = tuple(name for name, value in values.items() if isinstance(value, MappingProxyType))
        return _restored, (type(self), values | {name: dict(values[name]) for name in frozen}, frozen)


def _restored(kind: type[Portable], values: dict[str, Any], frozen: tuple[str, ...]) -> Portable:
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, MappingProxyType(value) if name in frozen else value)
    return made
