"""Predicates: when a row of the left stream and a row of the right stream belong together.

A predicate is a value: it can be compared, hashed, printed and pickled (but for a user's own function), and
knows nothing of how it is evaluated. Every leaf names its columns on both sides, so that left and right are
told apart here and nowhere else; `mirrored()` is the same predicate with the sides exchanged.

Users write the functions of `predicate_functions` (wm.equal, wm.overlap, ...), which build these.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.vocabulary import _check
from watersmeet.vocabulary.duration import Span, parse_span

__all__ = [
    "And",
    "Band",
    "Cosine",
    "Distance",
    "Dot",
    "Equal",
    "Jaccard",
    "Metric",
    "Overlap",
    "Predicate",
    "SameSet",
    "Subset",
    "Superset",
    "Where",
]

Metric: TypeAlias = Literal["mean-abs", "l2", "cosine", "hamming"]
METRICS: Final[tuple[Metric, ...]] = ("mean-abs", "l2", "cosine", "hamming")


class Predicate:
    """A test of a pair of rows. Combine two with `&`; `on=None` stands for every pair."""

    __slots__ = ()

    @property
    def leaves(self) -> tuple[Predicate, ...]:
        """The simple predicates that must all hold: itself, or the parts of a conjunction."""
        return (self,)

    @property
    def left_columns(self) -> tuple[str, ...]:
        """The columns of the left stream that are looked at, each once."""
        raise NotImplementedError

    @property
    def right_columns(self) -> tuple[str, ...]:
        """The columns of the right stream that are looked at, each once."""
        return self.mirrored().left_columns

    def mirrored(self) -> Predicate:
        """The same test with left and right exchanged."""
        raise NotImplementedError

    def __and__(self, other: object) -> Predicate:
        if not isinstance(other, Predicate):
            return NotImplemented
        both = And((self, other))
        return both if len(both.parts) > 1 else self

    def __bool__(self) -> bool:
        raise ConfigError(f"{self}: a predicate is neither true nor false; combine two with '&', not 'and'")


@dataclass(frozen=True, slots=True)
class And(Predicate):
    """All of its parts hold. Nested conjunctions are flattened, repeated parts are kept once."""

    parts: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        leaves: list[Predicate] = []
        for part in self.parts:
            if not isinstance(part, Predicate):
                raise ConfigError(f"And part {part!r}: expected a predicate, such as wm.equal('key')")
            leaves.extend(leaf for leaf in part.leaves if leaf not in leaves)
        if not leaves:
            raise ConfigError("And(()): expected at least one predicate; on=None stands for every pair")
        object.__setattr__(self, "parts", tuple(leaves))

    @property
    def leaves(self) -> tuple[Predicate, ...]:
        """The simple predicates that must all hold."""
        return self.parts

    @property
    def left_columns(self) -> tuple[str, ...]:
        """The columns of the left stream that are looked at, each once."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.left_columns))

    def mirrored(self) -> And:
        """The same test with left and right exchanged."""
        return And(tuple(part.mirrored() for part in self.parts))

    def __str__(self) -> str:
        return " & ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Equal(Predicate):
    """Each left column equals the right column at the same position; null equals nothing."""

    left: tuple[str, ...]
    right: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "left", _check.column_names(self.left, argument="equal(left)"))
        object.__setattr__(self, "right", _check.column_names(self.right, argument="equal(right)"))
        if len(self.left) != len(self.right):
            raise ConfigError(
                f"equal(left={self.left!r}, right={self.right!r}): expected as many columns on both sides"
            )

    @property
    def left_columns(self) -> tuple[str, ...]:
        """The columns of the left stream that are looked at, each once."""
        return tuple(dict.fromkeys(self.left))

    def mirrored(self) -> Equal:
        """The same test with left and right exchanged."""
        return Equal(self.right, self.left)

    def __str__(self) -> str:
        if self.left == self.right:
            return _call("equal", *map(_column, self.left))
        return _call("equal", f"left={_columns(self.left)}", f"right={_columns(self.right)}")


