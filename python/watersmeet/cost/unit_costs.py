"""Unit costs: nanoseconds per elementary operation of each structure, by kind of predicate and window size.

[Kang] weighs rows touched by two constants, C_n and C_h. A machine with caches and vector units needs more of
them: each structure has a cost per probe, look-up, row scanned, entry read, pair found, row inserted and row
expired, and these change with the size of the window, since a large one lies further from the processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from watersmeet.cost import _check
from watersmeet.errors import ConfigError

__all__ = [
    "BASELINES",
    "KINDS",
    "STRUCTURES",
    "CostCurve",
    "Kind",
    "OperationCosts",
    "Structure",
    "UnitCosts",
]

Kind: TypeAlias = Literal[
    "equal",
    "band",
    "overlap",
    "weighted",
    "distance/mean-abs",
    "distance/l2",
    "distance/cosine",
    "distance/hamming",
    "where",
    "every",
    "checked",
]
Structure: TypeAlias = Literal[
    "scan", "hash", "inverted/heap", "inverted/count", "inverted/bitmap", "inverted-by-id"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_INVERTED: Final[tuple[Structure, ...]] = ("scan", "inverted/heap", "inverted/count", "inverted/bitmap")
# What a window may be kept as, by kind of predicate. A pair put to wm.where() is priced without the function,
# one put to a compiled function not at all.
STRUCTURES: Final[Mapping[Kind, tuple[Structure, ...]]] = MappingProxyType(
    {
        "equal": ("scan", "hash"),
        "band": ("scan",),
        "overlap": _INVERTED,
        "weighted": _INVERTED,
        "distance/mean-abs": ("scan",),
        "distance/l2": ("scan",),
        "distance/cosine": ("scan",),
        "distance/hamming": ("scan",),
        "where": ("scan",),
        "every": ("scan",),
        "checked": (),
    }
)
# Structures that are measured, to be compared with, and never advised: [Gedik]'s lists by identifier.
BASELINES: Final[Mapping[Kind, tuple[Structure, ...]]] = MappingProxyType(
    {"overlap": ("inverted-by-id",), "weighted": ("inverted-by-id",)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationCosts:
    """Nanoseconds of each operation of one structure; an operation that it does not have costs nothing."""

    probe: float = 0.0  # one row that looks into the window, whatever it finds
    look_up: float = 0.0  # one key or item looked up
    row: float = 0.0  # one row of the window scanned
    block: float = 0.0  # one block of the scan that holds a match
    step: float = 0.0  # one entry of a chain or posting list read; in a heap, per level
    word: float = 0.0  # one word of a bitmap or counter row, or of a vector
    match: float = 0.0  # one pair found
    insert: float = 0.0  # one row taken in, beyond what a scanned window pays
    expire: float = 0.0  # one row dropped, the same

    def __post_init__(self) -> None:
        if all(0.0 <= value < math.inf for value in operations_of(self)):
            return
        for name in OPERATIONS:
            _check.at_least(getattr(self, name), 0.0, argument=f"OperationCosts({name})")


OPERATIONS: Final[tuple[str, ...]] = tuple(each.name for each in fields(OperationCosts))
# The values of an OperationCosts, or of a Work, which has the same names: a join looks at them while it runs.
operations_of: Final[Callable[[Any], tuple[float, ...]]] = attrgetter(*OPERATIONS)


@dataclass(frozen=True, slots=True)
class CostCurve:
    """Operation costs at some window sizes, in rows; linear in the logarithm of the size between two.

    A cost per row or word of the window was fitted over the stretch that ends at its size: it is the slope of
    that stretch, and holds in all of it.
    """

    points: tuple[tuple[float, OperationCosts], ...]

    def __post_init__(self) -> None:
        sizes = [size for size, _ in self.points]
        if not sizes or any(size <= 0 for size in sizes) or sizes != sorted(set(sizes)):
            raise ConfigError(f"CostCurve sizes {sizes!r}: expected ascending numbers of rows above 0")

    @classmethod
    def flat(cls, costs: OperationCosts) -> CostCurve:
        """The same costs at every size."""
        return cls(((1.0, costs),))

    def at(self, rows: float) -> OperationCosts:
        """The costs in a window of so many rows; those of the nearest size beyond either end."""
        return OperationCosts(**dict(zip(OPERATIONS, self.values(rows), strict=True)))

    def values(self, rows: float) -> tuple[float, ...]:
        """The same as bare numbers in the order of OPERATIONS, for a join that looks while it runs."""
        if rows <= self.points[0][0]:
            return operations_of(self.points[0][1])
        for (low, below), (high, above) in pairwise(self.points):
            if rows <= high:
                if above.row or above.word:
                    return operations_of(above)
                weight = math.log(rows / low) / math.log(high / low)
                pairs = zip(operations_of(below), operations_of(above), strict=True)
                return tuple([b + weight * (a - b) for b, a in pairs])
        return operations_of(self.points[-1][1])


def _default_curves() -> Mapping[tuple[Kind, Structure], CostCurve]:
    from watersmeet.cost.default_costs import DEFAULT_CURVES

    return DEFAULT_CURVES


def _default_ingest() -> Mapping[Kind, float]:
    from watersmeet.cost.default_costs import DEFAULT_INGEST

    return DEFAULT_INGEST


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """All unit costs of a machine. Without arguments: those measured on the machine of default_costs.py."""

    curves: Mapping[tuple[Kind, Structure], CostCurve] = field(default_factory=_default_curves)
    # One row read, ordered and appended to a scanned window: what every row costs, whatever the choice.
    ingest: Mapping[Kind, float] = field(default_factory=_default_ingest)
    measured: bool = False  # on this machine

    def __post_init__(self) -> None:
        object.__setattr__(self, "curves", MappingProxyType(dict(self.curves)))
        object.__setattr__(self, "ingest", MappingProxyType(dict(self.ingest)))
        for kind, cost in self.ingest.items():
            _check.at_least(cost, 0.0, argument=f"UnitCosts(ingest)[{kind!r}]")

    def of(self, kind: Kind, structure: Structure, *, rows: float) -> OperationCosts:
        """The costs of a structure that holds a window of so many rows, for one kind of predicate."""
        try:
            return self.curves[kind, structure].at(rows)
        except KeyError:
            raise ConfigError(f"{structure!r} for {kind!r}: no unit costs are known") from None

    def structures(self, kind: Kind) -> tuple[Structure, ...]:
        """The structures that may be advised for a kind of predicate, of which the costs are known."""
        return tuple(each for each in STRUCTURES[kind] if (kind, each) in self.curves)
