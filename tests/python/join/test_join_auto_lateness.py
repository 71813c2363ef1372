"""lateness="auto": the bound follows the disorder, and few enough rows are late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import watersmeet as wm

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


def _disordered(rng: np.random.Generator, count: int, *, start_us: int, mean_delay_us: float) -> Any:
    """Times as they arrive: one row per millisecond, each delayed by an exponential time."""
    times = start_us + np.arange(count) * 1000
    arrival = times + rng.exponential(mean_delay_us, count) if mean_delay_us else times
    return times[np.argsort(arrival, kind="stable")]


def _join(lateness: Any = "auto", **options: Any) -> wm.WindowJoin:
    return wm.WindowJoin(
        wm.Stream("a", window="10ms", lateness=lateness, on_late="keep"),
        wm.Stream("b", window="10ms"),
        output="rows",
        **options,
    )


def _push(join: wm.WindowJoin, times: Any, size: int = 500) -> int:
    out = 0
    for begin in range(0, len(times), size):
        out += join.push("a", pa.table({"ts": times[begin : begin + size]})).num_rows
    return out


@pytest.mark.parametrize("target", [0.9, 0.99])
def test_share_of_late_rows_stays_near_the_target(target: float) -> None:
    join = _join(wm.Lateness(target=target, period="1s"))
    times = _disordered(np.random.default_rng(3), 60_000, start_us=0, mean_delay_us=20_000.0)
    _push(join, times)
    stream = join.metrics.stream("a")
    assert stream.late_rows / stream.rows <= 1.3 * (1.0 - target)
    wanted = -0.02 * np.log(1.0 - target)  # the quantile of the delays, which bounds what is seen of them
    assert 0.5 * wanted <= stream.lateness_s <= 2.0 * wanted  # type: ignore[operator]
    assert join.late("a").num_rows == stream.late_rows


def test_nothing_is_late_before_the_disorder_is_known() -> None:
    join = _join()
    _push(join, _disordered(np.random.default_rng(4), 900, start_us=0, mean_delay_us=20_000.0))
    stream = join.metrics.stream("a")
    assert (stream.late_rows, stream.pending_rows) == (0, 900)
    assert stream.lateness_s == float("inf")


def test_bound_follows_the_disorder_up_and_down_and_lowering_it_releases() -> None:
    rng = np.random.default_rng(5)
    join = _join(wm.Lateness(target=0.99, period="500ms"))
    bounds = []
    for start, delay in enumerate((1000.0, 50_000.0, 1000.0)):
        _push(join, _disordered(rng, 40_000, start_us=start * 40_000_000, mean_delay_us=delay))
        bounds.append(join.metrics.stream("a").lateness_s or 0.0)
    assert bounds[1] > 5 * bounds[0]
    assert bounds[2] < bounds[1] / 2
    assert join.metrics.stream("a").pending_rows < 100


def test_bound_never_exceeds_at_most() -> None:
    join = _join(wm.Lateness(target=0.999, at_most="5ms", period="1s"))
    _push(join, _disordered(np.random.default_rng(6), 20_000, start_us=0, mean_delay_us=50_000.0))
    assert join.metrics.stream("a").lateness_s == pytest.approx(0.005)


def test_every_row_in_time_is_joined_once() -> None:
    times = _disordered(np.random.default_rng(7), 10_000, start_us=0, mean_delay_us=5_000.0)
    join = _join(wm.Lateness(target=0.95, period="1s"), order="filter-order")
    out = _push(join, times)
    out += (
        join.push("b", pa.table({"ts": pa.array([5_000_000], pa.int64())})).num_rows + join.finish().num_rows
    )
    late = join.late("a")["ts"].to_numpy()
    near = np.abs(times - 5_000_000) <= 10_000
    assert out == int(near.sum()) - int((np.abs(late - 5_000_000) <= 10_000).sum())


def test_differential_restored_join_goes_on_with_what_it_had_learnt() -> None:
    times = _disordered(np.random.default_rng(8), 20_000, start_us=0, mean_delay_us=20_000.0)
    join = _join()
    _push(join, times[:10_100], 300)
    again = wm.WindowJoin.restore(join.snapshot())
    assert again.snapshot() == join.snapshot()
    for each in (join, again):
        _push(each, times[10_100:], 300)
    assert again.metrics == join.metrics
    assert again.late("a").equals(join.late("a"))


def _streams() -> dict[str, Any]:
    """Times in milliseconds, as they arrive: light and heavy tails, and disorder that changes tenfold."""
    rng = np.random.default_rng(3)
    times = np.arange(100_000) * 10
    delays = {
        "exponential": rng.exponential(200.0, len(times)),
        "heavy tail": np.minimum(rng.pareto(1.5, len(times)) * 50.0, 60_000.0),
        "changing": rng.exponential(100.0, len(times)) * np.where((times // 200_000) % 2, 10.0, 1.0),
    }
    return {name: times[np.argsort(times + delay, kind="stable")] for name, delay in delays.items()}


def _landings() -> Any:
    """Real disorder: flights' landings, reported in the order in which they took off."""
    tables = [
        pq.read_table(DATA / "nycflights13" / f"{name}.parquet", columns=["ts", "flight_key"])
        for name in ("departures", "arrivals")
    ]
    took_off, landed = (table.to_pandas().drop_duplicates("flight_key") for table in tables)
    both = took_off.merge(landed, on="flight_key", suffixes=("_off", "")).sort_values("ts_off", kind="stable")
    return both["ts"].to_numpy()[:100_000].astype(np.int64)


def _check_bound(times: Any, target: float) -> None:
    join = wm.WindowJoin(
        wm.Stream(
            "a", window=0, time_unit="ms", lateness=wm.Lateness(target=target, period=np.ptp(times) / 5e5)
        ),
        wm.Stream("b", window=0, time_unit="ms"),
        output="rows",
    )
    bounds = []
    for begin in range(0, len(times), 500):
        join.push("a", pa.table({"ts": times[begin : begin + 500]}))
        bounds.append(join.metrics.stream("a").lateness_s or 0.0)
    stream = join.metrics.stream("a")
    assert 0 < stream.late_rows / stream.rows <= 1.0 - target
    in_hindsight = np.quantile(np.maximum.accumulate(times) - times, target, method="higher") / 1e3
    assert np.mean([bound for bound in bounds if bound < np.inf]) <= 1.25 * in_hindsight


@pytest.mark.parametrize("target", [0.9, 0.99])
@pytest.mark.parametrize("name", ["exponential", "heavy tail", "changing"])
def test_few_enough_are_late_and_the_bound_is_near_the_smallest_in_hindsight(
    name: str, target: float
) -> None:
    _check_bound(_streams()[name], target)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the real streams are not here: no folder {DATA}")
@pytest.mark.parametrize("target", [0.9, 0.99])
def test_few_enough_landings_are_late_when_reported_by_take_off(target: float) -> None:
    _check_bound(_landings(), target)
