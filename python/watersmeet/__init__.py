"""watersmeet: windowed joins of timestamped streams, exact by default, selective when they outrun the CPU.

Public names are resolved when they are first used (PEP 562), so that the pure rooms (vocabulary, cost,
control, plan) can be imported without the compiled core.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from watersmeet import errors, testing
    from watersmeet.errors import (
        ConfigError,
        MemoryLimitError,
        OrderError,
        SchemaError,
        SnapshotError,
        WatersmeetError,
    )
    from watersmeet.join import MultiJoin, RingJoin, WindowJoin, join, why_not
    from watersmeet.vocabulary import (
        AdaptiveOrder,
        Lateness,
        Metrics,
        Predicate,
        Shed,
        Span,
        Stream,
        band,
        comparisons,
        cosine,
        distance,
        dot,
        equal,
        jaccard,
        overlap,
        per_batch,
        same_set,
        subset,
        superset,
        where,
    )

    __version__: str

__all__ = [
    "AdaptiveOrder",
    "ConfigError",
    "Lateness",
    "MemoryLimitError",
    "Metrics",
    "MultiJoin",
    "OrderError",
    "Predicate",
    "RingJoin",
    "SchemaError",
    "Shed",
    "SnapshotError",
    "Span",
    "Stream",
    "WatersmeetError",
    "WindowJoin",
    "__version__",
    "band",
    "comparisons",
    "cosine",
    "distance",
    "dot",
    "equal",
    "errors",
    "jaccard",
    "join",
    "overlap",
    "per_batch",
    "same_set",
    "subset",
    "superset",
    "testing",
    "where",
    "why_not",
]

_ROOMS: Final = frozenset({"control", "cost", "errors", "plan", "ring", "testing", "vocabulary"})
_FROM_JOIN: Final = frozenset({"MultiJoin", "RingJoin", "WindowJoin", "join", "why_not"})


def _resolve(name: str) -> Any:
    """Import the room where a public name lives, when the name is first used."""
    if name == "__version__":
        value: Any = _version()
    elif name in _ROOMS:
        value = _room(name)
    elif name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    elif name in _FROM_JOIN:
        value = getattr(importlib.import_module(f"{__name__}.join"), name)
    elif name.endswith("Error"):
        value = getattr(importlib.import_module(f"{__name__}.errors"), name)
    else:
        value = getattr(importlib.import_module(f"{__name__}.vocabulary"), name)
    if name != "join":
        globals()[name] = value
    return value


if not TYPE_CHECKING:  # type checkers read the imports above, and so see a name that does not exist
    __getattr__ = _resolve


def _room(name: str) -> ModuleType:
    """A room by its name; one that this version does not have is an attribute that is not there."""
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted(__all__)


def _version() -> str:
    """The version that was installed; pyproject.toml is the one place where it is written."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("watersmeet")
    except PackageNotFoundError:
        return "0+not.installed"


class _Root(ModuleType):
    """This module's own class: keeps `watersmeet.join` the function.

    The room of that function has the same name, and importing it makes Python bind the room to its parent's
    attribute `join`. A property outranks that binding; `from watersmeet.join import ...` finds the room.
    """

    @property
    def join(self) -> Any:
        """wm.join, the one-call join."""
        return _resolve("join")

    @join.setter
    def join(self, room: ModuleType) -> None:
        """Python's binding of the room, which is not wanted here."""


sys.modules[__name__].__class__ = _Root
