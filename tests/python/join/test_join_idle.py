"""Silent streams stop holding the others back; what they bring afterwards is late; all of it is told."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.testing import ManualClock

ORDERS = ["sync-filter", "filter-order", wm.AdaptiveOrder(comparison_s=1e-6)]


def _rows(*seconds: float) -> pa.Table:
    return pa.table({"ts": pa.array([round(second * 1e6) for second in seconds], pa.int64())})


def _join(order: Any = "filter-order", *, clock: Any = None, **right: Any) -> wm.WindowJoin:
    return wm.WindowJoin(
        wm.Stream("a", window="100s", idle_timeout="5s"),
        wm.Stream("b", window="100s", **{"idle_timeout": "5s", **right}),
        output="rows",
        order=order,
        clock=clock,
    )


def _pairs(table: pa.Table) -> list[tuple[int, int]]:
    return list(zip(table["left_row"].to_pylist(), table["right_row"].to_pylist(), strict=True))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("told", [False, True])
def test_silent_stream_holds_back_no_longer_than_its_timeout_and_one_push(order: Any, told: bool) -> None:
    join = _join(order)
    join.push("b", _rows(0), at=0.0 if told else None)
    waited: dict[int, float] = {}
    for second in range(1, 40):
        out = join.push("a", _rows(second), at=float(second) if told else None)
        for left, _ in _pairs(out):
            waited[left] = second - (left + 1)
    assert sorted(waited) == list(range(38)), "all but the newest, which may still get company"
    assert max(waited.values()) <= (5 if told else 6)
    assert join.metrics.stream("b").idle
    assert join.metrics.response.max_s <= 6.0


@pytest.mark.parametrize("order", ORDERS)
def test_stream_silent_from_the_start_holds_back_no_longer_than_its_timeout(order: Any) -> None:
    join = wm.WindowJoin(
        wm.Stream("a", window="1s"),
        wm.Stream("b", window="100s", idle_timeout="5s"),
        how="left",
        output="rows",
        order=order,
    )
    out = [join.push("a", _rows(second), at=float(second)).num_rows for second in range(30)]
    assert sum(out[:5]) == 0
    assert sum(out) >= 27, "unmatched rows leave as soon as no partner can come"


@pytest.mark.parametrize("order", ORDERS)
def test_stream_filtered_to_nothing_is_silent(order: Any) -> None:
    join = _join(order)
    join.push("b", _rows(0), at=0.0)
    released = 0
    for second in range(1, 20):
        released += join.push("a", _rows(second), at=float(second)).num_rows
        released += join.push("b", _rows(), at=float(second)).num_rows
    assert released == 18
    assert join.metrics.stream("b").idle


def test_empty_push_lets_time_pass() -> None:
    join = _join()
    join.push("b", _rows(0), at=0.0)
    assert join.push("a", _rows(1), at=1.0).num_rows == 0
    assert _pairs(join.push("b", _rows(), at=7.0)) == [(0, 0)], (
        "both are silent: all that has come is complete"
    )


@pytest.mark.parametrize("order", ORDERS)
def test_restarted_stream_is_waited_for_again_once_it_has_caught_up(order: Any) -> None:
    join = _join(order, on_late="keep")
    join.push("b", _rows(0), at=0.0)
    for second in range(1, 20):
        join.push("a", _rows(second), at=float(second))
    join.push("b", _rows(1, 2, 3), at=19.5)
    stream = join.metrics.stream("b")
    assert (stream.late_rows, stream.idle) == (3, True), "it brought nothing in time"
    assert join.late("b")["ts"].to_pylist() == [1_000_000, 2_000_000, 3_000_000]
    join.push("b", _rows(19.2), at=19.6)
    assert not join.metrics.stream("b").idle
    out = join.push("a", _rows(21), at=20.0)
    assert max(left for left, _ in _pairs(out) or [(0, 0)]) <= 18, "b is waited for: the row at 21 s is held"
    assert join.metrics.blocked_by == "b"
    assert (19, 1) not in _pairs(out)
    assert (19, 4) in _pairs(join.push("b", _rows(22), at=21.0)) + _pairs(join.push("a", _rows(23), at=22.0))


def test_row_behind_an_idle_streams_watermark_raises_where_asked_to_and_changes_nothing() -> None:
    join = _join(on_late="raise")
    join.push("b", _rows(0), at=0.0)
    for second in range(1, 20):
        join.push("a", _rows(second), at=float(second))
    before = join.metrics
    with pytest.raises(wm.OrderError, match=r"stream 'b'.*is late.*on_late='raise'"):
        join.push("b", _rows(3), at=19.0)
    assert join.metrics == before
    join.push("b", _rows(19), at=19.0)


def test_disorder_within_a_stream_stays_an_error_with_an_idle_timeout() -> None:
    join = _join()
    join.push("b", _rows(5), at=5.0)
    with pytest.raises(wm.OrderError, match="older than"):
        join.push("b", _rows(4), at=5.0)


def test_streams_pushed_in_turn_in_long_batches_are_never_idle_in_stream_time() -> None:
    join = _join()
    given = 0
    for start in range(0, 100, 20):
        times = [start + second for second in range(20)]
        given += join.push("a", _rows(*times)).num_rows + join.push("b", _rows(*times)).num_rows
    assert given + join.finish().num_rows == 100 * 100
    assert [stream.late_rows for stream in join.metrics.streams] == [0, 0]


def test_live_join_goes_by_its_clock_and_poll_gives_what_time_releases() -> None:
    clock = ManualClock()
    join = _join(clock=clock)
    join.push("b", _rows(0))
    join.push("a", _rows(1))
    clock.advance(4.9)
    assert join.poll().num_rows == 0
    assert join.metrics.blocked_by == "b"
    assert join.metrics.blocked_for_s == pytest.approx(4.9)
    clock.advance(0.1)
    assert _pairs(join.poll()) == [(0, 0)]
    assert join.metrics.response.mean_s == pytest.approx(5.0)
    with pytest.raises(wm.ConfigError, match="clock of its own"):
        join.push("a", _rows(2), at=3.0)
    with pytest.raises(wm.ConfigError, match=r"clock=3: expected a function"):
        _join(clock=3)


def test_restored_live_join_goes_on_from_the_moment_of_its_snapshot() -> None:
    clock = ManualClock(1000.0)
    join = _join(clock=clock)
    join.push("b", _rows(0))
    join.push("a", _rows(1))
    clock.advance(3.0)
    join.poll()
    other = ManualClock(5.0)
    again = wm.WindowJoin.restore(join.snapshot(), clock=other)
    assert again.metrics == join.metrics
    other.advance(1.5)
    assert again.poll().num_rows == 0
    other.advance(0.5)
    assert _pairs(again.poll()) == [(0, 0)]


def test_failed_push_lets_no_time_pass() -> None:
    join = _join()
    join.push("b", _rows(0), at=0.0)
    join.push("a", _rows(1), at=1.0)
    before = join.metrics
    with pytest.raises(wm.OrderError):
        join.push("a", _rows(0.5), at=50.0)
    assert join.metrics == before
    assert not join.metrics.stream("b").idle


def test_why_waiting_names_the_stream_and_what_would_help() -> None:
    join = _join()
    assert join.metrics.why_waiting() == "Nothing waits: nothing has come yet."
    join.push("b", _rows(0), at=0.0)
    join.push("a", _rows(1, 2, 3), at=1.0)
    join.push("a", _rows(4), at=4.0)
    words = join.metrics.why_waiting()
    assert words.startswith("4 results wait for stream 'b', and have for 3 s.")
    assert "4 s behind" in words
    assert "idle_timeout" in words
    join.push("a", _rows(10), at=10.0)
    assert [choice.what for choice in join.metrics.decisions] == ["stream 'b': no longer waited for"]
    assert "'b': no longer waited for" in str(join.metrics.decisions[0])
    join.finish()
    assert join.metrics.why_waiting().startswith("Nothing waits")


def test_idle_stream_whose_types_need_another_core_repeats_and_loses_nothing() -> None:
    """b is silent at first, so the core was made for a's microseconds; b then comes in nanoseconds."""
    join = wm.WindowJoin(
        wm.Stream("a", window="3s"),
        wm.Stream("b", window="3s", idle_timeout="5s", time_unit="ns"),
        how="left",
        output="rows",
        order="filter-order",
    )
    given: list[Any] = []
    for second in range(20):
        given += join.push("a", _rows(second), at=float(second))["left_row"].to_pylist()
    assert len(given) >= 15
    late = pa.table({"ts": pa.array([18_500_000_000, 19_500_000_000], pa.timestamp("ns"))})
    early = pa.table({"ts": pa.array([20_000_000], pa.int64())})
    out = [
        *join.push("b", late, at=20.0)["left_row"].to_pylist(),
        *join.push("a", early)["left_row"].to_pylist(),
    ]
    given += out + join.finish()["left_row"].to_pylist()
    assert set(given) == set(range(21))
    assert [given.count(row) for row in range(15)] == [1] * 15


