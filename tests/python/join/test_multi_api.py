from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.errors import ConfigError, OrderError, SchemaError, WatersmeetError

KEY = {("A", "B"): wm.equal("key"), ("B", "C"): wm.equal("key")}


def streams(window: str = "10s", **options: Any) -> list[wm.Stream]:
    return [wm.Stream(name, window=window, time_unit="s", **options) for name in "ABC"]


def batch(times: list[int | None], key: int = 1, **more: Any) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.int64()), "key": [key] * len(times), **more})


def test_columns_are_named_by_stream_and_rows_come_out_once_no_earlier_one_can_come() -> None:
    join = wm.MultiJoin(streams(), tree=(("A", "B"), "C"), on=KEY)
    assert join.push("A", batch([1], note=["a"])).num_rows == 0
    assert join.push("B", batch([2])).num_rows == 0
    assert join.push("C", batch([3])).num_rows == 0
    out = join.advance("B", to=4)
    assert out.num_rows == 0
    out = join.advance("A", to=4)
    assert out.to_pylist() == [
        {"A.ts": 1, "A.key": 1, "A.note": "a", "B.ts": 2, "B.key": 1, "C.ts": 3, "C.key": 1}
    ]
    assert join.finish().num_rows == 0


def test_the_window_of_each_stream_counts_back_from_the_newest_row() -> None:
    windows = {"A": "5s", "B": "3s", "C": "1s"}
    given = [wm.Stream(name, window=window, time_unit="s") for name, window in windows.items()]
    for times, expected in (((0, 2, 5), 1), ((0, 1, 5), 0), ((5, 2, 4), 1), ((5, 2, 3), 0), ((6, 6, 6), 1)):
        join = wm.MultiJoin(given, tree=("A", ("B", "C")), on=KEY)
        for name, ts in zip("ABC", times, strict=True):
            join.push(name, batch([ts]))
        assert join.finish().num_rows == expected, times


def test_a_failing_push_changes_nothing() -> None:
    def refuse(left: pa.Table, right: pa.Table) -> Any:
        if angry:
            raise ZeroDivisionError(angry.pop())
        return np.ones(len(left), np.bool_)

    angry = ["not today"]
    on = {("A", "B"): wm.equal("key") & wm.where(refuse), ("B", "C"): wm.equal("key")}
    join = wm.MultiJoin(streams(), tree=(("A", "B"), "C"), on=on)
    join.push("A", batch([1, 5]))
    join.push("B", batch([2]))
    with pytest.raises(ZeroDivisionError, match="not today"):
        join.push("C", batch([3]))
    join.push("C", batch([3]))
    join.push("B", batch([8]))
    before = join.metrics
    with pytest.raises(OrderError, match="1 comes after 8"):
        join.push("B", batch([1]))
    with pytest.raises(SchemaError, match="'key' was there before"):
        join.push("B", pa.table({"ts": [9]}))
    angry.append("nor now")
    with pytest.raises(ZeroDivisionError, match="nor now"):
        join.push("C", batch([9]))
    assert (join.metrics.results, join.metrics.half_joins) == (before.results, before.half_joins)
    assert [each.rows for each in join.metrics.streams] == [2, 2, 1]
    join.push("C", batch([9]))
    join.finish()
    assert join.metrics.results == 8


def test_a_batch_that_no_core_could_take_is_refused_before_all_streams_are_known() -> None:
    on = {("A", "B"): wm.dot(items="items", weights="weights", at_least=1.0), ("B", "C"): wm.equal("key")}
    join = wm.MultiJoin(streams(), tree=(("A", "B"), "C"), on=on)
    good = pa.table({"ts": [1], "items": [[1]], "weights": [[1.0]], "key": [1]})
    with pytest.raises(SchemaError, match="dot"):
        join.push("A", good.set_column(2, "weights", pa.array([[float("nan")]])))
    join.push("A", good)
    join.push("B", good)
    join.push("C", batch([1]))
    assert join.finish().num_rows == 1


def test_types_that_are_not_compared_are_refused_with_both_names() -> None:
    join = wm.MultiJoin(streams(), tree=(("A", "B"), "C"), on=KEY)
    join.push("A", batch([1]))
    with pytest.raises(SchemaError, match="'A' is int64, column 'key' of stream 'B' is string"):
        join.push("B", pa.table({"ts": [1], "key": ["x"]}))
    join.push("B", batch([1]))


def test_rows_without_a_time_or_a_key_match_nothing_and_are_counted() -> None:
    join = wm.MultiJoin(streams(), tree=(("A", "B"), "C"), on=KEY)
    join.push("A", batch([None, 1]))
    join.push("B", pa.table({"ts": [1, 1], "key": [1, None]}))
    join.push("C", batch([1]))
    assert join.finish().num_rows == 1
    assert join.metrics.stream("A").bad_rows == 1


