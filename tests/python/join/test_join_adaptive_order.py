"""AdaptiveOrder on a live join: it follows the load both ways, flaps never, and loses or repeats nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.testing import matching_rows


def _arrivals(seed: int, stretches: list[tuple[float, float, float]]) -> list[tuple[str, float]]:
    """(stream, second) by time; each stretch is (seconds, rate of a, rate of b), gaps exponential."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[float, str]] = []
    start = 0.0
    for seconds, *rates in stretches:
        for name, rate in zip("ab", rates, strict=True):
            times = start + np.cumsum(rng.exponential(1.0 / rate, int(seconds * rate * 2) + 10))
            rows += [(float(time), name) for time in times[times < start + seconds]]
        start += seconds
    return [(name, time) for time, name in sorted(rows)]


def _batch(time: float, key: int) -> pa.Table:
    return pa.table({"ts": pa.array([round(time * 1e6)], pa.int64()), "k": pa.array([key], pa.int64())})


def _join(order: Any, **options: Any) -> wm.WindowJoin:
    streams = (wm.Stream(name, window="10s") for name in "ab")
    return wm.WindowJoin(*streams, on=wm.equal("k"), output="rows", order=order, **options)


def _run(join: wm.WindowJoin, arrivals: list[tuple[str, float]]) -> list[tuple[int, int]]:
    given: list[tuple[int, int]] = []
    for number, (name, time) in enumerate(arrivals):
        out = join.push(name, _batch(time, number * 7 % 5))
        given += zip(out["left_row"].to_pylist(), out["right_row"].to_pylist(), strict=True)
    out = join.finish()
    return given + list(zip(out["left_row"].to_pylist(), out["right_row"].to_pylist(), strict=True))


def _expected(arrivals: list[tuple[str, float]]) -> list[tuple[Any, Any]]:
    tables = []
    for stream in "ab":
        chosen = [(n, time) for n, (name, time) in enumerate(arrivals) if name == stream]
        tables.append(pa.concat_tables([_batch(time, n * 7 % 5) for n, time in chosen]))
    times = [table["ts"].to_pylist() for table in tables]
    pairs = matching_rows(*tables, on=wm.equal("k"), window="10s")
    return sorted(pairs, key=lambda p: (max(times[0][p[0]], times[1][p[1]]), p))  # type: ignore[index]


QUIET, BUSY = (60.0, 1.0, 4.0), (60.0, 4.0, 10.0)
# c |w| l1 l2 with 1 ms per pair: 0.04 and 0.4
ORDER = wm.AdaptiveOrder(alpha=0.3, period="1s", comparison_s=1e-3)
# The default rule at a tenth of that: 0.004 and 0.04 about its 0.025
SOONER = wm.AdaptiveOrder(period="1s", comparison_s=1e-4)


@pytest.mark.parametrize("order", [ORDER, SOONER])
def test_oracle_switching_both_ways_loses_and_repeats_nothing_and_keeps_the_order(order: Any) -> None:
    stretches = [QUIET, BUSY, BUSY, QUIET, QUIET, QUIET, QUIET]
    arrivals = _arrivals(5, stretches)
    join = _join(order)
    assert _run(join, arrivals) == _expected(arrivals)
    ways = [choice.what.split(" to ")[1] for choice in join.metrics.decisions]
    assert "filter-order" in ways
    assert ways[-1] == "sync-filter"


@pytest.mark.parametrize("order", [ORDER, SOONER])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_adaptive_switches_no_more_than_once_per_rate_change(seed: int, order: Any) -> None:
    stretches = [QUIET, QUIET, BUSY, BUSY, BUSY, QUIET, QUIET, QUIET, QUIET, BUSY, BUSY]
    join = _join(order)
    _run(join, _arrivals(seed, stretches))
    switch = join._engine.pace.switch  # type: ignore[union-attr]
    assert 1 <= switch.state.switches <= 3  # type: ignore[union-attr]


def test_metrics_and_explanation_tell_the_way_in_force() -> None:
    join = _join(ORDER)
    assert join.metrics.order == "sync-filter"
    _run(join, _arrivals(5, [QUIET, BUSY, BUSY]))
    assert join.metrics.order == "filter-order"
    assert "filter-order" in str(join.explain())
    assert "reaches alpha" in join.metrics.decisions[-1].why


def test_hold_buffer_above_the_memory_limit_falls_back_to_sync_filter_and_says_so() -> None:
    join = _join(ORDER, memory_limit="256KiB")  # half of it for held results
    arrivals = _arrivals(5, [QUIET, BUSY, BUSY])
    given = []
    for number, (name, time) in enumerate(arrivals):
        given.append(join.push(name, _batch(time, number * 7 % 5)))
    assert join.metrics.order == "filter-order"
    last = arrivals[-1][1]
    for second in range(1, 9):  # b stalls, a goes on: results pile up
        for tenth in range(10):
            rows = [_batch(last + second + tenth / 10, tenth % 5)] * 8
            given.append(join.push("a", pa.concat_tables(rows)))
    assert join.metrics.order in ("draining", "sync-filter")
    assert (
        "memory_limit=131072" in [choice.why for choice in join.metrics.decisions if "to " in choice.what][-1]
    )
    assert "memory_limit=131072" in join.metrics.why_waiting()
    given.append(join.finish())
    pairs = {pair for out in given for pair in zip(*out.to_pydict().values(), strict=True)}
    assert len(pairs) == sum(out.num_rows for out in given)


def test_memory_limit_is_read_and_refused_in_words() -> None:
    with pytest.raises(wm.ConfigError, match="memory_limit='much'"):
        _join(ORDER, memory_limit="much")
    with pytest.raises(wm.ConfigError, match="expected at least 262,144 bytes"):
        _join("filter-order", memory_limit="12kB")


def test_differential_restored_join_decides_and_gives_what_the_original_does() -> None:
    arrivals = _arrivals(7, [QUIET, BUSY, BUSY, QUIET, QUIET])
    join, half = _join(ORDER), len(arrivals) // 2
    for number, (name, time) in enumerate(arrivals[:half]):
        join.push(name, _batch(time, number * 7 % 5))
    again = wm.WindowJoin.restore(join.snapshot())
    assert again.snapshot() == join.snapshot()
    for number, (name, time) in enumerate(arrivals[half:]):
        batch = _batch(time, number)
        assert again.push(name, batch).equals(join.push(name, batch))
    assert again.metrics == join.metrics
    assert again.finish().equals(join.finish())


def test_measured_cost_needs_no_setting() -> None:
    join = _join(wm.AdaptiveOrder(period="1s"))
    arrivals = _arrivals(5, [(20.0, 5.0, 5.0)])
    assert _run(join, arrivals) == _expected(arrivals)
    assert join.metrics.order == "sync-filter", "a machine of today is idle at this load"
