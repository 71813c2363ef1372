"""Thresholds met exactly, and missed by the smallest step: no rounding decides a pair."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.testing import keyed_stream, matching_rows, set_stream

INDEXES: list[dict[str, Any]] = [
    {"index": "scan"},
    {"index": "inverted", "merge": "heap"},
    {"index": "inverted", "merge": "count"},
    {"index": "inverted", "merge": "bitmap"},
    {"index": "inverted-by-id"},
    {},
]
each_index = pytest.mark.parametrize("options", INDEXES, ids=str)


def _rows(left: pa.Table, right: pa.Table, **options: Any) -> list[tuple[int, int]]:
    out = wm.join(left, right, window="1s", output="rows", **options)
    return list(zip(out["left_row"].to_pylist(), out["right_row"].to_pylist(), strict=True))


@each_index
def test_jaccard_threshold_is_inclusive_for_every_small_fraction(options: dict[str, Any]) -> None:
    for union in range(1, 13):
        for shared in range(1, union + 1):
            alone = union - shared  # items of the left set that the right one lacks
            left = pa.table({"ts": [0], "tags": [list(range(union))]})
            right = pa.table({"ts": [0], "tags": [list(range(alone, union))]})
            at_least = shared / union
            assert _rows(left, right, on=wm.jaccard("tags", at_least=at_least), **options) == [(0, 0)], (
                at_least
            )
            if shared < union:
                above = math.nextafter(at_least, 1)
                assert _rows(left, right, on=wm.jaccard("tags", at_least=above), **options) == [], above


@each_index
def test_overlap_threshold_is_inclusive(options: dict[str, Any]) -> None:
    sets = [list(range(size)) for size in range(1, 9)]
    table = pa.table({"ts": [0] * len(sets), "tags": sets})
    for at_least in range(1, 10):
        on = wm.overlap("tags", at_least=at_least)
        assert _rows(table, table, on=on, **options) == matching_rows(table, table, on=on, window="1s")


@each_index
def test_cosine_threshold_is_inclusive_for_right_triangles(options: dict[str, Any]) -> None:
    for short, long, hypotenuse in [(3, 4, 5), (5, 12, 13), (8, 15, 17), (20, 21, 29), (9, 40, 41)]:
        left = pa.table({"ts": [0], "kw": [["a", "b"]], "w": [[float(short), float(long)]]})
        right = pa.table({"ts": [0, 0], "kw": [["a"], ["b"]], "w": [[2.0], [0.5]]})
        for at_least, expected in [
            (short / hypotenuse, [(0, 0), (0, 1)]),
            (math.nextafter(short / hypotenuse, 1), [(0, 1)]),
            (long / hypotenuse, [(0, 1)]),
            (math.nextafter(long / hypotenuse, 1), []),
        ]:
            on = wm.cosine(items="kw", weights="w", at_least=at_least)
            assert _rows(left, right, on=on, **options) == expected, (short, long, at_least)


@each_index
def test_cosine_of_a_vector_with_itself_reaches_one(options: dict[str, Any]) -> None:
    table = pa.table({"ts": [0], "kw": [["a", "b", "c"]], "w": [[1.0, 2.0, 2.0]]})
    on = wm.cosine(items="kw", weights="w", at_least=1.0)
    assert _rows(table, table, on=on, **options) == [(0, 0)]


@each_index
def test_dot_threshold_is_inclusive_and_negative_weights_count(options: dict[str, Any]) -> None:
    left = pa.table({"ts": [0, 0], "kw": [[1, 2, 3]] * 2, "w": [[1.0, 1.0, -1.0], [2.0, -1.0, 0.5]]})
    right = pa.table({"ts": [0], "kw": [[3, 2, 1]], "w": [[-1.0, 0.5, 0.5]]})
    # 0.5 + 0.5 + 1 = 2 and 1 - 0.5 - 0.5 = 0
    for at_least, expected in [(2.0, [(0, 0)]), (math.nextafter(2.0, 3), []), (0.001, [(0, 0)])]:
        on = wm.dot(items="kw", weights="w", at_least=at_least)
        assert _rows(left, right, on=on, **options) == expected


def test_band_on_doubles_is_the_difference_in_doubles() -> None:
    prices = [place * 0.1 for place in range(60)] + [1e16, 1e16 + 2, -1e308, 1e308, math.inf, -math.inf]
    table = pa.table({"ts": [0] * len(prices), "price": prices})
    for within in (0.0, 0.1, 0.2, 0.30000000000000004, 2.0, 1e308):
        on = wm.band("price", within=within)
        assert _rows(table, table, on=on) == matching_rows(table, table, on=on, window="1s"), within


def test_band_on_mixed_integer_widths_and_decimals_is_exact() -> None:
    signed = pa.table({"ts": [0] * 3, "price": pa.array([-(2**63), 0, 2**63 - 1], pa.int64())})
    unsigned = pa.table({"ts": [0] * 3, "price": pa.array([0, 2**63, 2**64 - 1], pa.uint64())})
    for within in (0, 1, 2**63, 2**64):
        on = wm.band("price", within=within)
        assert _rows(signed, unsigned, on=on) == matching_rows(signed, unsigned, on=on, window="1s"), within
    kind = pa.decimal128(38, 10)
    texts = ["0.1", "0.3", "0.3000000001", "-9999999999999999999999999999.0000000001"]
    money = pa.table({"ts": [0] * 4, "price": pa.array([Decimal(text) for text in texts], kind)})
    on = wm.band("price", within=Decimal("0.2"))
    assert _rows(money, money, on=on) == matching_rows(money, money, on=on, window="1s")


def test_integer_keys_of_different_signedness_compare_by_value() -> None:
    left = pa.table({"ts": [0] * 3, "key": pa.array([-1, 0, 2**63 - 1], pa.int64())})
    right = pa.table({"ts": [0] * 3, "key": pa.array([2**64 - 1, 0, 2**63 - 1], pa.uint64())})
    assert _rows(left, right, on=wm.equal("key")) == [(1, 1), (2, 2)]


def test_composite_keys_do_not_run_into_each_other() -> None:
    left = pa.table({"ts": [0] * 3, "a": ["x", "xy", ""], "b": ["yz", "z", "xyz"]})
    right = pa.table({"ts": [0] * 2, "a": ["xy", "xyz"], "b": ["z", ""]})
    assert _rows(left, right, on=wm.equal("a", "b")) == [(1, 0)]


def test_keys_that_differ_only_after_a_zero_byte_or_in_length_differ() -> None:
    left = pa.table({"ts": [0] * 4, "key": ["a", "a\x00", "a\x00b", ""]})
    expected = [(row, row) for row in range(4)]
    assert _rows(left, left, on=wm.equal("key")) == expected
    binary = left.set_column(1, "key", left["key"].cast(pa.binary()))
    assert _rows(binary, binary, on=wm.equal("key")) == expected


def test_joins_in_several_threads_do_not_disturb_each_other() -> None:
    tables = [set_stream(seed, 3000, items=40, span=3000) for seed in range(4)]
    on = wm.overlap("tags", at_least=2)

    def work(place: int) -> pa.Table:
        return wm.join(tables[place], tables[(place + 1) % 4], on=on, window="40us")

    alone = [work(place) for place in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, range(4)))
    assert all(one.equals(two) for one, two in zip(alone, together, strict=True))


def test_arrival_time_does_not_change_an_exact_join() -> None:
    left, right = keyed_stream(1, 50), keyed_stream(2, 50)
    answers = []
    for at in (None, 12.5):
        join = wm.WindowJoin(wm.Stream("a", window="5us"), wm.Stream("b", window="5us"), on=wm.equal("key"))
        arrival = {} if at is None else {"at": at}
        out = [join.push("a", left, **arrival), join.push("b", right, **arrival), join.finish()]
        answers.append(pa.concat_tables([table for table in out if table.num_rows]))
    assert answers[0].equals(answers[1])


def test_same_input_gives_the_same_tables_again() -> None:
    left, right = keyed_stream(3, 400, keys=9), keyed_stream(4, 400, keys=9)

    def run() -> list[pa.Table]:
        join = wm.WindowJoin(wm.Stream("a", window="9us"), wm.Stream("b", window="9us"), on=wm.equal("key"))
        out = []
        for begin in range(0, 400, 37):
            out += [join.push("a", left.slice(begin, 37)), join.push("b", right.slice(begin, 37))]
        return [*out, join.finish()]

    assert all(one.equals(two) for one, two in zip(run(), run(), strict=True))


def test_results_released_by_a_push_are_complete_up_to_both_watermarks() -> None:
    """Nothing is kept back longer than needed: pairs come out with the push of their later member."""
    join = wm.WindowJoin(
        wm.Stream("a", window="100us"), wm.Stream("b", window="100us"), on=wm.equal("key"), output="rows"
    )
    total = 0
    for start in range(0, 100, 10):
        times = np.arange(start, start + 10)
        total += join.push("a", pa.table({"ts": times, "key": times})).num_rows
        total += join.push("b", pa.table({"ts": times, "key": times})).num_rows
        assert total >= start + 9, "only pairs at the very edge of both streams may wait"