@pytest.mark.parametrize("seed", range(4))
def test_rows_out_of_order_within_the_lateness_give_the_answer_of_rows_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables, ordered = {}, {}
    for name in "ABC":
        times = np.sort(rng.integers(0, 60, 40))
        table = pa.table({"ts": times, "key": rng.integers(0, 4, 40), "row": np.arange(40)})
        ordered[name] = table
        tables[name] = table.take(np.argsort(times + rng.integers(0, 5, 40), kind="stable"))

    def run(given: dict[str, pa.Table], lateness: str | None) -> list[Any]:
        join = wm.MultiJoin(streams("4s", lateness=lateness), tree=("C", ("A", "B")), on=KEY)
        out = []
        for start in range(0, 40, 7):
            out += [join.push(name, table.slice(start, 7)) for name, table in given.items()]
        out.append(join.finish())
        found = pa.concat_tables([each for each in out if each.num_columns])
        return sorted(zip(*(found[f"{name}.row"].to_pylist() for name in "ABC"), strict=True))

    assert run(tables, "5s") == run(ordered, None) != []


def test_row_numbers_survive_reordering_bad_rows_and_late_rows() -> None:
    join = wm.MultiJoin(streams(lateness="2s", on_late="keep"), tree=(("A", "B"), "C"), on=KEY, output="rows")
    join.push("A", batch([4, None, 3]))
    join.push("A", batch([1, 5]))
    assert join.late("A").column_names == ["ts", "key"]
    join.push("B", batch([5]))
    join.push("C", batch([5]))
    out = join.finish()
    assert sorted(out["A.row"].to_pylist()) == [0, 2, 4]
    assert out.column_names == ["A.row", "B.row", "C.row"]


def test_late_rows_are_counted_kept_or_refused() -> None:
    for on_late in ("count", "keep", "raise"):
        join = wm.MultiJoin(streams(lateness="2s", on_late=on_late), tree=(("A", "B"), "C"), on=KEY)
        join.push("A", batch([10, 9]))
        if on_late == "raise":
            with pytest.raises(OrderError, match="7 is late: the stream is complete up to 8"):
                join.push("A", batch([8, 7]))
            assert join.metrics.stream("A").rows == 2
            continue
        join.push("A", batch([8, 7]))
        assert join.metrics.stream("A").late_rows == 1
        assert join.late("A").num_rows == (1 if on_late == "keep" else 0)
        assert join.late("A").num_rows == 0


def test_counters_of_a_stream_balance() -> None:
    rng = np.random.default_rng(3)
    join = wm.MultiJoin(streams("2s", lateness="1s"), tree=(("A", "B"), "C"), on=KEY)
    for start in range(0, 50, 5):
        for name in "ABC":
            join.push(name, batch(list(start + rng.integers(-3, 5, 6)), key=1))
            for each in join.metrics.streams:
                kept = each.window_rows + each.pending_rows + each.expired_rows
                assert each.rows == kept + each.bad_rows + each.late_rows


def test_no_result_holds_a_row_older_than_its_freshness() -> None:
    rng = np.random.default_rng(5)
    given = [
        wm.Stream(name, window=window, time_unit="s", freshness="4s")
        for name, window in zip("ABC", ("50i", "20s", "30i"), strict=True)
    ]
    join = wm.MultiJoin(given, tree=(("A", "B"), "C"), on=KEY)
    out = []
    for start in range(0, 200, 10):
        for name in "ABC":
            times = np.sort(rng.integers(start, start + 10, 12))
            out.append(join.push(name, pa.table({"ts": times, "key": rng.integers(0, 3, 12)})))
    out.append(join.finish())
    found = pa.concat_tables([each for each in out if each.num_columns])
    assert found.num_rows > 500
    times = np.stack([found[f"{name}.ts"].to_numpy() for name in "ABC"])
    assert (times.max(axis=0) - times).max() == 4
    ages = join.metrics.freshness
    assert {name: each.largest_s for name, each in ages.items()} == dict.fromkeys("ABC", 4.0)
    assert all(each.results == found.num_rows and each.median_s <= each.p99_s for each in ages.values())


def test_promises_may_be_datetimes_and_may_come_before_the_first_row() -> None:
    given = [wm.Stream(name, window="10s") for name in "ABC"]
    join = wm.MultiJoin(given, tree=(("A", "B"), "C"), on=KEY)
    moment = pa.array([1_000_000], pa.timestamp("us"))
    join.advance("C", to=dt.datetime(1970, 1, 1, 0, 0, 5))
    join.push("A", pa.table({"ts": moment, "key": [1]}))
    join.push("B", pa.table({"ts": moment, "key": [1]}))
    with pytest.raises(OrderError, match="comes after"):
        join.push("C", pa.table({"ts": moment, "key": [1]}))
    late = pa.array([6_000_000], pa.timestamp("us"))
    join.push("C", pa.table({"ts": late, "key": [1]}))
    assert join.finish().num_rows == 1


