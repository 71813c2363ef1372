"""Which part of a conjunction finds candidates, with which index, and which parts only look at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from watersmeet.errors import ConfigError
from watersmeet.join.two_way.config import Index, JoinConfig
from watersmeet.vocabulary import (
    Band,
    Compiled,
    Cosine,
    Distance,
    Dot,
    Equal,
    Jaccard,
    Overlap,
    Predicate,
    SameSet,
    Subset,
    Superset,
    Where,
)

__all__ = ["Split", "split"]

SETS: Final = (Overlap, Jaccard, SameSet, Dot, Cosine, Subset, Superset)
# Most selective first: a key meets few rows, a set more (most where empty sets match), a band has no index.
_DRIVING: Final = (
    (Equal,),
    (Overlap, Jaccard, SameSet, Dot, Cosine),
    (Subset, Superset),
    (Band,),
    (Distance,),
    (Compiled,),
)
# Cheapest first, once candidates are there.
_CHECKING: Final = ((Equal,), (Band,), SETS, (Distance,), (Compiled,))
_SERVES: Final[dict[str, tuple[type[Predicate], ...]]] = {
    "hash": (Equal,),
    "inverted": SETS,
    "inverted-by-id": SETS,
}


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a predicate by who evaluates them, and the index of each window."""

    terms: tuple[Predicate, ...]  # by the core; the first drives
    functions: tuple[Where, ...]  # by the user's functions, on what is left
    index: tuple[Index, Index]  # of the left and the right window, never "auto"
    reason: str

    @property
    def driver(self) -> Predicate | None:
        """The part that finds candidates; None where every pair in the window is one."""
        return self.terms[0] if self.terms else None


def split(config: JoinConfig) -> Split:
    """Divide the predicate; ConfigError if no part of it can be served by the index asked for."""
    functions = tuple(leaf for leaf in config.leaves if isinstance(leaf, Where))
    native = [leaf for leaf in config.leaves if not isinstance(leaf, Where)]
    driver = _driver(native, config)
    rest = sorted((leaf for leaf in native if leaf is not driver), key=lambda leaf: _rank(leaf, _CHECKING))
    best = _best_index(driver)
    index = tuple(best if asked == "auto" else asked for asked in config.index)
    return Split(
        terms=() if driver is None else (driver, *rest),
        functions=functions,
        index=(index[0], index[1]),
        reason=_reason(driver, native, functions),
    )


def _driver(native: list[Predicate], config: JoinConfig) -> Predicate | None:
    able = native
    for asked in config.index:
        if asked in _SERVES:
            able = [leaf for leaf in able if isinstance(leaf, _SERVES[asked])]
    if not able and any(asked in _SERVES for asked in config.index):
        shown = config.index[0] if config.index[0] == config.index[1] else config.index
        raise ConfigError(
            f"index={shown!r} cannot serve on={config.on}: 'hash' serves equal(), 'inverted' and"
            " 'inverted-by-id' serve sets, 'scan' serves everything"
        )
    return min(able, key=lambda leaf: _rank(leaf, _DRIVING), default=None)


def _rank(leaf: Predicate, classes: tuple[tuple[type[Predicate], ...], ...]) -> int:
    return next(place for place, kinds in enumerate(classes) if isinstance(leaf, kinds))


def _best_index(driver: Predicate | None) -> Index:
    if isinstance(driver, Equal):
        return "hash"
    return "inverted" if isinstance(driver, SETS) else "scan"


def _reason(driver: Predicate | None, native: list[Predicate], functions: tuple[Where, ...]) -> str:
    if driver is None:
        return "no part of the predicate can be indexed" if functions else "there is no predicate"
    if isinstance(driver, Band):
        return "a band has no index: the window is scanned"
    if isinstance(driver, Distance):
        return "a distance has no index: the window is scanned"
    if isinstance(driver, Compiled):
        return "a compiled function has no index: the window is scanned"
    if len(native) > 1:
        return "the most selective part that an index can serve"
    return "an index serves it"
