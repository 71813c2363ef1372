"""Random join columns: for each kind of predicate, columns on which it is neither always nor never true."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import watersmeet as wm

__all__ = ["FAMILIES", "JoinColumns", "draw_columns"]

Rng = np.random.Generator
SETS = ("scan", "inverted", "inverted-by-id")


@dataclass(frozen=True, slots=True)
class JoinColumns:
    """Columns for the left and right table, the predicate over them, and the indexes that can serve it."""

    left: dict[str, pa.Array]
    right: dict[str, pa.Array]
    on: Any
    indexes: tuple[str, ...] = ("scan",)
    merges: bool = False

    def __and__(self, other: JoinColumns) -> JoinColumns:
        return JoinColumns(
            {**self.left, **other.left},
            {**self.right, **other.right},
            other.on if self.on is None else self.on & other.on,
            self.indexes,
            self.merges or other.merges,
        )


def draw_columns(rng: Rng, family: str, rows: tuple[int, int]) -> JoinColumns:
    """Random columns of the named family for `rows` (left, right) rows."""
    return FAMILIES[family](rng, rows, float(rng.choice([0.0, 0.0, 0.1])))


# --- helpers --------------------------------------------------------------------------------------


def _pick(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _nulls(values: pa.Array, rng: Rng, share: float) -> pa.Array:
    if share <= 0 or len(values) == 0:
        return values
    return values.take(pa.array(np.arange(len(values)), mask=rng.random(len(values)) < share))


def _names(rng: Rng, stem: str) -> tuple[str, str, dict[str, Any]]:
    """Column names of both sides, and how a predicate names them: mostly the same, sometimes different."""
    if rng.random() < 0.7:
        return stem, stem, {}
    return stem, f"{stem}_b", {"left": stem, "right": f"{stem}_b"}


def _predicate(make: Callable[..., Any], stem: str, sides: dict[str, Any], **options: Any) -> Any:
    return make(**sides, **options) if sides else make(stem, **options)


# --- keys -----------------------------------------------------------------------------------------

_INTS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_TEXTS = (
    pa.string(),
    pa.large_string(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.string()),
)
_WORDS = (
    "",
    "a",
    "b",
    "ab",
    "a longer word than any small string buffer holds",
    "a longer word that differs late",
    "é",
)


def _int_keys(rng: Rng, rows: int, nulls: float, low: int = 0) -> pa.Array:
    kind = _pick(rng, _INTS)
    if not pa.types.is_unsigned_integer(kind) and rng.random() < 0.5:
        low = -2
    return _nulls(pa.array(rng.integers(low, 4, rows), pa.int64()).cast(kind), rng, nulls)


def _text_keys(rng: Rng, rows: int, nulls: float) -> pa.Array:
    words = pa.array(_WORDS, pa.string()).take(pa.array(rng.integers(0, len(_WORDS), rows)))
    return _as_kind(_nulls(words, rng, nulls), _pick(rng, _TEXTS))


def _as_kind(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        encoded = values.dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices.cast(kind.index_type), encoded.dictionary)
    return values.cast(kind)


def _float_keys(rng: Rng, rows: int, nulls: float) -> pa.Array:
    drawn = rng.choice(np.array([0.0, -0.0, np.nan, 0.5, -1.25, np.inf]), rows)
    return _nulls(pa.array(drawn, pa.float64(), from_pandas=False), rng, nulls)


def _equal(make_keys: Callable[[Rng, int, float], pa.Array]) -> Callable[..., JoinColumns]:
    def draw(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
        left, right, sides = _names(rng, "key")
        return JoinColumns(
            {left: make_keys(rng, rows[0], nulls)},
            {right: make_keys(rng, rows[1], nulls)},
            _predicate(wm.equal, "key", sides),
            ("scan", "hash"),
        )

    return draw


def _cast_keys(values: Any, kind: pa.DataType) -> Callable[[Rng, int, float], pa.Array]:
    def draw(rng: Rng, rows: int, nulls: float) -> pa.Array:
        chosen = pa.array(values, kind).take(pa.array(rng.integers(0, len(values), rows)))
        return _nulls(chosen, rng, nulls)

    return draw


_DAYS = (dt.date(1970, 1, 1), dt.date(2026, 11, 18), dt.date(1969, 12, 31))
_BYTES = (b"", b"\x00", b"\x00\x00", b"a\x00b")
_SIMPLE_KEYS: dict[str, Callable[[Rng, int, float], pa.Array]] = {
    "bool": _cast_keys([False, True], pa.bool_()),
    "binary": _cast_keys(_BYTES, pa.binary()),
    "large_binary": _cast_keys(_BYTES, pa.large_binary()),
    "fixed_binary": _cast_keys([b"\x00\x00\x00", b"abc", b"ab\x00"], pa.binary(3)),
    "date": _cast_keys(_DAYS, pa.date32()),
    "timestamp": _cast_keys([0, 1, -1, 10**15], pa.timestamp("us")),
    "decimal": _cast_keys(
        [Decimal("1.10"), Decimal("-1.10"), Decimal("0.00"), Decimal("99999999.99")], pa.decimal128(20, 2)
    ),
    "float32": _cast_keys([0.0, -0.0, 0.5, float("nan")], pa.float32()),
}


def _simple_key(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
    return _equal(_SIMPLE_KEYS[_pick(rng, tuple(_SIMPLE_KEYS))])(rng, rows, nulls)


def _composite(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
    makers = [
        _pick(rng, (_int_keys, _text_keys, _SIMPLE_KEYS["bool"], _SIMPLE_KEYS["date"])) for _ in range(2)
    ]
    if rng.random() < 0.3:
        makers.append(_SIMPLE_KEYS["binary"])
    names = [f"key{place}" for place in range(len(makers))]
    return JoinColumns(
        {name: make(rng, rows[0], nulls) for name, make in zip(names, makers, strict=True)},
        {name: make(rng, rows[1], nulls) for name, make in zip(names, makers, strict=True)},
        wm.equal(*names),
        ("scan", "hash"),
    )


# --- sets -----------------------------------------------------------------------------------------


def _flat_items(rng: Rng, count: int, kind: str) -> pa.Array:
    domain = 9
    drawn = np.minimum(rng.integers(0, domain, count), rng.integers(0, domain, count))
    if kind == "text":
        words = pa.array([*_WORDS, "x", "y"], pa.string())
        return words.take(pa.array(drawn))
    if rng.random() < 0.3:
        return pa.array(np.where(drawn == 0, -(2**40), drawn), pa.int64())
    return pa.array(drawn, pa.int64()).cast(_pick(rng, _INTS[:6]))


def _set_column(rng: Rng, rows: int, nulls: float, kind: str, shape: str) -> pa.Array:
    if shape == "plain":
        flat = _flat_items(rng, rows, kind)
        return _nulls(_as_kind(flat, _pick(rng, _TEXTS)) if kind == "text" else flat, rng, nulls)
    sizes = np.full(rows, 3) if shape == "fixed" else rng.integers(0, 6, rows)
    flat = _nulls(_flat_items(rng, int(sizes.sum()), kind), rng, nulls)
    if kind == "text":
        flat = _as_kind(flat, _pick(rng, _TEXTS))
    if shape == "fixed":
        column = pa.FixedSizeListArray.from_arrays(flat, 3)
    else:
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        maker, width = (pa.LargeListArray, pa.int64()) if shape == "large" else (pa.ListArray, pa.int32())
        column = maker.from_arrays(pa.array(offsets, width), flat)
    return _nulls(column, rng, nulls)


def _shape(rng: Rng) -> str:
    return str(_pick(rng, ("list", "list", "list", "list", "large", "fixed", "plain")))


def _set_family(
    make: Callable[..., Any], options: Callable[[Rng], dict[str, Any]]
) -> Callable[..., JoinColumns]:
    def draw(rng: Rng, rows: tuple[int, int], nulls: float, stem: str = "tags") -> JoinColumns:
        left, right, sides = _names(rng, stem)
        kind = "text" if rng.random() < 0.4 else "int"
        return JoinColumns(
            {left: _set_column(rng, rows[0], nulls, kind, _shape(rng))},
            {right: _set_column(rng, rows[1], nulls, kind, _shape(rng))},
            _predicate(make, stem, sides, **options(rng)),
            SETS,
            merges=True,
        )

    return draw


_overlap = _set_family(wm.overlap, lambda rng: {"at_least": int(rng.integers(1, 4))})
_jaccard = _set_family(
    wm.jaccard, lambda rng: {"at_least": float(_pick(rng, (0.2, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0, 1 / 3)))}
)
_subset = _set_family(wm.subset, lambda rng: {})
_superset = _set_family(wm.superset, lambda rng: {})
_same_set = _set_family(wm.same_set, lambda rng: {})


def _weighted_column(
    rng: Rng, rows: int, nulls: float, kind: str, as_map: bool
) -> tuple[pa.Array, pa.Array | None]:
    sizes = rng.integers(0, 6, rows)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    count = int(offsets[-1])
    items = _flat_items(rng, count, kind)
    low = -6 if rng.random() < 0.3 else 0
    weights = _nulls(pa.array(rng.integers(low, 9, count) / 8), rng, nulls)
    if rng.random() < 0.3:
        weights = weights.cast(pa.float32())
    if as_map:
        return _nulls(
            pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), items, weights), rng, nulls
        ), None
    item_lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), _nulls(items, rng, nulls))
    weight_lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), weights)
    return _nulls(item_lists, rng, nulls), _nulls(weight_lists, rng, nulls / 2)


def _weighted(make: Callable[..., Any], thresholds: tuple[float, ...]) -> Callable[..., JoinColumns]:
    def draw(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
        kind = "text" if rng.random() < 0.4 else "int"
        as_map = bool(rng.random() < 0.3)
        columns: list[dict[str, pa.Array]] = []
        for count in rows:
            items, weights = _weighted_column(rng, count, nulls, kind, as_map)
            columns.append({"kw": items} if weights is None else {"kw": items, "w": weights})
        names: dict[str, str] = {"items": "kw"} if as_map else {"items": "kw", "weights": "w"}
        on = make(**names, at_least=float(_pick(rng, thresholds)))
        return JoinColumns(columns[0], columns[1], on, SETS, merges=True)

    return draw


_dot = _weighted(wm.dot, (0.125, 0.5, 1.0, 2.0))
_cosine = _weighted(wm.cosine, (0.1, 0.5, 0.8, 1.0))


# --- bands, functions, conjunctions ---------------------------------------------------------------


def _band(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
    left, right, sides = _names(rng, "price")
    flavour = _pick(rng, ("int", "int", "float", "decimal", "timestamp", "wide"))
    columns = []
    within: Any = int(rng.integers(0, 4))
    for count in rows:
        drawn = pa.array(rng.integers(0, 25, count), pa.int64())
        if flavour == "int":
            column = drawn.cast(_pick(rng, _INTS))
        elif flavour == "wide":
            edges = rng.choice(np.array([-(2**63), 0, 2**63 - 30]), count)
            column = pa.array(edges + np.asarray(drawn), pa.int64())
        elif flavour == "float":
            column = pa.array(np.where(rng.random(count) < 0.05, np.nan, np.asarray(drawn) / 4))
        elif flavour == "decimal":
            column = drawn.cast(pa.decimal128(20, 0)).cast(pa.decimal128(20, 2))
        else:
            column = drawn.cast(pa.timestamp("ms"))
        columns.append(_nulls(column, rng, nulls))
    if flavour == "float":
        within = float(rng.integers(0, 6)) / 4
    elif flavour == "decimal":
        within = Decimal(int(rng.integers(0, 300))) / 100
    elif flavour == "timestamp":
        within = f"{within}ms"
    return JoinColumns(
        {left: columns[0]}, {right: columns[1]}, _predicate(wm.band, "price", sides, within=within)
    )


def small_sum(left: Any, right: Any) -> Any:
    """A predicate that no index knows; null where a side is null."""
    return pc.less_equal(pc.add(left["size"], right["size"]), 7)


def small_difference(left: Any, right: Any) -> Any:
    """The same idea, answered in NumPy."""
    own = np.asarray(left["size"].fill_null(100) if hasattr(left["size"], "fill_null") else left["size"])
    other = np.asarray(right["size"].fill_null(-100))
    return np.abs(own - other) < 3


def _where(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
    left, right = (_nulls(pa.array(rng.integers(0, 10, count), pa.int64()), rng, nulls) for count in rows)
    return JoinColumns({"size": left}, {"size": right}, wm.where(_pick(rng, (small_sum, small_difference))))


def _cross(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
    return JoinColumns({}, {}, None)


def _conjunction(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
    parts = list(_CONJUNCTIONS[int(rng.integers(len(_CONJUNCTIONS)))])
    rng.shuffle(parts)
    joined = parts[0](rng, rows, nulls)
    for part in parts[1:]:
        joined = joined & part(rng, rows, nulls)
    return JoinColumns(joined.left, joined.right, joined.on, ("scan",), merges=False)


def _labels(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
    return _overlap(rng, rows, nulls, stem="labels")


_int_equal = _equal(_int_keys)
_text_equal = _equal(_text_keys)
_CONJUNCTIONS: tuple[tuple[Callable[..., JoinColumns], ...], ...] = (
    (_int_equal, _band),
    (_text_equal, _overlap),
    (_overlap, _band),
    (_jaccard, _where),
    (_int_equal, _where),
    (_overlap, _labels),
    (_cosine, _text_equal),
    (_subset, _band, _int_equal),
    (_band, _where),
    (_int_equal, _composite),
)


def _distance(rng: Rng, rows: tuple[int, int], nulls: float) -> JoinColumns:
    """Short vectors of small numbers, so that sums often lie exactly on the threshold."""
    metric = _pick(rng, ("mean-abs", "l2", "cosine", "hamming"))
    size = int(rng.integers(1, 7))
    kinds = [pa.binary(size), pa.list_(pa.uint8(), size)]
    if metric != "hamming" and rng.random() < 0.5:
        kinds = [pa.list_(kind, size) for kind in (pa.uint8(), pa.int32(), pa.float64(), pa.float32())]
    left, right, sides = _names(rng, "v")
    columns = [_nulls(_vectors(rng, _pick(rng, kinds), count, size), rng, nulls) for count in rows]
    most = {"mean-abs": 3, "l2": 8, "cosine": 1, "hamming": 12}[metric]
    at_most = float(_pick(rng, (0, most / 4, most / 3, most / 2)))
    on = _predicate(wm.distance, "v", sides, metric=metric, at_most=at_most)
    return JoinColumns({left: columns[0]}, {right: columns[1]}, on)


def _vectors(rng: Rng, kind: pa.DataType, count: int, size: int) -> pa.Array:
    values = rng.integers(0, 7, (count, size))
    if pa.types.is_fixed_size_binary(kind):
        return pa.array([bytes(row.astype(np.uint8)) for row in values], kind)
    tenths = pa.types.is_floating(kind.value_type) and rng.random() < 0.5
    return pa.array([[float(v) / 10 if tenths else v for v in row.tolist()] for row in values], kind)


FAMILIES: dict[str, Callable[[Rng, tuple[int, int], float], JoinColumns]] = {
    "equal_int": _int_equal,
    "equal_text": _text_equal,
    "equal_float": _equal(_float_keys),
    "equal_other": _simple_key,
    "equal_composite": _composite,
    "overlap": _overlap,
    "subset": _subset,
    "superset": _superset,
    "same_set": _same_set,
    "jaccard": _jaccard,
    "dot": _dot,
    "cosine": _cosine,
    "band": _band,
    "where": _where,
    "cross": _cross,
    "and": _conjunction,
    "distance": _distance,
}