@pytest.mark.parametrize("order", [None, *ORDERS])
def test_one_stream_may_end_while_the_other_goes_on(order: Any) -> None:
    join = _join(order)
    join.push("a", _rows(1, 2))
    out = join.push("b", _rows(3)).num_rows
    out += join.finish("b").num_rows
    join = wm.WindowJoin.restore(join.snapshot())
    out += join.push("a", _rows(5, 50)).num_rows
    assert out == (4 if order is None else 3), "held, where another row of a could come at 50"
    with pytest.raises(wm.WatersmeetError, match=r"push\(\) after finish\('b'\)"):
        join.push("b", _rows(60))
    with pytest.raises(wm.WatersmeetError, match=r"advance\(\) after finish\('b'\)"):
        join.advance("b", to=60)
    assert join.finish("b").num_rows == 0, "it has ended already"
    assert out + join.finish().num_rows == 4


def test_end_of_a_stream_that_never_came_lets_unmatched_rows_go() -> None:
    streams = (wm.Stream(name, window="10s", time_unit="s") for name in "ab")
    join = wm.WindowJoin(*streams, how="left", output="rows")
    assert join.push("a", pa.table({"ts": [1, 2]})).num_rows == 0
    assert join.finish("b").num_rows == 2
    assert join.push("a", pa.table({"ts": [3]})).num_rows == 1


def test_end_of_a_stream_under_a_budget() -> None:
    streams = [wm.Stream(name, window="10s", time_unit="s") for name in "ab"]
    join = wm.WindowJoin(*streams, on=wm.equal("k"), shed=wm.Shed(wm.comparisons(1e6)), index="scan")
    rows = {"ts": [1, 2], "k": [1, 1]}
    found = join.push("a", pa.table(rows)).num_rows + join.push("b", pa.table(rows)).num_rows
    found += join.finish("b").num_rows
    found += join.push("a", pa.table({"ts": [5], "k": [1]})).num_rows + join.finish().num_rows
    assert found == 6
