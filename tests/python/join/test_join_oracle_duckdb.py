"""The engine against DuckDB: random streams of 10^4 to 10^5 rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.sql import jaccard, overlap, sorted_pairs, sql_pairs

import watersmeet as wm

SECOND = 1_000_000


def _times(rng: np.random.Generator, rows: int, rate_per_s: int) -> np.ndarray[Any, Any]:
    """Sorted times in us; milliseconds only, so that many tie."""
    return np.sort(rng.integers(0, rows * 1000 // rate_per_s, rows)) * 1000


def _sets(rng: np.random.Generator, rows: int, *, domain: int, skew: float, kind: pa.DataType) -> pa.Array:
    """Sets of 1 to 8 distinct items, popular ones more often."""
    sizes = rng.integers(1, 9, rows)
    weights = np.arange(1, domain + 1) ** -skew
    finish = rng.standard_exponential((rows, domain)) / weights
    items = np.argpartition(finish, 8, axis=1)[:, :8]
    flat = items[np.arange(8) < sizes[:, None]]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat).cast(kind))


def _both(make: Any, *, rows: int, rate: int, seed: int) -> tuple[pa.Table, pa.Table]:
    rng = np.random.Generator(np.random.PCG64(seed))
    tables = [pa.table({"ts": _times(rng, rows, rate), **make(rng, rows)}) for _ in range(2)]
    return tables[0], tables[1]


def _assert_same(
    left: pa.Table, right: pa.Table, *, on: Any, condition: str, between: tuple[int, int]
) -> None:
    expected = sql_pairs(left, right, condition=condition, between=between)
    bounds = (f"{between[0]}us", f"{between[1]}us")
    table = wm.join(left, right, on=on, between=bounds, time="ts", output="rows")
    actual = sorted_pairs(table["left_row"].to_numpy(), table["right_row"].to_numpy())
    assert len(expected) > 100, "the workload is to have results"
    np.testing.assert_array_equal(actual, expected)
    _assert_live_is_same(left, right, on=on, bounds=bounds, expected=expected)


def _assert_live_is_same(
    left: pa.Table, right: pa.Table, *, on: Any, bounds: tuple[str, str], expected: Any
) -> None:
    join = wm.WindowJoin(wm.Stream("l"), wm.Stream("r"), on=on, between=bounds, output="rows")
    pieces = []
    for begin in range(0, max(len(left), len(right)), 997):
        pieces.append(join.push("l", left.slice(begin, 997)))
        pieces.append(join.push("r", right.slice(begin, 997)))
    pieces.append(join.finish())
    table = pa.concat_tables(pieces)
    actual = sorted_pairs(table["left_row"].to_numpy(), table["right_row"].to_numpy())
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("between_s", [(-10, 10), (-1, 5), (0, 10), (2, 4)])
def test_oracle_duckdb_equal_on_integers(between_s: tuple[int, int]) -> None:
    left, right = _both(lambda rng, n: {"key": rng.integers(0, 5000, n)}, rows=100_000, rate=1000, seed=11)
    between = (between_s[0] * SECOND, between_s[1] * SECOND)
    _assert_same(left, right, on=wm.equal("key"), condition="l.key = r.key", between=between)


def test_oracle_duckdb_equal_on_skewed_keys() -> None:
    left, right = _both(lambda rng, n: {"key": rng.zipf(1.4, n) % 10_000}, rows=20_000, rate=1000, seed=12)
    _assert_same(left, right, on=wm.equal("key"), condition="l.key = r.key", between=(-SECOND, SECOND))


def test_oracle_duckdb_equal_on_strings_and_composite() -> None:
    def columns(rng: np.random.Generator, rows: int) -> dict[str, Any]:
        words = pa.array([f"host-{number:05d}.example" for number in range(500)])
        return {"host": words.take(pa.array(rng.integers(0, 500, rows))), "port": rng.integers(0, 4, rows)}

    left, right = _both(columns, rows=50_000, rate=500, seed=13)
    _assert_same(left, right, on=wm.equal("host"), condition="l.host = r.host", between=(-SECOND, SECOND))
    both = "l.host = r.host AND l.port = r.port"
    _assert_same(left, right, on=wm.equal("host", "port"), condition=both, between=(-3 * SECOND, 2 * SECOND))


def test_oracle_duckdb_band_on_integers() -> None:
    left, right = _both(lambda rng, n: {"price": rng.integers(0, 10_000, n)}, rows=30_000, rate=200, seed=14)
    condition = "abs(l.price - r.price) <= 25"
    _assert_same(left, right, on=wm.band("price", within=25), condition=condition, between=(-SECOND, SECOND))


def test_oracle_duckdb_band_on_doubles() -> None:
    left, right = _both(lambda rng, n: {"price": rng.normal(100, 10, n)}, rows=30_000, rate=200, seed=15)
    condition = "abs(l.price - r.price) <= 0.1"
    _assert_same(left, right, on=wm.band("price", within=0.1), condition=condition, between=(-SECOND, SECOND))


@pytest.mark.parametrize("kind", [pa.int32(), pa.string()])
@pytest.mark.parametrize("at_least", [1, 3])
def test_oracle_duckdb_overlap(kind: pa.DataType, at_least: int) -> None:
    left, right = _both(
        lambda rng, n: {"tags": _sets(rng, n, domain=100, skew=0.6, kind=kind)},
        rows=10_000,
        rate=200,
        seed=16,
    )
    condition = overlap("l.tags", "r.tags", at_least)
    _assert_same(
        left, right, on=wm.overlap("tags", at_least=at_least), condition=condition, between=(-SECOND, SECOND)
    )


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 3), (3, 5), (4, 5)])
def test_oracle_duckdb_jaccard(numerator: int, denominator: int) -> None:
    left, right = _both(
        lambda rng, n: {"tags": _sets(rng, n, domain=60, skew=1.0, kind=pa.int32())},
        rows=10_000,
        rate=200,
        seed=17,
    )
    condition = jaccard("l.tags", "r.tags", numerator, denominator)
    on = wm.jaccard("tags", at_least=numerator / denominator)
    _assert_same(left, right, on=on, condition=condition, between=(-2 * SECOND, 2 * SECOND))


def test_oracle_duckdb_every_pair_in_the_window() -> None:
    left, right = _both(lambda rng, n: {"value": np.arange(n)}, rows=20_000, rate=1000, seed=18)
    _assert_same(left, right, on=None, condition="true", between=(-2_000, 5_000))


def test_oracle_duckdb_conjunction_of_overlap_band_and_equal() -> None:
    def columns(rng: np.random.Generator, rows: int) -> dict[str, Any]:
        return {
            "tags": _sets(rng, rows, domain=40, skew=0.5, kind=pa.int32()),
            "price": rng.integers(0, 100, rows),
            "side": rng.integers(0, 2, rows).astype(bool),
        }

    left, right = _both(columns, rows=10_000, rate=200, seed=19)
    on = wm.overlap("tags", at_least=2) & wm.band("price", within=10) & wm.equal("side")
    condition = f"{overlap('l.tags', 'r.tags', 2)} AND abs(l.price - r.price) <= 10 AND l.side = r.side"
    _assert_same(left, right, on=on, condition=condition, between=(-2 * SECOND, SECOND))
