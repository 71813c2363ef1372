"""From a simple predicate and the types of its columns to the core's term.

Where only one side's types are known, the other side is taken to be alike; the plan is checked again when it
comes.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from watersmeet.join.columns.bands import band_term
from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.layouts import is_list, list_of, plain_type
from watersmeet.join.columns.meeting import Meeting, meet
from watersmeet.join.columns.packed import compiled_term
from watersmeet.join.columns.term import About, TermPlan, leaf_columns
from watersmeet.join.columns.vectors import distance_term
from watersmeet.vocabulary import Band, Compiled, Cosine, Distance, Dot, Equal, Predicate

__all__ = ["Kinds", "term_plan"]

Kinds = dict[str, pa.DataType]  # a stream's columns and their types

_WORDS: Final = {
    "Overlap": "overlap",
    "Subset": "subset",
    "Superset": "superset",
    "SameSet": "same_set",
    "Jaccard": "jaccard",
    "Dot": "dot",
    "Cosine": "cosine",
}


def term_plan(leaf: Predicate, kinds: tuple[Kinds | None, Kinds | None], names: tuple[str, str]) -> TermPlan:
    """The core's term for a leaf; SchemaError naming the columns whose types it cannot take."""
    sides = [
        None if own is None else [own[name] for name in leaf_columns(leaf, side)]
        for side, own in enumerate(kinds)
    ]
    left, right = (sides[0] or _assumed(leaf, sides[1], 1), sides[1] or _assumed(leaf, sides[0], 0))
    about = About(leaf, names, (left, right))
    if isinstance(leaf, Equal):
        return _equal(leaf, about)
    if isinstance(leaf, Band):
        return band_term(leaf, (left[0], right[0]), about)
    if isinstance(leaf, Distance):
        return distance_term(leaf, (left[0], right[0]), about)
    if isinstance(leaf, Compiled):
        return compiled_term(leaf, about)
    if isinstance(leaf, Dot | Cosine):
        return _weighted(leaf, about)
    return _set(leaf, about)


def _assumed(leaf: Predicate, known: list[pa.DataType] | None, side: int) -> list[pa.DataType]:
    """Types for the side that has not come yet, like those of the side (`side`) that has."""
    assert known is not None  # a plan is made when the first side comes
    if isinstance(leaf, Compiled) and len(leaf_columns(leaf, 0)) != len(leaf_columns(leaf, 1)):
        return [pa.uint8()] * len(leaf_columns(leaf, 1 - side))
    if not isinstance(leaf, Dot | Cosine):
        return known
    items = _items_of(plain_type(known[0]))
    wanted = len(leaf_columns(leaf, 1 - side))
    if items is None or len(known) == wanted:
        return known
    return [pa.map_(items, pa.float64())] if wanted == 1 else [pa.list_(items), pa.list_(pa.float64())]


def _equal(leaf: Equal, about: About) -> TermPlan:
    meetings = [_meet_keys(about, place) for place in range(len(leaf.left))]
    columns = tuple(
        tuple(
            Handover(name, kind, meeting.targets[side])
            for name, kind, meeting in zip(about.columns[side], about.kinds[side], meetings, strict=True)
        )
        for side in (0, 1)
    )
    coding = meetings[0].coding if len(meetings) == 1 else "composite"
    return TermPlan("equal", coding, str(leaf), (columns[0], columns[1]))


def _meet_keys(about: About, place: int) -> Meeting:
    own, other = (plain_type(about.kinds[side][place]) for side in (0, 1))
    meeting = meet(own, other)
    if meeting is not None:
        return meeting
    for side, kind in enumerate((own, other)):
        if meet(kind, kind) is None:
            allowed = "integers, floats, booleans, strings, binaries, dates, times or decimals"
            raise about.refusal(side, place, allowed)
    raise about.mismatch(place)


def _set(leaf: Any, about: About) -> TermPlan:
    kinds = [plain_type(about.kinds[side][0]) for side in (0, 1)]
    meeting = _meet_items(about, [kind.value_type if is_list(kind) else kind for kind in kinds])
    columns = [
        Handover(about.columns[side][0], about.kinds[side][0], _with_items(kind, meeting.targets[side]))
        for side, kind in enumerate(kinds)
    ]
    return TermPlan(
        _WORDS[type(leaf).__name__],
        meeting.coding,
        str(leaf),
        ((columns[0],), (columns[1],)),
        at_least=float(getattr(leaf, "at_least", 0)),
    )


def _weighted(leaf: Dot | Cosine, about: About) -> TermPlan:
    items = []
    for side in (0, 1):
        kinds = [plain_type(kind) for kind in about.kinds[side]]
        item = _items_of(kinds[0]) if len(kinds) == 2 or pa.types.is_map(kinds[0]) else None
        if item is None or (len(kinds) == 2 and not is_list(kinds[0])):
            raise about.refusal(
                side, 0, "a list of items beside a list of weights, or a map from item to weight"
            )
        weight = kinds[0].item_type if pa.types.is_map(kinds[0]) else _items_of(kinds[1])
        if weight is None or not (_is_number(weight) or pa.types.is_null(weight)):
            raise about.refusal(side, len(kinds) - 1, "weights that are integers or floats")
        items.append(item)
    meeting = _meet_items(about, items)
    columns = tuple(
        tuple(
            Handover(name, kind, _weighted_target(plain_type(kind), place, meeting.targets[side]))
            for place, (name, kind) in enumerate(zip(about.columns[side], about.kinds[side], strict=True))
        )
        for side in (0, 1)
    )
    word = _WORDS[type(leaf).__name__]
    return TermPlan(word, meeting.coding, str(leaf), (columns[0], columns[1]), at_least=leaf.at_least)


def _weighted_target(kind: pa.DataType, place: int, item: pa.DataType) -> pa.DataType:
    if pa.types.is_map(kind):
        return pa.map_(item, _weight_target(kind.item_type))
    return list_of(kind, item if place == 0 else _weight_target(kind.value_type))


def _weight_target(kind: pa.DataType) -> pa.DataType:
    return pa.float64() if pa.types.is_decimal(kind) or pa.types.is_null(kind) else kind


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _items_of(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_map(kind):
        return kind.key_type
    return kind.value_type if is_list(kind) else None


def _with_items(kind: pa.DataType, item: pa.DataType) -> pa.DataType:
    return list_of(kind, item) if is_list(kind) else item


def _meet_items(about: About, items: list[pa.DataType]) -> Meeting:
    for side, item in enumerate(items):
        alone = meet(item, item)
        if alone is None or alone.coding == "real":
            raise about.refusal(
                side, 0, "items that are integers, strings, binaries, booleans, dates or times"
            )
    meeting = meet(items[0], items[1])
    if meeting is None:
        raise about.mismatch(0)
    return meeting
