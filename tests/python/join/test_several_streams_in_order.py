"""Joins of several streams, as trees and on slices: results in order, late, idle and ended streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.multiway import MultiCase, draw_multiway

import watersmeet as wm
from watersmeet.testing import ManualClock

KINDS = ["ring"]
ORDERS = ["sync-filter", "filter-order", wm.AdaptiveOrder(period="1s", comparison_s=1e-3)]
CASES = 60
FAMILIES = ("equal_int", "equal_text", "equal_composite", "band", "overlap", "cosine", "cross")


def _make(kind: str, streams: list[wm.Stream], on: Any, **options: Any) -> Any:
    if kind == "multi":
        return wm.MultiJoin(streams, on=on, **options)
    return wm.RingJoin(streams, on=on, slices=2, **options)


def _rows_of(table: pa.Table, names: tuple[str, ...]) -> list[tuple[int, ...]]:
    columns = [table[f"{name}.row"].to_pylist() for name in names if f"{name}.row" in table.column_names]
    return list(zip(*columns, strict=True)) if len(columns) == len(names) else []


def _in_order(case: MultiCase) -> list[tuple[int, ...]]:
    times = [table["ts"].to_pylist() for table in case.tables]
    return sorted(
        case.expected(), key=lambda rows: (max(times[at][row] for at, row in enumerate(rows)), rows)
    )


def _case(kind: str, seed: int) -> MultiCase:
    """A drawn case that this kind of join takes."""
    while True:
        case = draw_multiway(seed, families=FAMILIES)
        if kind == "ring" or case.inclusive:
            return case
        seed += 100_000


def _run(
    join: Any, case: MultiCase, rng: np.random.Generator, tables: list[pa.Table]
) -> list[tuple[int, ...]]:
    done = [0] * len(tables)
    found: list[tuple[int, ...]] = []
    for name, table in zip(case.names, tables, strict=True):
        found += _rows_of(join.push(name, table.slice(0, 0)), case.names)
    while any(at < table.num_rows for at, table in zip(done, tables, strict=True)):
        at = int(rng.choice([s for s, table in enumerate(tables) if done[s] < table.num_rows]))
        until = min(tables[at].num_rows, done[at] + int(rng.integers(1, 12)))
        found += _rows_of(join.push(case.names[at], tables[at].slice(done[at], until - done[at])), case.names)
        done[at] = until
        if until == tables[at].num_rows and rng.random() < 0.5:
            found += _rows_of(join.finish(case.names[at]), case.names)
    return found + _rows_of(join.finish(), case.names)


def _numbered(case: MultiCase) -> list[pa.Table]:
    return [t.append_column("row", pa.array(np.arange(t.num_rows))) for t in case.tables]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_oracle_results_leave_by_largest_timestamp_then_rows(kind: str, order: Any) -> None:
    for seed in range(CASES):
        case = _case(kind, seed)
        edge = {"edge": "inclusive" if case.inclusive else "exclusive"} if kind == "ring" else {}
        join = _make(kind, case.streams(), case.on or {}, order=order, **edge)
        found = _run(join, case, np.random.default_rng(seed), _numbered(case))
        assert found == _in_order(case), f"seed {case.seed}"
        metrics = join.metrics
        assert (metrics.held_results, metrics.results) == (0, len(found)), f"seed {case.seed}"
        for stream in metrics.streams:
            assert stream.rows == stream.window_rows + stream.expired_rows + stream.pending_rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [None, *ORDERS], ids=str)
def test_oracle_disorder_within_the_lateness_changes_no_answer(kind: str, order: Any) -> None:
    for seed in range(CASES):
        case = _case(kind, seed + 500)
        rng = np.random.default_rng(seed)
        tables = []
        for table in _numbered(case):
            late_by = np.asarray(table["ts"]) + rng.integers(0, 6, table.num_rows)
            tables.append(table.take(pa.array(np.argsort(late_by, kind="stable"))))
        streams = [wm.Stream(s.name, window=s.window, time_unit="s", lateness="5s") for s in case.streams()]
        edge = {"edge": "inclusive" if case.inclusive else "exclusive"} if kind == "ring" else {}
        join = _make(kind, streams, case.on or {}, order=order, **edge)
        found = _run(join, case, rng, tables)
        times = [table["ts"].to_pylist() for table in case.tables]
        newest = [max(times[at][row] for at, row in enumerate(rows)) for rows in found]
        assert newest == sorted(newest)
        if all(not isinstance(window, str) for window in case.windows):
            assert sorted(found) == sorted(case.expected()), f"seed {case.seed}"
        assert sum(stream.late_rows for stream in join.metrics.streams) == 0


# --- three streams, one key, times in seconds ------


def _three(kind: str, order: Any = None, *, clock: Any = None, **options: Any) -> Any:
    streams = [wm.Stream(name, window="100s", time_unit="s", **options) for name in "ABC"]
    on = {("A", "B"): wm.equal("k"), ("B", "C"): wm.equal("k")}
    return _make(kind, streams, on, order=order, clock=clock)


def _rows(*seconds: int) -> pa.Table:
    return pa.table({"ts": pa.array(seconds, pa.int64()), "k": pa.array([1] * len(seconds), pa.int64())})


def _times(table: pa.Table) -> list[tuple[int, ...]]:
    if not table.num_rows:
        return []
    return list(zip(*(table[f"{name}.ts"].to_pylist() for name in "ABC"), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [None, *ORDERS], ids=str)
def test_silent_stream_holds_back_no_longer_than_its_timeout_and_one_push(kind: str, order: Any) -> None:
    join = _three(kind, order, idle_timeout="5s")
    join.push("C", _rows(0), at=0.0)
    waited = {}
    for second in range(1, 40):
        out = [
            *_times(join.push("A", _rows(second), at=second)),
            *_times(join.push("B", _rows(second), at=second)),
        ]
        for a, b, _ in out:
            waited[a, b] = second - max(a, b)
    assert max(waited.values()) <= 6
    assert (30, 31) in waited
    assert join.metrics.stream("C").idle
    assert join.metrics.response.max_s <= 6.0
    assert "no longer waited for" in str(join.metrics.decisions[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_stream_silent_from_the_start_lets_rows_leave_their_windows(kind: str) -> None:
    join = _three(kind, idle_timeout="5s")
    for second in range(1, 400):
        join.push("A", _rows(second), at=second)
        join.push("B", _rows(second), at=second)
    metrics = join.metrics
    assert metrics.stream("C").idle
    assert metrics.stream("A").pending_rows < 120, "older ones cannot meet anything any more"
    assert metrics.stream("A").expired_rows > 250
    join.push("C", _rows(10, 399), at=400)
    assert join.metrics.stream("C").late_rows == 1, "the others went on without it"
    found = _times(join.finish())
    assert found
    assert {c for _, _, c in found} == {399}
    assert min(a for a, _, _ in found) == 299


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [None, *ORDERS], ids=str)
def test_stream_filtered_to_nothing_is_silent(kind: str, order: Any) -> None:
    join = _three(kind, order, idle_timeout="5s")
    join.push("C", _rows(0), at=0.0)
    found = 0
    for second in range(1, 20):
        found += join.push("A", _rows(second), at=second).num_rows
        found += join.push("B", _rows(second), at=second).num_rows
        found += join.push("C", _rows(), at=second).num_rows
    assert join.metrics.stream("C").idle
    assert found >= 17 * 17, "nobody waits for the stream that brings nothing"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [None, *ORDERS], ids=str)
def test_restarted_stream_is_waited_for_again_once_it_has_caught_up(kind: str, order: Any) -> None:
    join = _three(kind, order, idle_timeout="5s", on_late="keep")
    join.push("C", _rows(0), at=0.0)
    for second in range(1, 20):
        join.push("A", _rows(second), at=second)
        join.push("B", _rows(second), at=second)
    join.push("C", _rows(1, 2, 3), at=19.5)
    stream = join.metrics.stream("C")
    assert (stream.late_rows, stream.idle) == (3, True), "it brought nothing in time"
    assert join.late("C")["ts"].to_pylist() == [1, 2, 3]
    assert join.late("C").num_rows == 0
    join.push("C", _rows(19), at=19.6)
    assert not join.metrics.stream("C").idle
    out = [*_times(join.push("A", _rows(21), at=20.0)), *_times(join.push("B", _rows(21), at=20.0))]
    assert (21, 21, 0) not in out, "C is waited for"
    metrics = join.metrics
    assert metrics.blocked_by == "C"
    assert "wait for stream 'C'" in metrics.why_waiting() or "waits for stream 'C'" in metrics.why_waiting()
    found = _times(join.finish())
    assert (21, 21, 0) in found
    assert (21, 21, 19) in found


@pytest.mark.parametrize("kind", KINDS)
def test_late_row_of_a_stream_that_was_idle_raises_where_asked_to_and_changes_nothing(kind: str) -> None:
    join = _three(kind, idle_timeout="5s", on_late="raise")
    join.push("C", _rows(0), at=0.0)
    for second in range(1, 20):
        join.push("A", _rows(second), at=second)
        join.push("B", _rows(second), at=second)
    before = join.metrics
    with pytest.raises(wm.OrderError, match=r"stream 'C'.*is late.*idle.*on_late='raise'"):
        join.push("C", _rows(3), at=19.0)
    assert join.metrics == before
    join.push("C", _rows(19), at=19.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [None, *ORDERS], ids=str)
def test_ended_stream_holds_nobody_back_and_takes_nothing_more(kind: str, order: Any) -> None:
    join = _three(kind, order)
    join.push("C", _rows(1, 2))
    join.push("A", _rows(3))
    assert join.push("B", _rows(4, 50)).num_rows == 0
    assert join.metrics.blocked_by in ("C", None)
    assert join.finish("C").num_rows == 0, "A has come to 3 only"
    found = _times(join.push("A", _rows(5, 60)))
    assert found[:4] == [(3, 4, 1), (3, 4, 2), (5, 4, 1), (5, 4, 2)]
    assert len(found) == (4 if order is not None else 8), "held, where B could still bring a row at 50"
    with pytest.raises(wm.WatersmeetError, match=r"finish\('C'\)"):
        join.push("C", _rows(70))
    with pytest.raises(wm.WatersmeetError, match=r"finish\('C'\)"):
        join.advance("C", to=70)
    assert len(join.finish()) > 0
    with pytest.raises(wm.WatersmeetError, match=r"finish\(\)"):
        join.push("A", _rows(80))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [None, *ORDERS], ids=str)
def test_promise_moves_the_trigger(kind: str, order: Any) -> None:
    join = _three(kind, order)
    join.advance("C", to=0)
    join.push("C", _rows(1))
    join.push("A", _rows(2))
    assert join.push("B", _rows(3)).num_rows == 0
    assert join.advance("A", to=10).num_rows == 0
    assert _times(join.advance("C", to=10)) + _times(join.advance("B", to=10)) == [(2, 3, 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_poll_with_a_clock_lets_results_go_without_a_row(kind: str) -> None:
    clock = ManualClock()
    join = _three(kind, "filter-order", idle_timeout="5s", clock=clock)
    for name in "CAB":
        join.push(name, _rows(1))
    assert join.poll().num_rows == 0
    assert join.metrics.held_results == 1
    clock.advance(6)
    assert _times(join.poll()) == [(1, 1, 1)]
    with pytest.raises(wm.ConfigError, match="clock"):
        join.push("A", _rows(8), at=3.0)


@pytest.mark.parametrize("kind", KINDS)
def test_late_rows_are_counted_or_kept_and_not_joined(kind: str) -> None:
    join = _three(kind, lateness="2s", on_late="keep")
    join.push("A", _rows(10, 9, 8, 7))
    assert join.late("A")["ts"].to_pylist() == [7]
    join.push("B", _rows(10))
    join.push("C", _rows(10))
    assert sorted(_times(join.finish())) == [(8, 10, 10), (9, 10, 10), (10, 10, 10)]
    assert join.metrics.stream("A").late_rows == 1
    assert join.metrics.stream("A").lateness_s == 2.0


@pytest.mark.parametrize("kind", KINDS)
def test_lateness_that_the_join_finds_keeps_late_rows_below_the_target(kind: str) -> None:
    rng = np.random.default_rng(7)
    lateness = wm.Lateness(target=0.95, period="10s")
    streams = [wm.Stream("A", window="1s", time_unit="ms", lateness=lateness)]
    streams.append(wm.Stream("B", window="1s", time_unit="ms"))
    join = _make(kind, streams, {("A", "B"): wm.equal("k")})
    when = np.arange(20_000) * 10
    order = np.argsort(when + rng.exponential(500, len(when)), kind="stable")
    times = when[order]
    for first in range(0, len(times), 200):
        part = times[first : first + 200]
        join.push("A", pa.table({"ts": part, "k": np.zeros(len(part), np.int64)}))
        join.push(
            "B", pa.table({"ts": part.max(keepdims=True), "k": [1]}) if first == 0 else _rows().slice(0, 0)
        )
    stream = join.metrics.stream("A")
    assert 0 < stream.late_rows / stream.rows < 0.05
    assert 0.5 < (stream.lateness_s or 0) < 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["filter-order", wm.AdaptiveOrder(period="1s", comparison_s=1.0)], ids=str)
def test_snapshot_goes_on_with_what_was_held(kind: str, order: Any) -> None:
    for seed in range(20):
        case = _case(kind, 900 + seed)
        streams = [
            wm.Stream(s.name, window=s.window, time_unit="s", lateness="3s", idle_timeout="1h")
            for s in case.streams()
        ]
        edge = {"edge": "inclusive" if case.inclusive else "exclusive"} if kind == "ring" else {}
        join = _make(kind, streams, case.on or {}, order=order, **edge)
        found: list[tuple[int, ...]] = []
        tables = _numbered(case)
        for part in range(6):
            for name, table in zip(case.names, tables, strict=True):
                size = table.num_rows // 6 + 1
                found += _rows_of(join.push(name, table.slice(part * size, size)), case.names)
                join = type(join).restore(join.snapshot())
        found += _rows_of(join.finish(), case.names)
        assert found == _in_order(case), f"seed {case.seed}"


@pytest.mark.parametrize("kind", KINDS)
def test_held_results_above_the_limit_let_sync_filter_take_over(kind: str) -> None:
    streams = [wm.Stream(name, window="1000s", time_unit="s") for name in "ABC"]
    on = {("A", "B"): wm.equal("k"), ("B", "C"): wm.equal("k")}
    order = wm.AdaptiveOrder(alpha=0.3, period="1s", comparison_s=1.0)
    join = _make(kind, streams, on, order=order, memory_limit="1MiB")
    found = []
    for second in range(1, 46):
        for name in "ABC":
            found += _times(join.push(name, _rows(second)))
    assert join.metrics.order == "filter-order", "the load is far above alpha"
    for second in range(46, 75):
        found += _times(join.push("B", _rows(second)))
        found += _times(join.push("C", _rows(second)))
    metrics = join.metrics
    assert metrics.order in ("draining", "sync-filter")
    assert any("memory_limit" in choice.why for choice in metrics.decisions)
    assert "memory_limit" in metrics.why_waiting()
    held = metrics.held_bytes
    join.push("B", _rows(75, 76, 77))
    assert join.metrics.held_bytes <= held, "nothing is added while it drains"
    found += _times(join.finish())
    newest = [max(each) for each in found]
    assert newest == sorted(newest)
    assert len(set(found)) == len(found) == 45 * 77 * 74
