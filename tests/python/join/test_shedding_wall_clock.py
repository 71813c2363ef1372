"""budget="cpu": the same join against a clock, here one that only the test moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.join.shedding.pace import Pace
from watersmeet.testing import ManualClock, gedik_streams

RATE, SECONDS, WINDOW_S = 100.0, 40, 4.0


def _slow_join(clock: ManualClock, shed: wm.Shed, *, pair_s: float) -> wm.WindowJoin:
    """A join whose every candidate pair costs `pair_s` of the clock."""

    def slow(left: pa.Table, right: pa.Table) -> Any:
        clock.advance(left.num_rows * pair_s)
        return np.ones(left.num_rows, bool)

    return wm.WindowJoin(
        *(wm.Stream(name, window=WINDOW_S) for name in ("a", "b")),
        on=wm.where(slow),
        basic_window="1s",
        shed=shed,
        output="rows",
    )


def live(
    clock: ManualClock, *, pair_s: float, policy: str, period: str = "1s"
) -> tuple[wm.WindowJoin, list[Any]]:
    """A slow join, and what it gives for both streams, batch by batch."""
    shed = wm.Shed("cpu", policy=policy, rate_period=period, time_period=period)  # type: ignore[arg-type]
    join = _slow_join(clock, shed, pair_s=pair_s)
    left, right = gedik_streams(3, 0.6, RATE, SECONDS)
    join.push("a", left.slice(0, 0))
    join.push("b", right.slice(0, 0))
    core = join._engine.setup.core
    core.clock, core.history = clock, []
    for start in range(0, left.num_rows, 20):
        clock.move_to(max(clock.now, start / RATE))  # a live source: rows come when they happen
        join.push("a", left.slice(start, 20))
        join.push("b", right.slice(start, 20))
    join.finish()
    return join, core.history


@pytest.mark.parametrize("policy", ["density", "gedik"])
def test_lag_stays_under_two_buffers_at_five_times_capacity(policy: str) -> None:
    due_per_s = 2 * RATE * RATE * WINDOW_S
    join, history = live(ManualClock(), pair_s=5.0 / due_per_s, policy=policy)
    lags = [period["lag_s"] for period in history]
    assert max(lags[8:]) < 2.0
    spent = [period["units"] for period in history[15:]]
    assert np.mean(spent) == pytest.approx(due_per_s / 5.0, rel=0.15)
    assert [stream.dropped_rows for stream in join.metrics.streams] == [0, 0]
    # Every pair matches, so what is missed is known to the pair, in the period that has not ended too.
    decided = [sum(getattr(way, name) for way in join.metrics.directions) for name in ("done", "due")]
    recall, truth = join.metrics.recall, decided[0] / decided[1]
    assert recall.value == pytest.approx(truth, abs=0.001 if policy == "density" else 0.01)
    assert recall.low <= truth <= recall.high


def test_published_algorithms_with_their_default_periods_do_not_fall_behind() -> None:
    join, history = live(
        ManualClock(), pair_s=5.0 / (2 * RATE * RATE * WINDOW_S), policy="gedik", period="5s"
    )
    assert max(period["elapsed_s"] for period in history) <= 1.5
    assert max(period["lag_s"] for period in history[10:]) < 2.0
    assert [stream.dropped_rows for stream in join.metrics.streams] == [0, 0]


def test_fast_machine_sheds_nothing() -> None:
    join, _ = live(ManualClock(), pair_s=1e-9, policy="density")
    assert sum(direction.shed for direction in join.metrics.directions) == 0
    assert join.metrics.recall.value == 1.0


def test_file_that_is_read_at_full_speed_has_no_lag() -> None:
    pace = Pace()
    for second in range(1, 10):
        pace = pace.resumed(0.01 * second).controlled(0.01 * second + 0.005, stream_s=float(second))
    assert pace.lag_s == 0.0
    slower = pace.paused(0.1).resumed(0.2).controlled(3.2, stream_s=10.0)
    assert slower.last_busy_s == pytest.approx(3.0 + 0.1 - 0.095)
    assert slower.lag_s == pytest.approx((3.2 - 10.0) - (0.095 - 9.0))


def _fed_in_batches(
    clock: ManualClock, *, rows: int, policy: str, is_live: bool, pair_s: float = 1e-9
) -> wm.WindowJoin:
    """Both streams in batches of so many rows, which come when their last row happens; or at once."""
    shed = wm.Shed("cpu", policy=policy)  # type: ignore[arg-type]
    join = _slow_join(clock, shed, pair_s=pair_s)
    tables = gedik_streams(3, 0.6, RATE, SECONDS)
    for name, table in zip("ab", tables, strict=True):
        join.push(name, table.slice(0, 0))
    join._engine.setup.core.clock = clock
    for start in range(0, tables[0].num_rows, rows):
        if is_live:
            clock.move_to(max(clock.now, (start + rows) / RATE))
        for name, table in zip("ab", tables, strict=True):
            join.push(name, table.slice(start, rows))
    join.finish()
    return join


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize("rows", [20, 100, 250, 1000, 4000])
@pytest.mark.parametrize("policy", ["density", "gedik", "random-drop"])
def test_fast_machine_sheds_nothing_however_long_the_batches(policy: str, rows: int, is_live: bool) -> None:
    join = _fed_in_batches(ManualClock(), rows=rows, policy=policy, is_live=is_live)
    assert [stream.dropped_rows for stream in join.metrics.streams] == [0, 0]
    assert sum(direction.shed for direction in join.metrics.directions) == 0
    assert join.metrics.recall.is_exact


# A fifth can be decided; of batches longer than the input buffer, less: the buffer fills while one is joined.
@pytest.mark.parametrize(("rows", "least"), [(20, 0.15), (100, 0.1), (250, 0.05)])
def test_slow_machine_sheds_whatever_the_batches_and_drops_no_row(rows: int, least: float) -> None:
    due_per_s = 2 * RATE * RATE * WINDOW_S
    clock = ManualClock()
    join = _fed_in_batches(clock, rows=rows, policy="density", is_live=True, pair_s=5.0 / due_per_s)
    assert [stream.dropped_rows for stream in join.metrics.streams] == [0, 0]
    assert clock.now < SECONDS + 2.0 + rows / RATE
    done, due = (sum(getattr(way, name) for way in join.metrics.directions) for name in ("done", "due"))
    assert least < done / due < 0.35
    assert join.metrics.recall.value == pytest.approx(done / due, abs=0.001)


def test_lag_counts_from_the_end_of_a_rest_and_from_what_was_queued_then() -> None:
    pace = Pace().resumed(0.0, newest_s=0.0).controlled(0.1, stream_s=0.0).paused(0.1)
    fresh = pace.resumed(2.0, newest_s=2.0).controlled(2.01, stream_s=1.0)  # two seconds of rows at once
    assert fresh.lag_s == pytest.approx(0.01)
    stale = fresh.paused(2.1).resumed(5.0, newest_s=3.5).controlled(5.1, stream_s=3.0)
    assert stale.lag_s == pytest.approx(1.5 + 0.1)
    busy = stale.paused(6.0).resumed(6.001, newest_s=6.0).controlled(7.0, stream_s=5.0)
    assert busy.lag_s == pytest.approx(7.0 - 5.0 - 0.1)


@pytest.mark.parametrize("policy", ["density", "gedik"])
def test_caller_that_pushes_all_there_is_does_not_fall_behind(policy: str) -> None:
    """Once calls are slow the rows of one stream come late and all at once, past every control time."""
    clock, pair_s = ManualClock(), 5.0 / (2 * RATE * RATE * WINDOW_S)

    def slow(left: pa.Table, right: pa.Table) -> Any:
        clock.advance(left.num_rows * pair_s)
        return np.ones(left.num_rows, bool)

    streams = (wm.Stream(name, window=WINDOW_S) for name in ("a", "b"))
    shed = wm.Shed("cpu", policy=policy)  # type: ignore[arg-type]
    join = wm.WindowJoin(*streams, on=wm.where(slow), basic_window="1s", shed=shed, output="rows")
    tables = gedik_streams(3, 0.6, RATE, SECONDS)
    for name, table in zip("ab", tables, strict=True):
        join.push(name, table.slice(0, 0))
    join._engine.setup.core.clock = clock
    starts, waits = [0, 0], []
    while min(starts) < tables[0].num_rows:
        now = clock.now
        end = min(tables[0].num_rows, int(now * RATE))
        for side, name in enumerate("ab"):
            join.push(name, tables[side].slice(starts[side], end - starts[side]))
            waits.append(clock.now - starts[side] / RATE)
            starts[side] = end
        clock.move_to(max(clock.now, now + 0.02))
    assert max(waits) < 3.0
    assert [stream.dropped_rows for stream in join.metrics.streams] == [0, 0]
