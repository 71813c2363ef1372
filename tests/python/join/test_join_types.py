"""Types that meet in other forms, plans made again for the second stream, payload that outlives its input."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.testing import matching_rows


def _pairs(*tables: pa.Table) -> list[tuple[Any, ...]]:
    return [pair for table in tables for pair in zip(*(c.to_pylist() for c in table.columns), strict=True)]


def _join(on: Any, window: Any = "10us", **options: Any) -> wm.WindowJoin:
    streams = (wm.Stream("a", window=window), wm.Stream("b", window=window))
    return wm.WindowJoin(*streams, on=on, **{"output": "rows", **options})


KEYS: list[tuple[pa.Array, pa.Array]] = [
    (pa.array([-1, 5, 7], pa.int64()), pa.array([2**64 - 1, 5, 7], pa.uint64())),
    (pa.array([5, 7, 9], pa.uint64()), pa.array([5, -7, 9], pa.int8())),
    (pa.array([1, 2, 3], pa.timestamp("s")), pa.array([1000, 2001, 3000], pa.timestamp("ms"))),
    (pa.array([1, 2, 3], pa.time32("s")), pa.array([10**9, 5, 3 * 10**9], pa.time64("ns"))),
    (pa.array([1, 2, 3], pa.date32()), pa.array([86_400_000, 0, 259_200_000], pa.date64())),
    (
        pa.array([Decimal("1.5"), Decimal("2.25"), None], pa.decimal128(10, 2)),
        pa.array([Decimal("1.500"), Decimal("2.251"), None], pa.decimal256(50, 3)),
    ),
    (pa.array(["x", "y", None]), pa.array(["x", "z", None], pa.string_view())),
    (pa.array(["x", "y", "z"]).dictionary_encode(), pa.array(["x", "z", "z"], pa.large_string())),
    (pa.array([b"ab", b"cd", b"ef"], pa.binary(2)), pa.array([b"ab", b"c", b"ef"])),
    (pa.array([0.5, -0.0, 2.0], pa.float32()), pa.array(np.array([0.5, 0.0, 3.0], np.float16))),
    (pa.nulls(3), pa.array([1, 2, 3])),
    (
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([4, 6])),
        pa.array([4, 5, 6]),
    ),
]


@pytest.mark.parametrize("place", range(len(KEYS)), ids=lambda place: str(KEYS[place][1].type))
@pytest.mark.parametrize("flipped", [False, True])
def test_keys_of_kindred_types_meet_by_value_whichever_side_comes_first(place: int, flipped: bool) -> None:
    own, other = KEYS[place][::-1] if flipped else KEYS[place]
    left, right = pa.table({"ts": [1, 2, 3], "key": own}), pa.table({"ts": [1, 2, 3], "key": other})
    values = own.to_pylist(), other.to_pylist()
    wanted = sorted(
        (row, partner)
        for row, one in enumerate(values[0])
        for partner, two in enumerate(values[1])
        if one is not None and one == two
    )
    join = _join(wm.equal("key"))
    assert sorted(_pairs(join.push("a", left), join.push("b", right), join.finish())) == wanted
    join = _join(wm.equal("key"))
    assert sorted(_pairs(join.push("b", right), join.push("a", left), join.finish())) == wanted


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_view(pa.int64()),
        pa.large_list_view(pa.int64()),
        pa.list_(pa.dictionary(pa.int8(), pa.int64())),
    ],
)
def test_sets_of_other_layouts_are_read(kind: pa.DataType) -> None:
    values = [[1, 2], None, [], [3, None]]
    plain = pa.table({"ts": [1, 2, 3, 4], "tags": pa.array(values, pa.list_(pa.int64()))})
    if pa.types.is_list(kind):
        flat = pa.array([1, 2, 3, None]).dictionary_encode()
        column = pa.ListArray.from_arrays(pa.array([0, 2, None, 2, 4], pa.int32()), flat)
    else:
        column = pa.array(values, kind)
    other = pa.table({"ts": [1, 2, 3, 4], "tags": column})
    on = wm.overlap("tags", at_least=1)
    expected = matching_rows(plain, plain, on=on, window="9us")
    assert _pairs(wm.join(plain, other, on=on, window="9us", output="rows")) == expected
    sliced = wm.join(plain, other.slice(1), on=on, window="9us", output="rows")
    assert _pairs(sliced) == [(3, 2)]


@pytest.mark.parametrize("how", ["inner", "left", "full", "anti"])
def test_finer_second_stream_finds_rows_that_a_coarser_plan_would_have_let_go(how: Any) -> None:
    """Seconds come first, the other stream promises 2.5 s, then comes in milliseconds."""
    seconds = pa.table({"ts": pa.array([0, 1, 3], pa.timestamp("s"))})
    millis = pa.table({"ts": pa.array([2500], pa.timestamp("ms"))})
    join = _join(None, "1500ms", how=how)
    out = [join.push("a", seconds), join.advance("b", to=dt.datetime(1970, 1, 1, 0, 0, 2, 500_000))]
    restored = wm.WindowJoin.restore(join.snapshot())
    rest = [join.push("b", millis), join.finish()]
    again = [restored.push("b", millis), restored.finish()]
    assert _pairs(*again) == _pairs(*rest)
    wanted = matching_rows(seconds, millis, window="1500ms", how=how)
    assert sorted(map(str, _pairs(*out, *rest))) == sorted(
        str(pair if how != "anti" else pair[:1]) for pair in wanted
    )


def test_stream_that_needs_another_plan_after_many_rows_have_gone_is_told_what_to_do() -> None:
    rows = 200_000
    join = _join(None)
    join.push("a", pa.table({"ts": np.arange(rows)}))
    join.advance("b", to=rows)
    with pytest.raises(wm.SchemaError, match="empty batch of 'b'"):
        join.push("b", pa.table({"ts": pa.array([rows * 1000], pa.timestamp("ns"))}))
    assert join.push("b", pa.table({"ts": [rows]})).num_rows == 10
    declared = _join(None)
    declared.push("b", pa.table({"ts": pa.array([], pa.timestamp("ns"))}))
    declared.push("a", pa.table({"ts": np.arange(rows)}))
    declared.advance("b", to=pa.scalar(rows * 1000, pa.timestamp("ns")))
    assert declared.push("b", pa.table({"ts": pa.array([rows * 1000], pa.timestamp("ns"))})).num_rows == 10


def test_band_needs_a_span_for_times_and_a_number_for_numbers() -> None:
    times = pa.table({"ts": [1], "v": pa.array([1], pa.timestamp("s"))})
    numbers = pa.table({"ts": [1], "v": [1]})
    days = pa.table({"ts": [1, 1], "v": pa.array([1, 3], pa.date32())})
    with pytest.raises(wm.SchemaError, match="'v'"):
        wm.join(times, times, on=wm.band("v", within=1), window="1s")
    with pytest.raises(wm.SchemaError, match="'v'"):
        wm.join(numbers, numbers, on=wm.band("v", within="1s"), window="1s")
    with pytest.raises(wm.SchemaError, match="'v'"):
        wm.join(times, numbers, on=wm.band("v", within="1s"), window="1s")
    assert wm.join(days, days, on=wm.band("v", within="1d"), window="1s").num_rows == 2
    assert wm.join(days, days, on=wm.band("v", within="2d"), window="1s").num_rows == 4


def test_payload_does_not_change_when_the_caller_reuses_its_arrays() -> None:
    values, frame = np.array([10, 20]), pd.DataFrame({"ts": [1, 2], "v": [1, 2]})
    join = _join(None, output="columns")
    join.push("a", {"ts": np.array([1, 2]), "v": values})
    values[:] = -1
    out = join.push("b", frame)
    frame.loc[:, "v"] = -1
    assert sorted(out["v"].to_pylist()) == [10, 10, 20, 20]
    assert sorted(join.push("a", {"ts": np.array([3]), "v": np.array([30])})["v_right"].to_pylist()) == [1, 2]


def test_differential_payload_of_many_small_batches_is_that_of_whole_tables() -> None:
    """Bits, nulls, numbers of every width, text and lists, gathered across blocks that merge and go."""
    rng = np.random.Generator(np.random.PCG64(5))
    rows = 4000
    blank = rng.random(rows) < 0.1

    def table(seed: int) -> pa.Table:
        words = pa.array([f"word {number}" for number in rng.integers(0, 99, rows)], mask=blank)
        return pa.table(
            {
                "ts": np.arange(rows) + seed,
                "key": rng.integers(0, 50, rows),
                "bit": pa.array(rng.random(rows) < 0.5, mask=blank),
                "small": pa.array(rng.integers(0, 9, rows), pa.int8(), mask=blank),
                "money": pa.array(rng.integers(0, 9, rows)).cast(pa.decimal128(30, 2)),
                "word": words,
                "coded": words.dictionary_encode(),
                "list": pa.array([[number] * (number % 3) for number in range(rows)]),
            }
        )

    left, right = table(0), table(1)
    for how in ("inner", "full"):
        whole = wm.join(left, right, on=wm.equal("key"), window="60us", how=how)
        live = _join(
            wm.equal("key"),
            "60us",
            output="columns",
            how=how,
            order="filter-order" if how == "inner" else None,
        )
        out, begin = [], 0
        while begin < rows:
            step = int(rng.integers(1, 120))
            out += [live.push("a", left.slice(begin, step)), live.push("b", right.slice(begin, step))]
            if rng.random() < 0.1:
                live = wm.WindowJoin.restore(live.snapshot())
            begin += step
        pieces = pa.concat_tables([piece for piece in [*out, live.finish()] if piece.num_rows])
        assert pieces.schema.equals(whole.schema)
        got, wanted = map(str, pieces.to_pylist()), map(str, whole.to_pylist())
        assert list(got) == list(wanted) if how == "inner" else sorted(got) == sorted(wanted)


@pytest.mark.parametrize("order", ["sync-filter", "filter-order"])
def test_ordered_live_results_come_by_result_time_then_rows(order: Any) -> None:
    rng = np.random.Generator(np.random.PCG64(8))
    tables = [
        pa.table({"ts": np.sort(rng.integers(0, 300, 400)), "key": rng.integers(0, 6, 400)}) for _ in "ab"
    ]
    join = _join(wm.equal("key"), "9us", order=order)
    out = []
    for begin in range(0, 400, 40):
        out += [join.push("a", tables[0].slice(begin, 40)), join.push("b", tables[1].slice(begin, 40))]
    assert _pairs(*out, join.finish()) == matching_rows(*tables, on=wm.equal("key"), window="9us")


def test_explanation_says_what_drives_what_checks_and_what_is_asked() -> None:
    on = wm.where(lambda left, right: np.ones(left.num_rows, bool)) & wm.band("v", within=1) & wm.equal("key")
    join = _join(on, order="sync-filter")
    text = str(join.explain())
    for part in ("candidates by equal(key)", "band(v, within=1)", "where(<lambda>)", "hash", "sync-filter"):
        assert part in text
    with pytest.raises(wm.ConfigError, match="snapshot"):
        join.snapshot()


_UNION = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])])


@pytest.mark.parametrize(
    "values",
    [
        pa.nulls(2).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([[1], [2]])),
        _UNION,
        pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), _UNION),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array([4, 6])),
    ],
    ids=["nulls", "dictionary of lists", "union", "list of unions", "runs"],
)
def test_payload_of_rare_types_is_carried_live_and_through_empty_batches(values: pa.Array) -> None:
    rows = pa.table({"ts": [1, 2], "p": values})
    options: dict[str, Any] = {"window": "0us", "lateness": "0us", "on_late": "keep"}
    two = wm.WindowJoin(wm.Stream("a", **options), wm.Stream("b", **options))
    streams = [wm.Stream(name, window="0us") for name in "ab"]
    for join in (two, wm.MultiJoin(streams), wm.RingJoin(streams)):
        for name in "ab":
            join.push(name, rows.slice(0, 0))
        parts = [join.push("a", rows), join.push("b", rows), join.finish()]
        out = pa.concat_tables([part for part in parts if part.num_rows])
        assert out.column(1).to_pylist() == out.column(3).to_pylist() == values.to_pylist(), type(join)
    assert two.late("a").num_rows == 0