def test_after_finish_nothing_can_be_pushed() -> None:
    join = wm.MultiJoin(streams(), tree=(("A", "B"), "C"), on=KEY)
    join.push("A", batch([1]))
    assert join.finish().num_rows == 0
    with pytest.raises(WatersmeetError, match="after finish"):
        join.push("A", batch([2]))
    assert join.finish().num_rows == 0


def test_streams_with_one_row_number_type_and_unit_each_meet_in_one_unit() -> None:
    given = [
        wm.Stream("A", window="1s", time_unit="s"),
        wm.Stream("B", window="1500ms"),
        wm.Stream("C", window="2i", time_unit="ns"),
    ]
    join = wm.MultiJoin(given, tree=(("A", "B"), "C"), on=KEY)
    join.push("A", batch([1, 2]))
    join.push("B", pa.table({"ts": pa.array([600, 2000], pa.timestamp("ms")), "key": [1, 1]}))
    join.push("C", batch([2_000_000_000, 2_100_000_000]))
    out = join.finish()
    assert sorted(zip(out["A.ts"].to_pylist(), out["C.ts"].to_pylist(), strict=True)) == [
        (1, 2_000_000_000),
        (1, 2_000_000_000),
        (2, 2_000_000_000),
        (2, 2_000_000_000),
        (2, 2_100_000_000),
        (2, 2_100_000_000),
    ]


def test_a_function_may_not_call_the_join_that_called_it() -> None:
    def nosy(left: pa.Table, right: pa.Table) -> Any:
        join.metrics  # noqa: B018
        return np.ones(len(left), np.bool_)

    join = wm.MultiJoin(streams(), tree=(("A", "B"), "C"), on={("A", "B"): wm.where(nosy)})
    join.push("A", batch([1]))
    join.push("B", batch([1]))
    join.push("C", batch([2]))
    with pytest.raises(WatersmeetError, match="inside its own"):
        join.finish()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"streams": streams()[:1]}, "1 given; expected 2 to 8"),
        ({"streams": [wm.Stream(str(n), window="1s") for n in range(9)]}, "9 given; expected 2 to 8"),
        ({"streams": ["A", "B"]}, "a list of wm.Stream"),
        ({"streams": [*streams(), wm.Stream("A", window="1s")]}, "two streams have the name 'A'"),
        ({"streams": [wm.Stream("A"), *streams()[1:]]}, "'A': window is missing"),
        ({"streams": [wm.Stream("A+", window="1s"), *streams()[1:]]}, r"'\+' in the name"),
        ({"order": "filter-order", "budget": 10.0}, "a budget is spent in the order of time"),
        ({"memory_limit": "1MiB"}, "memory_limit"),
        ({"tree": ("A", "B")}, "expected the streams 'A', 'B', 'C', each once"),
        ({"tree": (("A", "B"), "Z")}, "each once"),
        ({"tree": "best"}, "two streams or more"),
        ({"on": wm.equal("key")}, "a mapping from pairs of streams"),
        ({"on": {("A", "Z"): wm.equal("key")}}, r"on: \('A', 'Z'\): expected a pair"),
        ({"on": {("A", "B"): "key"}}, "expected a predicate"),
        ({"on": {("A", "B"): wm.equal("key"), ("B", "A"): wm.equal("key")}}, "given twice"),
        ({"budget": -1}, "budget=-1"),
        ({"budget": True}, "budget=True"),
        ({"policy": "best"}, "policy='best': expected one of 'jaqpot'"),
        ({"monitor": "0s"}, "monitor='0s'"),
        ({"monitor": "5i"}, "monitor"),
        ({"analysis": "later"}, "analysis='later'"),
        ({"explore": 0.9}, "explore=0.9"),
        ({"output": "pairs"}, "output='pairs'"),
        ({"analyse_above": -1.0}, "analyse_above=-1.0"),
    ],
)
def test_a_bad_argument_is_refused_with_its_reason(change: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"streams": streams(), "tree": (("A", "B"), "C"), "on": KEY, **change}
    given = arguments.pop("streams")
    with pytest.raises(ConfigError, match=words):
        wm.MultiJoin(given, **arguments)


def test_an_unknown_stream_is_refused_by_name() -> None:
    join = wm.MultiJoin(streams(), tree=(("A", "B"), "C"), on=KEY)
    with pytest.raises(ConfigError, match="stream='Z': expected one of 'A', 'B', 'C'"):
        join.push("Z", batch([1]))
    assert repr(join) == "MultiJoin(['A', 'B', 'C'], tree=(('A', 'B'), 'C'), budget=None)"
    assert "exact" in str(join.explain())
