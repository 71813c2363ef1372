"""The definition itself, against examples worked by hand and against DuckDB."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.lateness import admit
from tests.reference.predicates import draw_columns
from tests.reference.sql import connection, sorted_pairs, with_row_numbers

import watersmeet as wm
from watersmeet.errors import ConfigError
from watersmeet.testing import brute_force_join, matching_rows
from watersmeet.vocabulary.predicate import Band, Equal, Jaccard, Overlap, SameSet, Subset, Superset


def _times(left: list[int | None], right: list[int | None]) -> tuple[pa.Table, pa.Table]:
    return pa.table({"ts": pa.array(left, pa.int64())}), pa.table({"ts": pa.array(right, pa.int64())})


def test_time_window_bounds_are_inclusive_and_each_window_bounds_its_own_rows_age() -> None:
    left, right = _times([10], [6, 7, 10, 12, 13])
    # the left row may be up to 2 older than b, b up to 3 older than it
    assert matching_rows(left, right, window=("2us", "3us")) == [(0, 1), (0, 2), (0, 3)]


def test_between_bounds_the_right_time_minus_the_left_time() -> None:
    left, right = _times([10], [6, 7, 10, 12, 13])
    assert matching_rows(left, right, between=("2us", "3us")) == [(0, 3), (0, 4)]
    assert matching_rows(left, right, between=("-4us", "-4us")) == [(0, 0)]


def test_window_zero_joins_equal_times_only() -> None:
    left, right = _times([1, 2, 2], [2, 3])
    assert matching_rows(left, right, window="0s") == [(1, 0), (2, 0)]


def test_count_window_holds_the_last_rows_and_ties_go_left_first() -> None:
    left, right = _times([1, 2, 3], [2, 2, 4])
    # order: L0(1) L1(2) R0(2) R1(2) L2(3) R2(4)
    assert matching_rows(left, right, window="1i") == [(1, 0), (1, 1), (2, 1), (2, 2)]
    assert sorted(matching_rows(left, right, window=("2i", "1i"))) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]


def test_mixed_windows_bound_each_side_by_its_own_kind() -> None:
    left, right = _times([1, 5], [1, 2, 3, 9])
    # left rows live 1us, the right window holds 2 rows
    assert matching_rows(left, right, window=("1us", "2i")) == [(0, 0), (0, 1), (1, 1), (1, 2)]


def test_every_how_and_bad_rows() -> None:
    left, right = _times([1, None, 50], [1, None, 90])
    expected: dict[Any, Any] = {
        "inner": [(0, 0)],
        "left": [(0, 0), (2, None), (1, None)],
        "right": [(0, 0), (None, 2), (None, 1)],
        "full": [(0, 0), (2, None), (None, 2), (1, None), (None, 1)],
        "semi": [(0, None)],
        "anti": [(2, None), (1, None)],
    }
    for how, pairs in expected.items():
        assert matching_rows(left, right, window="1us", how=how) == pairs, how


def test_output_columns_come_left_first_and_taken_names_get_the_suffix() -> None:
    left = pa.table({"ts": [1], "a": ["x"]})
    right = pa.table({"ts": [1], "b": ["y"]})
    out = brute_force_join(left, right, window="1s", output="columns", suffix="_b")
    assert out.to_pydict() == {"ts": [1], "a": ["x"], "ts_b": [1], "b": ["y"]}
    assert brute_force_join(left, right, window="1s", how="semi").to_pydict() == {"left_row": [0]}


def test_window_and_between_exclude_each_other() -> None:
    left, right = _times([1], [1])
    with pytest.raises(ConfigError, match="window"):
        matching_rows(left, right)
    with pytest.raises(ConfigError, match="window"):
        matching_rows(left, right, window="1s", between=("0s", "1s"))


SETS: list[list[str | None] | None] = [None, [], ["a"], ["a", "a", None], ["a", "b"], ["b", "c", "d"]]


SHARING_ONE = {(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3), (4, 4), (4, 5), (5, 4), (5, 5)}
INSIDE = {(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4), (4, 4), (5, 5)}


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        (wm.overlap("s", at_least=1), SHARING_ONE),
        (wm.overlap("s", at_least=2), {(4, 4), (5, 5)}),
        (wm.subset("s"), INSIDE | {(1, right) for right in (1, 2, 3, 4, 5)}),
        (wm.same_set("s"), {(1, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 4), (5, 5)}),
        (wm.jaccard("s", at_least=0.5), SHARING_ONE - {(4, 5), (5, 4)}),
        (wm.jaccard("s", at_least=0.25), SHARING_ONE),
    ],
    ids=str,
)
def test_set_predicates_worked_by_hand(on: Any, expected: set[tuple[int, int]]) -> None:
    table = pa.table({"ts": [0] * len(SETS), "s": pa.array(SETS, pa.list_(pa.string()))})
    assert set(matching_rows(table, table, on=on, window="1s")) == expected
    if isinstance(on, Subset):
        mirrored = {(right, left) for left, right in expected}
        assert set(matching_rows(table, table, on=wm.superset("s"), window="1s")) == mirrored


def test_weighted_predicates_worked_by_hand() -> None:
    left = pa.table({"ts": [0, 0, 0], "k": [["a", "b", "a"], ["a"], []], "w": [[3.0, 4.0, 9.0], [0.0], []]})
    right = pa.table({"ts": [0, 0], "k": [["a"], ["b", "a"]], "w": [[1.0], [None, 2.0]]})
    # left 0 = (a 3, b 4) with length 5: the second weight of a does not count; right 1 = (a 2)
    assert matching_rows(left, right, on=wm.dot(items="k", weights="w", at_least=6), window="1s") == [(0, 1)]
    assert matching_rows(left, right, on=wm.dot(items="k", weights="w", at_least=3), window="1s") == [
        (0, 0),
        (0, 1),
    ]
    cosine = wm.cosine(items="k", weights="w", at_least=0.6)
    assert matching_rows(left, right, on=cosine, window="1s") == [(0, 0), (0, 1)]
    steep = wm.cosine(items="k", weights="w", at_least=0.61)
    assert matching_rows(left, right, on=steep, window="1s") == []


def test_null_and_nan_keys_worked_by_hand() -> None:
    nan = float("nan")
    left = pa.table({"ts": [0] * 4, "k": pa.array([None, nan, 0.0, 1.0], from_pandas=False)})
    right = pa.table({"ts": [0] * 4, "k": pa.array([None, nan, -0.0, 2.0], from_pandas=False)})
    assert matching_rows(left, right, on=wm.equal("k"), window="1s") == [(1, 1), (2, 2)]
    assert matching_rows(left, right, on=wm.band("k", within=1), window="1s") == [(2, 2), (3, 2), (3, 3)]


def test_band_on_integers_does_not_overflow() -> None:
    low, high = -(2**63), 2**63 - 1
    left, right = pa.table({"ts": [0, 0], "k": [low, high]}), pa.table({"ts": [0, 0], "k": [low, high]})
    assert matching_rows(left, right, on=wm.band("k", within=0), window="1s") == [(0, 0), (1, 1)]
    every = matching_rows(left, right, on=wm.band("k", within=2**64 - 1), window="1s")
    assert len(every) == 4


@pytest.mark.parametrize(
    ("metric", "at_most", "expected"),
    [
        ("mean-abs", 1.5, [(0, 0), (0, 1)]),
        ("l2", 2.9, [(0, 0), (0, 1)]),
        ("hamming", 1, [(0, 0)]),
        ("cosine", 0.0, [(0, 0)]),
    ],
)
def test_distances_worked_by_hand(metric: Any, at_most: float, expected: list[tuple[int, int]]) -> None:
    kind = pa.list_(pa.int64(), 2)
    left = pa.table({"ts": [0], "v": pa.array([[1, 2]], kind)})
    right = pa.table({"ts": [0, 0, 0], "v": pa.array([[1, 2], [3, 1], [9, 9]], kind)})
    on = wm.distance("v", metric=metric, at_most=at_most)
    assert matching_rows(left, right, on=on, window="1s") == expected


def test_late_rule_counts_promises_and_does_not_depend_on_batches() -> None:
    judged = admit([10, 8, 7, None, 12, 9, 10], lateness=2, promises=[(4, 11), (6, 13)])
    assert judged.admitted == (True, True, False, True, True, False, False)
    assert (judged.late_rows, judged.bad_rows) == (3, 1)


# --- DuckDB ---------------------------------------------------------------------------------


def _condition(on: Any) -> str:
    """The predicate in SQL; sets without repeats and nulls."""
    match on:
        case Equal(left, right):
            return " AND ".join(f"l.{own} = r.{other}" for own, other in zip(left, right, strict=True))
        case Band(left, right, within):
            return f"abs(l.{left}::HUGEINT - r.{right}::HUGEINT) <= {within}"
    own, other = (f"list_distinct({side}.{name})" for side, name in (("l", on.left), ("r", on.right)))
    shared = f"len(list_intersect({own}, {other}))"
    every = f"(len({own}) + len({other}) - {shared})"
    match on:
        case Overlap():
            return f"{shared} >= {on.at_least}"
        case Subset():
            return f"{shared} = len({own})"
        case Superset():
            return f"{shared} = len({other})"
        case SameSet():
            return f"{shared} = {every}"
        case Jaccard():
            return f"{every} > 0 AND {shared} / {every} >= {on.at_least}"
    raise AssertionError(on)


FAMILIES = [
    "equal_int",
    "equal_text",
    "equal_composite",
    "overlap",
    "subset",
    "superset",
    "same_set",
    "jaccard",
]


@pytest.mark.parametrize("family", [*FAMILIES, "band"])
@pytest.mark.parametrize("seed", range(4))
def test_oracle_duckdb_agrees_with_the_definition(family: str, seed: int) -> None:
    rng = np.random.Generator(np.random.PCG64(9000 + seed))
    columns = draw_columns(rng, family, (120, 150))
    if family == "band" and any(not pa.types.is_integer(c.type) for c in columns.left.values()):
        values = pa.array(rng.integers(0, 30, 120)), pa.array(rng.integers(0, 30, 150))
        columns = type(columns)({"price": values[0]}, {"price": values[1]}, wm.band("price", within=2))
    tables = [
        pa.table(
            {"ts": np.sort(rng.integers(0, 60, len(next(iter(side.values()))))), **_listed(side, family)}
        )
        for side in (columns.left, columns.right)
    ]
    database = connection()
    database.register("l_rows", with_row_numbers(tables[0]))
    database.register("r_rows", with_row_numbers(tables[1]))
    found = database.execute(
        "SELECT l.at, r.at FROM l_rows l JOIN r_rows r ON r.ts - l.ts BETWEEN -7 AND 3"
        f" AND {_condition(columns.on)}"
    ).fetchall()
    expected = sorted_pairs([pair[0] for pair in found], [pair[1] for pair in found])
    actual = matching_rows(tables[0], tables[1], on=columns.on, window=("3us", "7us"))
    assert np.array_equal(sorted_pairs([p[0] or 0 for p in actual], [p[1] or 0 for p in actual]), expected)


def _listed(side: dict[str, pa.Array], family: str) -> dict[str, pa.Array]:
    """Columns as DuckDB's list functions take them: a plain value is a list of one, no dictionaries."""
    if family in ("equal_int", "equal_text", "equal_composite", "band"):
        return side
    plain = {}
    for name, values in side.items():
        kind = values.type
        nested = hasattr(kind, "value_type") and not pa.types.is_dictionary(kind)
        rows = values.to_pylist() if nested else [None if v is None else [v] for v in values.to_pylist()]
        rows = [None if row is None else [item for item in row if item is not None] for row in rows]
        text = any(isinstance(item, str) for row in rows if row for item in row)
        plain[name] = pa.array(rows, pa.list_(pa.string() if text else pa.int64()))
    return plain