@dataclass(frozen=True, slots=True)
class _OnePair(Predicate):
    """A leaf that looks at one column on each side."""

    left: str
    right: str

    def __post_init__(self) -> None:
        name = type(self).__name__.lower()
        object.__setattr__(self, "left", _check.column_name(self.left, argument=f"{name}(left)"))
        object.__setattr__(self, "right", _check.column_name(self.right, argument=f"{name}(right)"))

    @property
    def left_columns(self) -> tuple[str, ...]:
        """The columns of the left stream that are looked at, each once."""
        return (self.left,)

    @property
    def _sides(self) -> tuple[str, ...]:
        if self.left == self.right:
            return (_column(self.left),)
        return (f"left={_column(self.left)}", f"right={_column(self.right)}")


@dataclass(frozen=True, slots=True)
class Overlap(_OnePair):
    """The two sets share at least so many items; an empty set shares none."""

    at_least: int

    def __post_init__(self) -> None:
        _OnePair.__post_init__(self)
        count = _check.whole_number(self.at_least, argument="overlap(at_least)", lowest=1)
        object.__setattr__(self, "at_least", count)

    def mirrored(self) -> Overlap:
        """The same test with left and right exchanged."""
        return Overlap(self.right, self.left, self.at_least)

    def __str__(self) -> str:
        return _call("overlap", *self._sides, f"at_least={self.at_least}")


@dataclass(frozen=True, slots=True)
class Subset(_OnePair):
    """Every item of the left set is in the right set; an empty left set is in every set."""

    def mirrored(self) -> Superset:
        """The same test with left and right exchanged."""
        return Superset(self.right, self.left)

    def __str__(self) -> str:
        return _call("subset", *self._sides)


@dataclass(frozen=True, slots=True)
class Superset(_OnePair):
    """Every item of the right set is in the left set."""

    def mirrored(self) -> Subset:
        """The same test with left and right exchanged."""
        return Subset(self.right, self.left)

    def __str__(self) -> str:
        return _call("superset", *self._sides)


@dataclass(frozen=True, slots=True)
class SameSet(_OnePair):
    """The two sets have the same items; two empty sets do."""

    def mirrored(self) -> SameSet:
        """The same test with left and right exchanged."""
        return SameSet(self.right, self.left)

    def __str__(self) -> str:
        return _call("same_set", *self._sides)


@dataclass(frozen=True, slots=True)
class Jaccard(_OnePair):
    """Shared items over all items of the two sets is at least so much; two empty sets do not match."""

    at_least: float

    def __post_init__(self) -> None:
        _OnePair.__post_init__(self)
        object.__setattr__(self, "at_least", _check.share(self.at_least, argument="jaccard(at_least)"))

    def mirrored(self) -> Jaccard:
        """The same test with left and right exchanged."""
        return Jaccard(self.right, self.left, self.at_least)

    def __str__(self) -> str:
        return _call("jaccard", *self._sides, f"at_least={self.at_least!r}")


@dataclass(frozen=True, slots=True)
class _Weighted(Predicate):
    """A leaf on weighted sets: items and weights as two list columns, or as one map column (weights None)."""

    left_items: str
    left_weights: str | None
    right_items: str
    right_weights: str | None
    at_least: float

    def __post_init__(self) -> None:
        name = type(self).__name__.lower()
        for side in ("left", "right"):
            items, weights = getattr(self, f"{side}_items"), getattr(self, f"{side}_weights")
            _check.column_name(items, argument=f"{name}({side} items)")
            if weights is not None:
                _check.column_name(weights, argument=f"{name}({side} weights)")
            if items == weights:
                raise ConfigError(
                    f"{name}({side} weights)={weights!r}: expected another column than the items;"
                    " for a map column give no weights"
                )

    @property
    def left_columns(self) -> tuple[str, ...]:
        """The columns of the left stream that are looked at, each once."""
        return (self.left_items,) if self.left_weights is None else (self.left_items, self.left_weights)

    @property
    def _sides(self) -> tuple[str, ...]:
        left, right = (self.left_items, self.left_weights), (self.right_items, self.right_weights)
        if left != right:
            return (f"left={_weighted_side(*left)}", f"right={_weighted_side(*right)}")
        weights = () if self.left_weights is None else (f"weights={_column(self.left_weights)}",)
        return (f"items={_column(self.left_items)}", *weights)


