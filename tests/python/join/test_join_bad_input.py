"""Bad input: what is refused, with which message, and that the join goes on as if it had never come."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.testing import matching_rows

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def _pairs(*tables: pa.Table) -> list[tuple[Any, ...]]:
    return [pair for table in tables for pair in zip(*(c.to_pylist() for c in table.columns), strict=True)]


def _join(on: Any, window: Any = "10us", **options: Any) -> wm.WindowJoin:
    return wm.WindowJoin(
        wm.Stream("a", window=window), wm.Stream("b", window=window), on=on, output="rows", **options
    )


def _as_if_it_never_happened(on: Any, good: pa.Table, misdeed: Callable[[wm.WindowJoin], None]) -> None:
    """A join disturbed around good pushes gives the answer and the counters of one that is not."""
    quiet, disturbed = _join(on), _join(on)
    answers = []
    for join, disturb in ((quiet, None), (disturbed, misdeed)):
        out = []
        for begin in range(0, len(good), 2):
            for stream in ("a", "b"):
                if disturb is not None:
                    disturb(join)
                out.append(join.push(stream, good.slice(begin, 2)))
        if disturb is not None:
            disturb(join)
        out.append(join.finish())
        answers.append(_pairs(*out))
    assert answers[1] == answers[0]
    assert sorted(answers[0]) == sorted(matching_rows(good, good, on=on, window="10us"))
    assert disturbed.metrics == quiet.metrics


GOOD = pa.table(
    {
        "ts": [1, 2, 3, 4, 5, 6],
        "key": ["x", "y", "x", "x", "y", "z"],
        "tags": [[1], [1, 2], [2], [], [1], [2]],
        "kw": [["p"], ["p", "q"], ["q"], [], ["p"], ["q"]],
        "w": [[1.0], [0.5, 0.5], [2.0], [], [1.0], [0.25]],
        "price": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)
PREDICATES: dict[str, Any] = {
    "equal": wm.equal("key"),
    "overlap": wm.overlap("tags", at_least=1),
    "cosine": wm.cosine(items="kw", weights="w", at_least=0.5),
    "band": wm.band("price", within=1.5),
}
each_predicate = pytest.mark.parametrize("name", PREDICATES)


def _with(column: str, values: Any, rows: int = 2) -> pa.Table:
    """A good batch, later than all of GOOD, with one column put in the place of another."""
    table = GOOD.slice(0, rows).set_column(0, "ts", pa.array([50 + row for row in range(rows)]))
    return table.set_column(table.column_names.index(column), column, values)


def _refused(table: Any, column: str) -> Callable[[wm.WindowJoin], None]:
    def push(join: wm.WindowJoin) -> None:
        for stream in ("a", "b"):
            with pytest.raises(wm.SchemaError, match=column):
                join.push(stream, table)

    return push


# --- columns --------------------------------------------------------------------------------


@each_predicate
def test_missing_column_is_refused_by_name(name: str) -> None:
    column = {"equal": "key", "overlap": "tags", "cosine": "w", "band": "price"}[name]
    _as_if_it_never_happened(PREDICATES[name], GOOD, _refused(GOOD.drop_columns([column]), column))
    _as_if_it_never_happened(PREDICATES[name], GOOD, _refused(GOOD.drop_columns(["ts"]), "ts"))


@each_predicate
def test_duplicate_column_is_refused_by_name(name: str) -> None:
    for column in {"equal": ["key", "ts"], "overlap": ["tags"], "cosine": ["kw"], "band": ["price"]}[name]:
        twice = GOOD.append_column(column, GOOD[column])
        _as_if_it_never_happened(PREDICATES[name], GOOD, _refused(twice, column))


WRONG_TYPES: list[tuple[str, str, Any]] = [
    ("equal", "key", pa.array([[1], [2]])),
    ("equal", "key", pa.array([{"a": 1}, {"a": 2}])),
    ("equal", "key", pa.array([1, 2])),
    ("equal", "key", pa.array([1.0, 2.0])),
    ("overlap", "tags", pa.array([[1.5], [2.5]])),
    ("overlap", "tags", pa.array([["x"], ["y"]])),
    ("overlap", "tags", pa.array([[[1]], [[2]]])),
    ("cosine", "kw", pa.array(["p", "q"])),
    ("cosine", "w", pa.array([["x"], ["y"]])),
    ("cosine", "w", pa.array([1.0, 2.0])),
    ("band", "price", pa.array(["1", "2"])),
    ("band", "price", pa.array([True, False])),
    ("band", "price", pa.array([[1.0], [2.0]])),
]


@pytest.mark.parametrize(
    ("name", "column", "values"), WRONG_TYPES, ids=lambda value: str(getattr(value, "type", value))
)
def test_wrong_typed_column_is_refused_by_name(name: str, column: str, values: Any) -> None:
    bad = _with(column, values)

    def push_after_good(join: wm.WindowJoin) -> None:
        if join.metrics.stream("a").rows and join.metrics.stream("b").rows:  # the types are known now
            _refused(bad, column)(join)

    _as_if_it_never_happened(PREDICATES[name], GOOD, push_after_good)


@pytest.mark.parametrize(
    "times",
    [pa.array([50.0, 51.0]), pa.array([math.nan, math.inf]), pa.array(["50", "51"]), pa.array([True, True])],
    ids=["numbers", "not numbers", "text", "truths"],
)
def test_time_column_of_a_type_that_is_no_time_is_refused(times: Any) -> None:
    _as_if_it_never_happened(PREDICATES["equal"], GOOD, _refused(_with("ts", times), "ts"))


def test_sides_of_types_that_cannot_meet_are_refused_by_the_second_side() -> None:
    for own, other in [(["1"], [1]), ([1], [1.0]), ([True], [1]), ([b"1"], ["1"])]:
        left, right = pa.table({"ts": [1], "key": own}), pa.table({"ts": [1], "key": other})
        with pytest.raises(wm.SchemaError, match="key"):
            wm.join(left, right, on=wm.equal("key"), window="1s")
    sets = pa.table({"ts": [1], "tags": [["1"]]}), pa.table({"ts": [1], "tags": [[1]]})
    with pytest.raises(wm.SchemaError, match="tags"):
        wm.join(sets[0], sets[1], on=wm.overlap("tags", at_least=1), window="1s")


def test_schema_that_changes_between_batches_is_refused() -> None:
    _as_if_it_never_happened(
        PREDICATES["equal"],
        GOOD,
        lambda join: _late_refused(join, _with("price", pa.array(["a", "b"])), "price"),
    )
    _as_if_it_never_happened(
        PREDICATES["equal"], GOOD, lambda join: _late_refused(join, GOOD.drop_columns(["price"]), "price")
    )


def _late_refused(join: wm.WindowJoin, table: pa.Table, column: str) -> None:
    """Payload is compared with what came first, so only a stream that has rows can refuse it."""
    for stream in ("a", "b"):
        if join.metrics.stream(stream).rows:
            later = table.set_column(0, "ts", pa.array([50 + row for row in range(len(table))]))
            with pytest.raises(wm.SchemaError, match=column):
                join.push(stream, later)


def test_columns_in_another_order_are_the_same_columns() -> None:
    join = wm.WindowJoin(wm.Stream("a", window="9us"), wm.Stream("b", window="9us"), on=wm.equal("key"))
    left = pa.table({"ts": [1, 2], "key": [1, 2], "v": ["a", "b"]})
    out = [join.push("a", left.slice(0, 1)), join.push("a", left.slice(1).select(["v", "key", "ts"]))]
    out += [join.push("b", pa.table({"key": [2], "ts": [2]})), join.finish()]
    rows = [row for table in out for row in table.to_pylist()]
    assert [(row["key"], row["v"]) for row in rows] == [(2, "b")]


# --- values ---------------------------------------------------------------------------------


def test_nulls_everywhere_match_nothing_and_are_counted_where_they_are_bad() -> None:
    table = pa.table(
        {
            "ts": pa.array([1, None, 3, 4, None], pa.int64()),
            "key": pa.array([None, "x", "x", None, None], pa.string()),
            "tags": pa.array([None, [1], [None, 1], [None], []], pa.list_(pa.int64())),
            "kw": pa.array([None, ["p"], ["p", None], [], None], pa.list_(pa.string())),
            "w": pa.array([[1.0], None, [None, 2.0], [], None], pa.list_(pa.float64())),
            "price": pa.array([None, 1.0, 1.0, None, None], pa.float64()),
        }
    )
    for on in (
        *PREDICATES.values(),
        wm.subset("tags"),
        wm.same_set("tags"),
        wm.jaccard("tags", at_least=0.1),
    ):
        join = _join(on)
        out = _pairs(join.push("a", table), join.push("b", table), join.finish())
        assert sorted(out) == sorted(matching_rows(table, table, on=on, window="10us")), on
        assert join.metrics.stream("a").bad_rows == 2


def test_all_null_columns_of_every_kind_join_to_nothing() -> None:
    empty = pa.table(
        {
            "ts": [1, 2],
            "key": pa.nulls(2, pa.string()),
            "tags": pa.nulls(2, pa.list_(pa.int64())),
            "kw": pa.nulls(2, pa.list_(pa.string())),
            "w": pa.nulls(2, pa.list_(pa.float64())),
            "price": pa.nulls(2, pa.float64()),
        }
    )
    for on in PREDICATES.values():
        assert wm.join(empty, empty, on=on, window="1s").num_rows == 0


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("make", [wm.dot, wm.cosine])
def test_weight_that_is_no_number_is_refused_and_nothing_is_consumed(weight: float, make: Any) -> None:
    on = make(items="kw", weights="w", at_least=0.5)
    bad = _with("w", pa.array([[1.0], [0.5, weight]]))
    _as_if_it_never_happened(on, GOOD, _refused(bad, "w"))


def test_items_and_weights_of_different_length_are_refused_by_row() -> None:
    bad = _with("w", pa.array([[1.0], [0.5]]))  # the second row has two items
    _as_if_it_never_happened(PREDICATES["cosine"], GOOD, _refused(bad, "w"))


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(wm.SchemaError):
        wm.join({"ts": np.arange(3), "key": np.arange(2)}, GOOD, on=None, window="1s")


def test_edge_timestamps_do_not_overflow() -> None:
    times = [INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX]
    table = pa.table({"ts": pa.array(times, pa.int64())})
    for window in ("0s", "1us", "10w", ("0s", "3us"), "5i", ("2i", "1us")):
        expected = matching_rows(table, table, window=window)
        out = wm.join(table, table, window=window, output="rows")
        assert _pairs(out) == expected, window
        live = _join(None, window=window if not isinstance(window, tuple) else window[0])
        if not isinstance(window, tuple):
            rows = [live.push("a", table.slice(row, 1)) for row in range(len(table))]
            rows += [live.push("b", table), live.finish()]
            assert sorted(_pairs(*rows)) == sorted(expected), window
    for between in (("-1us", "0s"), ("0s", "100w"), ("1us", "1us")):
        expected = matching_rows(table, table, between=between)
        assert _pairs(wm.join(table, table, between=between, output="rows")) == expected, between


def test_window_longer_than_all_of_time_holds_everything() -> None:
    table = pa.table({"ts": pa.array([INT64_MIN, 0, INT64_MAX], pa.int64())})
    window = f"{2**64}us"
    assert _pairs(wm.join(table, table, window=window, output="rows")) == matching_rows(
        table, table, window=window
    )
    between = (f"-{2**65}us", f"{2**65}us")
    assert wm.join(table, table, between=between, output="rows").num_rows == 9


def test_time_that_overflows_in_the_finer_unit_is_refused() -> None:
    far = pa.table({"ts": pa.array([2**61], pa.timestamp("s"))})
    near = pa.table({"ts": pa.array([0], pa.timestamp("ns"))})
    with pytest.raises(wm.SchemaError, match="ts"):
        wm.join(far, near, window="1s")
    with pytest.raises(wm.SchemaError, match="ts"):
        wm.join(near, far, window="1s")


def test_unsigned_time_beyond_int64_is_refused() -> None:
    table = pa.table({"ts": pa.array([2**64 - 1], pa.uint64())})
    with pytest.raises(wm.SchemaError, match="ts"):
        wm.join(table, table, window="1s")


# --- configuration --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "window", ["-1s", -1, "-1i", "1mo", "", "s", math.nan, math.inf, True, [1, 2, 3], ("1s",), object()]
)
def test_window_that_is_none_is_refused(window: Any) -> None:
    with pytest.raises(wm.ConfigError, match="window"):
        wm.join(GOOD, GOOD, on=None, window=window)


def test_zero_windows_mean_what_they_say() -> None:
    table = pa.table({"ts": [1, 1, 2]})
    assert wm.join(table, table, window="0s").num_rows == 5
    assert wm.join(table, table, window=0).num_rows == 5
    with pytest.raises(wm.ConfigError, match="window"):
        wm.join(table, table)
    try:
        nothing = wm.join(table, table, window="0i").num_rows
    except wm.ConfigError:
        nothing = 0
    assert nothing == 0


@pytest.mark.parametrize("between", [("1s", "0s"), ("0s",), "1s", ("1i", "2i"), (None, "1s")])
def test_between_that_is_no_interval_is_refused(between: Any) -> None:
    with pytest.raises(wm.ConfigError, match="between"):
        wm.join(GOOD, GOOD, on=None, between=between)


@pytest.mark.parametrize(
    "options",
    [
        {"how": "outer"},
        {"output": "pairs"},
        {"index": "btree"},
        {"index": ("hash",)},
        {"merge": "quick"},
        {"expiry": "never"},
        {"time_unit": "m"},
        {"window": "1s", "between": ("0s", "1s")},
        {"on": "key"},
        {"time": ("a", "b", "c")},
        {"time": 5},
        {"suffix": 5},
    ],
    ids=str,
)
def test_unknown_option_value_is_refused_by_name(options: dict[str, Any]) -> None:
    name = next(iter(options))
    with pytest.raises(wm.ConfigError, match=name):
        wm.join(GOOD, GOOD, **{"window": "1s", "on": wm.equal("key"), **options})


@pytest.mark.parametrize(
    ("on", "index"),
    [
        (wm.equal("key"), "inverted"),
        (wm.overlap("tags", at_least=1), "hash"),
        (wm.band("price", within=1), "hash"),
        (None, "hash"),
        (None, "inverted"),
    ],
)
def test_index_that_cannot_serve_the_predicate_is_refused(on: Any, index: str) -> None:
    with pytest.raises(wm.ConfigError, match="index"):
        wm.WindowJoin(wm.Stream("a", window="1s"), wm.Stream("b", window="1s"), on=on, index=index)


def test_two_streams_of_one_name_are_refused() -> None:
    with pytest.raises(wm.ConfigError, match="'a'"):
        wm.WindowJoin(wm.Stream("a", window="1s"), wm.Stream("a", window="1s"), on=None)


def test_stream_without_window_or_between_is_refused() -> None:
    with pytest.raises(wm.ConfigError, match="window"):
        wm.WindowJoin(wm.Stream("a"), wm.Stream("b", window="1s"), on=None)


@pytest.mark.parametrize("to", ["tomorrow", None, math.nan, 1.5, [1]])
def test_promise_that_is_no_time_is_refused_and_nothing_changes(to: Any) -> None:
    def promise(join: wm.WindowJoin) -> None:
        with pytest.raises(wm.WatersmeetError, match="to"):
            join.advance("a", to=to)

    _as_if_it_never_happened(PREDICATES["equal"], GOOD, promise)


# --- big ------------------------------------------------------------------------------------


@pytest.mark.parametrize("merge", ["auto", "heap", "count"])
def test_sets_of_a_million_items(merge: str) -> None:
    big = np.arange(1_000_000, dtype=np.int64)
    offsets = pa.array([0, 1_000_000, 1_000_002], pa.int32())
    left = pa.table(
        {"ts": [1, 2], "tags": pa.ListArray.from_arrays(offsets, pa.array(np.append(big, [5, 7])))}
    )
    other = pa.array(np.append(big + 500_000, [999_999, 5]))
    right = pa.table({"ts": [1, 2], "tags": pa.ListArray.from_arrays(offsets, other)})
    for on, expected in [
        (wm.overlap("tags", at_least=500_000), [(0, 0)]),
        (wm.overlap("tags", at_least=500_001), []),
        (wm.overlap("tags", at_least=2), [(0, 0), (0, 1)]),
        (wm.superset("tags"), [(0, 1)]),
        (wm.jaccard("tags", at_least=1 / 3), [(0, 0), (1, 1)]),
    ]:
        out = wm.join(left, right, on=on, window="5us", merge=merge, output="rows")
        assert _pairs(out) == expected, str(on)


def test_rows_with_one_enormous_string() -> None:
    word = "x" * 5_000_000
    left = pa.table({"ts": [1, 2, 3], "key": [word + "a", word + "b", "c"]})
    right = pa.table({"ts": [3, 3], "key": [word + "b", word]})
    assert _pairs(wm.join(left, right, on=wm.equal("key"), window="5us", output="rows")) == [(1, 0)]


# --- a user's function ----------------------------------------------------------------------


class _Moody:
    """A function that behaves well, until it is told to misbehave in a certain way."""

    def __init__(self) -> None:
        self.mood: Callable[[Any, Any], Any] | None = None

    def __call__(self, left: Any, right: Any) -> Any:
        if self.mood is not None:
            return self.mood(left, right)
        return np.asarray(left["price"]) <= np.asarray(right["price"])


def _boom(left: Any, right: Any) -> Any:
    raise ZeroDivisionError("the user's own error")


MOODS: dict[str, tuple[Callable[[Any, Any], Any], type[BaseException]]] = {
    "raises": (_boom, ZeroDivisionError),
    "too short": (lambda left, right: np.ones(max(0, left.num_rows - 1), bool), wm.SchemaError),
    "too long": (lambda left, right: np.ones(left.num_rows + 1, bool), wm.SchemaError),
    "numbers": (lambda left, right: np.ones(left.num_rows), wm.SchemaError),
    "text": (lambda left, right: pa.array(["yes"] * left.num_rows), wm.SchemaError),
    "scalar": (lambda left, right: True, wm.SchemaError),
    "none": (lambda left, right: None, wm.SchemaError),
    "matrix": (lambda left, right: np.ones((left.num_rows, 2), bool), wm.SchemaError),
}


@pytest.mark.parametrize("mood", MOODS)
def test_function_that_misbehaves_fails_the_push_and_nothing_is_consumed(mood: str) -> None:
    misbehave, error = MOODS[mood]
    moody = _Moody()
    quiet, disturbed = _join(wm.where(moody)), _join(wm.where(moody))
    answers: list[list[Any]] = [[], []]
    for begin in range(0, len(GOOD), 2):
        for stream in ("a", "b"):
            batch = GOOD.slice(begin, 2)
            if begin or stream == "b":  # there is something to compare with, so the function is called
                moody.mood = misbehave
                with pytest.raises(error):
                    _push_until_called(disturbed, stream, batch)
                moody.mood = None
            for join, answer in zip((quiet, disturbed), answers, strict=True):
                answer += _pairs(join.push(stream, batch))
    for join, answer in zip((quiet, disturbed), answers, strict=True):
        answer += _pairs(join.finish())
    assert answers[1] == answers[0]
    assert sorted(answers[0]) == sorted(matching_rows(GOOD, GOOD, on=wm.where(moody), window="10us"))
    assert disturbed.metrics == quiet.metrics


def _push_until_called(join: wm.WindowJoin, stream: str, batch: pa.Table) -> None:
    join.push(stream, batch)


@pytest.mark.parametrize("call", ["push", "advance", "finish", "snapshot"])
def test_function_that_calls_into_its_own_join_is_refused(call: str) -> None:
    moody = _Moody()
    join = _join(wm.where(moody))
    calls = {
        "push": lambda: join.push("a", GOOD),
        "advance": lambda: join.advance("a", to=100),
        "finish": lambda: join.finish(),
        "snapshot": lambda: join.snapshot(),
    }

    def reenter(left: Any, right: Any) -> Any:
        calls[call]()
        return np.ones(left.num_rows, bool)

    out = [join.push("a", GOOD)]
    moody.mood = reenter
    with pytest.raises(wm.WatersmeetError):
        join.push("b", GOOD)
    moody.mood = None
    out += [join.push("b", GOOD), join.finish()]
    assert sorted(_pairs(*out)) == sorted(matching_rows(GOOD, GOOD, on=wm.where(moody), window="10us"))


# --- interruption ---------------------------------------------------------------------------


def _long_workload() -> tuple[pa.Table, pa.Table, pa.Table]:
    """Rows to push first, rows whose push takes billions of comparisons, and a row with one partner."""
    rng = np.random.Generator(np.random.PCG64(4))
    times = np.sort(rng.integers(0, 900, 60_000))
    first, long = (pa.table({"ts": times, "price": rng.normal(0, 1e6, len(times))}) for _ in range(2))
    return first, long, pa.table({"ts": [950], "price": [first["price"][777].as_py()]})


def test_keyboard_interrupt_during_a_long_push_leaves_the_join_as_it_was() -> None:
    first, long, last = _long_workload()
    join = _join(wm.band("price", within=1e-9), "1ms", index="scan")
    assert join.push("a", first).num_rows == 0
    before = join.metrics
    if not _interrupted(lambda: join.push("b", long)):
        pytest.skip("the push was over before the signal came")
    assert join.metrics == before
    assert _pairs(join.push("b", last), join.finish()) == [(777, 0)]


def test_keyboard_interrupt_inside_a_users_function_leaves_the_join_as_it_was() -> None:
    moody = _Moody()
    join = _join(wm.where(moody))
    out = [join.push("a", GOOD)]
    before = join.metrics

    def interrupt(left: Any, right: Any) -> Any:
        raise KeyboardInterrupt

    moody.mood = interrupt
    with pytest.raises(KeyboardInterrupt):
        join.push("b", GOOD)
    assert join.metrics == before
    moody.mood = None
    out += [join.push("b", GOOD), join.finish()]
    assert sorted(_pairs(*out)) == sorted(matching_rows(GOOD, GOOD, on=wm.where(moody), window="10us"))


@pytest.mark.parametrize("kind", ["join", "WindowJoin", "MultiJoin", "RingJoin"])
def test_times_with_a_zone_are_not_joined_with_times_without(kind: str) -> None:
    naive, zoned, tokyo = (
        pa.table({"ts": pa.array([1, 2], pa.timestamp("us", tz)), "k": [1, 2]})
        for tz in (None, "UTC", "Asia/Tokyo")
    )
    words = r"without a zone, and that of stream '.*' is timestamp\[us, tz=UTC\]"
    streams = [wm.Stream(name, window="10s") for name in "ab"]

    def joined(left: pa.Table, right: pa.Table) -> int:
        if kind == "join":
            return int(wm.join(left, right, on=wm.equal("k"), window="10s").num_rows)
        join: Any = (
            wm.WindowJoin(*streams, on=wm.equal("k"))
            if kind == "WindowJoin"
            else getattr(wm, kind)(streams, on={("a", "b"): wm.equal("k")})
        )
        out = [join.push("a", left), join.push("b", right), join.finish()]
        return sum(table.num_rows for table in out)

    for left, right in ((naive, zoned), (zoned, naive)):
        with pytest.raises(wm.SchemaError, match=words):
            joined(left, right)
    assert joined(zoned, tokyo) == 2


def _interrupted(work: Callable[[], Any]) -> bool:
    """Run work in the main thread with one SIGINT on the way, which counts only while the work runs."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals go to the main thread")
    working = True

    def handler(number: int, frame: object) -> None:
        if working:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, handler)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        work()
        working = False
    except KeyboardInterrupt:
        return True
    finally:
        working = False
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, previous)
    return False
