"""Loads from what is known before a row was seen: the predicate, rates, windows and numbers of keys."""

from __future__ import annotations

from typing import Final

from watersmeet.cost import _check
from watersmeet.cost._check import Pair
from watersmeet.cost.unit_costs import Kind
from watersmeet.cost.work import DirectionLoad
from watersmeet.vocabulary import (
    Band,
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

__all__ = ["DEFAULT_KEYS", "estimate_loads", "kind_of"]

DEFAULT_KEYS: Final = 1000.0
_DISTANCES: Final[dict[str, Kind]] = {
    "mean-abs": "distance/mean-abs",
    "l2": "distance/l2",
    "cosine": "distance/cosine",
    "hamming": "distance/hamming",
}
_SET_SELECTIVITY: Final = 1e-3  # of a set predicate of which nothing is known; SPEC G13 measured 9.2e-4


def kind_of(leaf: Predicate | None) -> Kind:
    """The kind of a simple predicate, by what can find its partners; "every" for none at all.

    "checked" where each pair costs what a compiled function makes it cost.
    """
    match leaf:
        case Equal():
            return "equal"
        case Band():
            return "band"
        case Overlap() | Subset() | Superset() | SameSet() | Jaccard():
            return "overlap"
        case Dot() | Cosine():
            return "weighted"
        case Distance(metric=metric):
            return _DISTANCES[metric]
        case Where():
            return "where"
        case None:
            return "every"
        case _:
            return "checked"


def estimate_loads(
    kind: Kind,
    *,
    rates: Pair,
    window_rows: Pair,
    keys: Pair = (DEFAULT_KEYS, DEFAULT_KEYS),
    items: Pair = (1.0, 1.0),
    selectivity: float | None = None,
) -> tuple[DirectionLoad, DirectionLoad]:
    """What each window will have to bear, keys and items being equally popular.

    rates         rows per second of each stream
    window_rows   rows of each window when it is full
    keys          different keys, or different items of sets, in each window
    items         items per set of each stream; 1 for keys; words of eight bytes per vector for distances
    selectivity   share of the pairs that match; by default one in `keys`, or in a thousand for sets
    """
    rates = _check.pair(rates, argument="rates")
    window_rows = _check.pair(window_rows, argument="window_rows")
    keys = _check.pair(keys, argument="keys", above_zero=True)
    items = _check.pair(items, argument="items")
    if selectivity is not None:
        selectivity = _check.at_least(selectivity, 0.0, argument="selectivity")
    listed = kind in ("overlap", "weighted")
    loads = []
    for window in (0, 1):
        rows, probing = window_rows[window], 1 - window
        share = selectivity if selectivity is not None else _SET_SELECTIVITY if listed else 1.0 / keys[window]
        loads.append(
            DirectionLoad(
                kind=kind,
                probing_rate=rates[probing],
                window_rate=rates[window],
                window_rows=rows,
                matches=rows * min(share, 1.0),
                items=items[probing] if listed or kind.startswith("distance/") else 1.0,
                entries=rows * items[window] * items[probing] / keys[window] if listed else None,
            )
        )
    return loads[0], loads[1]