@dataclass(frozen=True, slots=True)
class Dot(_Weighted):
    """The sum over shared items of the product of their weights is at least so much."""

    def __post_init__(self) -> None:
        _Weighted.__post_init__(self)
        # Zero or less would also match pairs that share nothing, which no index of items can find.
        least = _check.finite_number(self.at_least, argument="dot(at_least)", above=0)
        object.__setattr__(self, "at_least", least)

    def mirrored(self) -> Dot:
        """The same test with left and right exchanged."""
        return Dot(self.right_items, self.right_weights, self.left_items, self.left_weights, self.at_least)

    def __str__(self) -> str:
        return _call("dot", *self._sides, f"at_least={self.at_least!r}")


@dataclass(frozen=True, slots=True)
class Cosine(_Weighted):
    """The cosine of the two weighted sets is at least so much; a zero vector matches nothing."""

    def __post_init__(self) -> None:
        _Weighted.__post_init__(self)
        object.__setattr__(self, "at_least", _check.share(self.at_least, argument="cosine(at_least)"))

    def mirrored(self) -> Cosine:
        """The same test with left and right exchanged."""
        return Cosine(self.right_items, self.right_weights, self.left_items, self.left_weights, self.at_least)

    def __str__(self) -> str:
        return _call("cosine", *self._sides, f"at_least={self.at_least!r}")


@dataclass(frozen=True, slots=True)
class Band(_OnePair):
    """The two values differ by at most `within`: a number, or a span for timestamps and dates."""

    within: int | float | Decimal | Span

    def __post_init__(self) -> None:
        _OnePair.__post_init__(self)
        object.__setattr__(self, "within", _band_width(self.within))

    def mirrored(self) -> Band:
        """The same test with left and right exchanged."""
        return Band(self.right, self.left, self.within)

    def __str__(self) -> str:
        within = f"'{self.within}'" if isinstance(self.within, Span) else str(self.within)
        return _call("band", *self._sides, f"within={within}")


@dataclass(frozen=True, slots=True)
class Distance(_OnePair):
    """The two vectors (fixed-size binary or numeric lists of one length) are at most so far apart."""

    metric: Metric
    at_most: float

    def __post_init__(self) -> None:
        _OnePair.__post_init__(self)
        _check.one_of(self.metric, METRICS, argument="distance(metric)")
        most = _check.finite_number(self.at_most, argument="distance(at_most)", lowest=0)
        object.__setattr__(self, "at_most", most)

    def mirrored(self) -> Distance:
        """The same test with left and right exchanged."""
        return Distance(self.right, self.left, self.metric, self.at_most)

    def __str__(self) -> str:
        return _call("distance", *self._sides, f"metric={self.metric!r}", f"at_most={self.at_most!r}")


@dataclass(frozen=True, slots=True)
class Where(Predicate):
    """A user's own test: gets two Arrow blocks of candidates of one length, returns one boolean per pair."""

    fn: Callable[..., Any]
    swapped: bool = False  # whether fn's first block comes from the right stream

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise ConfigError(f"where(fn)={self.fn!r}: expected a function of two Arrow blocks")

    @property
    def left_columns(self) -> tuple[str, ...]:
        """Empty: the function sees every column, and which ones it reads cannot be known."""
        return ()

    def mirrored(self) -> Where:
        """The same test with left and right exchanged; the function gets its blocks as before."""
        return Where(self.fn, swapped=not self.swapped)

    def __str__(self) -> str:
        return _call("where", getattr(self.fn, "__name__", type(self.fn).__name__))


def _band_width(value: object) -> int | float | Decimal | Span:
    if not isinstance(value, Decimal) and not _check.is_number(value):
        return parse_span(value, argument="band(within)", rows=False)
    if not math.isfinite(value) or value < 0:
        raise ConfigError(f"band(within)={value!r}: expected a finite number, at least 0")
    if isinstance(value, Decimal):
        return value
    # Whole numbers stay whole however large: a band on integers is exact.
    return int(value) if _check.is_whole(value) else float(value)


def _call(name: str, *arguments: str) -> str:
    return f"{name}({', '.join(arguments)})"


def _column(name: str) -> str:
    # Python reads some other letters as their look-alikes, so only plain ones go without quotes.
    bare = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    return name if bare else repr(name)


def _columns(names: tuple[str, ...]) -> str:
    return _column(names[0]) if len(names) == 1 else f"({', '.join(map(_column, names))})"


def _weighted_side(items: str, weights: str | None) -> str:
    return _column(items) if weights is None else f"({_column(items)}, {_column(weights)})"
