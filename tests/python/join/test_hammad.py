"""[Hammad] over the engine: the worked example of its figures 1 to 4 step by step, and SPEC H1 to H8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.control.ordering import (
    filter_order_response,
    order_load,
    relative_improvement,
    sync_filter_response,
)

# (stream, key, timestamp, arrival): a8 comes at 11.
ARRIVALS = [
    ("T", "a", 1, 1),
    ("S", "d", 2, 2),
    ("S", "c", 4, 4),
    ("T", "a", 5, 5),
    ("S", "b", 6, 6),
    ("T", "b", 9, 9),
    ("T", "c", 10, 10),
    ("S", "a", 8, 11),
    ("S", "a", 12, 12),
]


def _row(key: str, second: int) -> pa.Table:
    return pa.table({"ts": pa.array([second * 1000], pa.int64()), "k": [key]})


def _join(order: Any, window: str = "6s", **options: Any) -> wm.WindowJoin:
    streams = [wm.Stream(name, window=window, time_unit="ms") for name in "ST"]
    return wm.WindowJoin(streams[0], streams[1], on=wm.equal("k"), index="scan", order=order, **options)


def _named(table: pa.Table) -> list[str]:
    rows = table.to_pylist()
    return [f"{row['k']}{row['ts'] // 1000},{row['k_right']}{row['ts_right'] // 1000}" for row in rows]


def _trace(order: str) -> tuple[list[tuple[int, list[str], int]], float]:
    """Per arrival: what came out, and the probes made for it; and the sum of the emission times in tp.

    Timestamps increase strictly, which a promise after each row tells (SPEC H6). A result that a probe of
    this very step completes comes so many probes after the arrival; one that was held comes with it.
    """
    join = _join(order, output="columns")
    steps, delays = [], 0
    for stream, key, second, arrival in ARRIVALS:
        before = sum(direction.probes for direction in join.metrics.directions)
        out = _named(join.push(stream, _row(key, second), at=arrival))
        out += _named(join.advance(stream, to=second * 1000 + 1))
        probes = sum(direction.probes for direction in join.metrics.directions) - before
        steps.append((arrival, out, probes))
        if order == "sync-filter" or arrival == 11:  # found in this step, one probe after the other
            delays += sum(range(1, len(out) + 1))
    return [step for step in steps if step[1] or step[2]], delays


def test_worked_example_under_sync_filter_step_by_step() -> None:
    steps, delays = _trace("sync-filter")
    assert steps == [
        (2, [], 1),  # a1, once S has come to 2
        (5, [], 2),  # d2 and c4, once T has come to 5
        (6, [], 1),  # a5
        (9, [], 1),  # b6
        (11, ["a8,a5"], 1),  # a8
        (12, ["b6,b9", "c4,c10"], 2),  # b9 and c10
    ]
    assert delays == 1 + 1 + 2, "11 + tp, 12 + tp, 12 + 2 tp"


def test_worked_example_under_filter_order_step_by_step() -> None:
    steps, delays = _trace("filter-order")
    assert [(arrival, out) for arrival, out, _ in steps if out] == [
        (11, ["a8,a5"]),
        (12, ["b6,b9", "c4,c10"]),
    ]
    assert [probes for _, _, probes in steps] == [1] * 9, "every row probes when it comes"
    assert delays == 1
    assert _trace("sync-filter")[1] - delays == 3, "the saving: 3 tp"


def test_h1_a_row_is_compared_with_the_other_streams_window() -> None:
    join = _join("filter-order", window="60s")
    for second in range(1, 31):
        join.push("T", _row("x", second))
    join.push("S", _row("x", 31))
    s_rows, t_rows = join.metrics.directions
    assert (s_rows.due, t_rows.due) == (30, 0), "a row of S costs c |w| times the rate of T"
    slow, fast = 1.0, 10.0  # the fast stream's rows wait, and scan the slow one's window
    waiting = sync_filter_response(1e-3, window_s=60.0, rates_per_s=(slow, fast))
    scan_s = 1e-3 * 60.0 * slow
    assert waiting - filter_order_response((slow, fast)) == pytest.approx((fast / slow + 1) / 2 * scan_s)


def test_h2_load_is_half_of_what_the_server_does() -> None:
    rng = np.random.default_rng(1)
    join = _join("filter-order", window="20s")
    rates, seconds = (5.0, 8.0), 400.0
    rows = [
        (float(time), name)
        for name, rate in zip("ST", rates, strict=True)
        for time in np.cumsum(rng.exponential(1 / rate, int(rate * seconds)))
    ]
    for time, name in sorted(rows):
        join.push(name, pa.table({"ts": [round(time * 1000)], "k": ["x"]}))
    compared_per_s = sum(direction.due for direction in join.metrics.directions) / seconds
    load = order_load(1e-4, windows_s=(20.0, 20.0), rates_per_s=rates)
    assert 1e-4 * compared_per_s == pytest.approx(2 * load, rel=0.15)


def test_h3_even_spacing_gives_the_papers_half_second() -> None:
    assert filter_order_response((1.0, 10.0)) == pytest.approx(0.55)


@pytest.mark.parametrize("order", ["sync-filter", "filter-order"])
def test_h4_nothing_leaves_before_both_streams_were_seen_and_everything_after_their_end(order: str) -> None:
    streams = [wm.Stream(name, window="6s", time_unit="ms") for name in "ST"]
    join = wm.WindowJoin(*streams, on=wm.equal("k"), how="left", order=order)  # type: ignore[arg-type]
    assert join.push("S", _row("a", 1)).num_rows == 0, "T may have been silent since the beginning of time"
    assert join.push("S", _row("a", 100)).num_rows == 0
    assert join.finish("T").num_rows >= 1, "its end comes after all time"
    assert join.metrics.held_results + join.finish().num_rows >= 1


def test_h5_a_row_that_comes_behind_meets_newer_ones_within_their_window_only() -> None:
    join = _join("filter-order")
    for second in (1, 5, 9, 14, 15, 30):
        join.push("T", _row("a", second))
    join.push("S", _row("a", 8))
    out = _named(join.finish())
    assert out == ["a8,a5", "a8,a9", "a8,a14"], "15 is 7 s newer; 1 is 7 s older"


def test_h6_equal_timestamps_wait_until_the_trigger_has_passed() -> None:
    join = _join("filter-order")
    join.push("T", _row("a", 5))
    assert join.push("S", _row("a", 5)).num_rows == 0, "another row at 5 may come, of either stream"
    assert join.push("T", _row("a", 5)).num_rows == 0
    assert join.push("S", _row("b", 6)).num_rows == 0
    assert _named(join.push("T", _row("b", 6))) == ["a5,a5", "a5,a5"]


@pytest.mark.parametrize("order", ["sync-filter", "filter-order"])
def test_h7_ties_go_by_row_of_s_then_row_of_t_and_each_pair_comes_once(order: str) -> None:
    streams = [wm.Stream(name, window="6s", time_unit="ms") for name in "ST"]
    join = wm.WindowJoin(*streams, on=None, output="rows", order=order)  # type: ignore[arg-type]
    found = []
    for name in ("T", "S", "S", "T", "T", "S"):
        found += join.push(name, pa.table({"ts": [5000]})).to_pylist()
    found += join.finish().to_pylist()
    pairs = [(row["left_row"], row["right_row"]) for row in found]
    assert pairs == [(s, t) for s in range(3) for t in range(3)]


@pytest.mark.parametrize(("alpha", "gain"), [(0.9, 0.473684), (0.3, 0.230769)])
def test_h8_gain_at_alpha(alpha: float, gain: float) -> None:
    assert relative_improvement(alpha) == pytest.approx(gain, abs=1e-6)


def test_h8_on_the_way_back_rows_are_taken_in_turn_and_the_buffer_drains() -> None:
    order = wm.AdaptiveOrder(alpha=0.3, period="1s", comparison_s=1e-2)
    join = _join(order, window="10s", output="rows")
    found, second = [], 0.0
    modes = []
    for rate, seconds in ((10, 60), (1, 400)):
        for _ in range(rate * seconds):
            second += 1 / rate
            for name in "ST":
                at = second + (0.4 if name == "T" else 0.0)
                rows = pa.table({"ts": [round(second * 1000)], "k": ["x"]})
                found += join.push(name, rows, at=at).to_pylist()
            modes.append(join.metrics.order)
    found += join.finish().to_pylist()
    changes = [mode for mode, before in zip(modes[1:], modes, strict=False) if mode != before]
    assert changes[0] == "filter-order"
    assert changes[-1] == "sync-filter"
    assert len(changes) <= 3, "up, draining, back"
    pairs = [(row["left_row"], row["right_row"]) for row in found]
    assert len(pairs) == len(set(pairs))
