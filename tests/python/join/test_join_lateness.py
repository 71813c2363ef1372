"""Order within a stream: an error without lateness; with it rows wait, and late ones are told."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import watersmeet as wm


def _rows(times: list[int | None], name: str = "n") -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.int64()), name: pa.array(range(len(times)))})


def _join(window: Any = "10us", **left: Any) -> wm.WindowJoin:
    return wm.WindowJoin(
        wm.Stream("a", window=window, **left), wm.Stream("b", window=window), on=None, output="rows"
    )


def _all(join: wm.WindowJoin, *steps: tuple[str, pa.Table]) -> set[tuple[int, int]]:
    pieces = [join.push(name, table) for name, table in steps] + [join.finish()]
    out = pa.concat_tables(pieces)
    pairs = list(zip(out["left_row"].to_pylist(), out["right_row"].to_pylist(), strict=True))
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def test_order_error_names_the_row_and_both_times_and_nothing_is_consumed() -> None:
    join = _join()
    join.push("a", _rows([5, 6]))
    before = join.metrics
    with pytest.raises(wm.OrderError) as caught:
        join.push("a", _rows([7, 9, 8, 10]))
    message = str(caught.value)
    assert "'a'" in message
    assert "2" in message, "the row"
    assert "8" in message, "its time"
    assert "9" in message, "the time it is older than"
    assert join.metrics == before
    # rows 0, 1 were pushed before; the refused batch left no trace in the numbering
    assert _all(join, ("a", _rows([7])), ("b", _rows([7]))) == {(0, 0), (1, 0), (2, 0)}


def test_order_error_at_a_batch_border_and_after_a_promise() -> None:
    join = _join()
    join.push("a", _rows([5]))
    with pytest.raises(wm.OrderError):
        join.push("a", _rows([4]))
    join.advance("a", to=20)
    with pytest.raises(wm.OrderError):
        join.push("a", _rows([19]))
    join.push("a", _rows([20]))
    assert _all(join, ("b", _rows([20]))) == {(1, 0)}


def test_equal_times_are_in_order() -> None:
    assert _all(_join(), ("a", _rows([5, 5])), ("a", _rows([5])), ("b", _rows([5]))) == {
        (0, 0),
        (1, 0),
        (2, 0),
    }


def test_lateness_reorders_rows_within_the_bound() -> None:
    join = _join("2us", lateness="3us")
    assert _all(join, ("a", _rows([10, 7, 13, 11])), ("b", _rows([8, 12]))) == {
        (0, 0),
        (1, 0),
        (0, 1),
        (2, 1),
        (3, 1),
    }
    assert join.metrics.stream("a").late_rows == 0


@pytest.mark.parametrize("on_late", ["count", "keep"])
def test_late_row_is_counted_and_not_joined(on_late: str) -> None:
    join = _join("100us", lateness="3us", on_late=on_late)
    assert _all(join, ("a", _rows([10, 6, 7, 20, 16])), ("b", _rows([10]))) == {(0, 0), (2, 0), (3, 0)}
    assert join.metrics.stream("a").late_rows == 2
    assert join.metrics.stream("a").rows == 5


def test_late_rows_are_kept_whole_until_asked_for_once() -> None:
    join = _join("100us", lateness="3us", on_late="keep")
    assert join.late("a").num_rows == 0
    batch = _rows([10, 6, 7, 20, 16])
    join.push("a", batch)
    kept = join.late("a")
    assert kept.equals(batch.take([1, 4]).cast(kept.schema))
    assert kept.schema.names == batch.schema.names
    assert join.late("a").num_rows == 0
    join.push("a", _rows([1]))
    assert join.late("a")["ts"].to_pylist() == [1]
    assert join.late("b").num_rows == 0


def test_late_row_raises_when_asked_to_and_nothing_is_consumed() -> None:
    join = _join("100us", lateness="3us", on_late="raise")
    join.push("a", _rows([10]))
    before = join.metrics
    with pytest.raises(wm.OrderError) as caught:
        join.push("a", _rows([11, 7, 12]))
    assert "'a'" in str(caught.value)
    assert "7" in str(caught.value)
    assert join.metrics == before
    assert _all(join, ("a", _rows([8])), ("b", _rows([8]))) == {(0, 0), (1, 0)}


@pytest.mark.parametrize("cut", [1, 2, 3, 5])
def test_lateness_is_judged_row_by_row_whatever_the_batches(cut: int) -> None:
    times: list[int | None] = [10, 30, 26, 24, None, 31, 28, 27, 40, 36]
    join = _join("100us", lateness="4us", on_late="keep")
    table = _rows(times)
    steps = [("a", table.slice(begin, cut)) for begin in range(0, len(table), cut)]
    rows = {left for left, _ in _all(join, *steps, ("b", _rows([30])))}
    assert rows == {0, 1, 2, 5, 6, 7, 8, 9}
    assert join.late("a")["n"].to_pylist() == [3]
    assert join.metrics.stream("a").bad_rows == 1


def test_advance_counts_like_a_row_and_releases_what_waits() -> None:
    join = _join("100us", lateness="5us")
    join.push("a", _rows([10]))
    join.push("b", _rows([10]))
    join.advance("b", to=100)
    out = join.advance("a", to=15)
    assert out.num_rows == 1, "with a's watermark at 10 the row can be joined"
    join.push("a", _rows([9, 10]))
    assert join.metrics.stream("a").late_rows == 1


def test_advance_backwards_changes_nothing() -> None:
    join = _join()
    join.advance("a", to=50)
    join.advance("a", to=10)
    with pytest.raises(wm.OrderError):
        join.push("a", _rows([49]))


def test_unknown_stream_is_named_with_the_known_ones() -> None:
    join = _join()
    for call in (
        lambda: join.push("c", _rows([1])),
        lambda: join.advance("c", to=1),
        lambda: join.late("c"),
    ):
        with pytest.raises(wm.ConfigError, match="'c'") as caught:
            call()
        assert "'a'" in str(caught.value)
        assert "'b'" in str(caught.value)


def test_state_is_given_back_as_time_passes() -> None:
    join = _join("10us")
    for start in range(0, 10_000, 100):
        join.push("a", _rows(list(range(start, start + 100))))
        join.push("b", _rows(list(range(start, start + 100))))
    for name in ("a", "b"):
        stream = join.metrics.stream(name)
        assert stream.window_rows + stream.expired_rows + stream.pending_rows == 10_000
        assert stream.window_rows + stream.pending_rows <= 400, (
            "a window of 11 rows, plus what one batch adds"
        )


def test_idle_other_stream_that_advances_lets_rows_go() -> None:
    join = _join("10us")
    join.push("a", _rows(list(range(1000))))
    join.advance("b", to=1000)
    assert join.metrics.stream("a").window_rows <= 11
