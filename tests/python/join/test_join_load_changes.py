"""index="auto" where rates or selectivity change while the join runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.cost import CostCurve, OperationCosts, UnitCosts
from watersmeet.join.two_way.load_watch import LoadWatch
from watersmeet.join.two_way.look_times import LOOK_EVERY_ROWS, LookTimes

COSTS = UnitCosts(
    {
        ("equal", "scan"): CostCurve.flat(OperationCosts(probe=5.0, row=0.05, block=20.0, match=1.0)),
        ("equal", "hash"): CostCurve.flat(OperationCosts(probe=6.0, step=4.0, insert=5.0)),
    }
)
FAST, PUSH_ROWS = 10_000, 2_000  # rows per second, and of both streams at a time


def phase(
    rows: int, ratio: float, *, begin_us: int, seed: int, keys: int = 5_000
) -> Iterator[tuple[str, pa.Table]]:
    """Streams of which b is `ratio` times as fast as a, from a time on."""
    rates = (FAST / ratio, FAST) if ratio >= 1.0 else (FAST, FAST * ratio)
    random = np.random.default_rng(seed)
    columns = []
    for rate in rates:
        count = int(rows * rate / sum(rates))
        columns.append((begin_us + (np.arange(count) * (1e6 / rate)).astype(np.int64), count))
    seconds = rows / sum(rates)
    edges = begin_us + np.linspace(0.0, seconds * 1e6, rows // PUSH_ROWS + 1)
    drawn = [random.integers(0, keys, count) for _, count in columns]
    for start, end in pairwise(edges.tolist()):
        for name, (times, _), values in zip("ab", columns, drawn, strict=True):
            first, last = np.searchsorted(times, (start, end))
            yield name, pa.table({"ts": times[first:last], "key": values[first:last]})


def flips(rows: int, *ratios: float) -> list[tuple[str, pa.Table]]:
    return phases(rows, [(ratio, 5_000) for ratio in ratios])


def phases(rows: int, loads: list[tuple[float, int]]) -> list[tuple[str, pa.Table]]:
    found: list[tuple[str, pa.Table]] = []
    begin_us = 0
    for seed, (ratio, keys) in enumerate(loads):
        found += phase(rows, ratio, begin_us=begin_us, seed=seed, keys=keys)
        begin_us = max(table["ts"][-1].as_py() for _, table in found[-2:] if table.num_rows) + 1_000
    return found


def joined(pushes: list[tuple[str, pa.Table]], **more: Any) -> tuple[pa.Table, list[Any], list[list[str]]]:
    """Results, changes, and the indexes after every push; windows of 1,000 rows, whatever the rates."""
    join = wm.WindowJoin(
        wm.Stream("a", window="1000i"),
        wm.Stream("b", window="1000i"),
        on=wm.equal("key"),
        output="rows",
        **more,
    )
    advisor = join._engine.advisor
    advisor.unit_costs = COSTS
    results, indexes = [], []
    for name, table in pushes:
        results.append(join.push(name, table))
        indexes.append(list(advisor.index))
    results.append(join.finish())
    return pa.concat_tables(results), advisor.changes, indexes


def first_with(indexes: list[list[str]], wanted: list[str], *, after: int = 0) -> int:
    """Rows from push `after` on until the indexes are as wanted."""
    return (indexes.index(wanted, after) - after) * PUSH_ROWS // 2


def test_indexes_follow_rates_that_flip_and_no_result_is_lost_or_repeated() -> None:
    """b is 100 times as fast, then a is: the window that many probe is hashed, that of many rows scanned."""
    pushes = flips(300_000, 100.0, 0.01)
    found, changes, indexes = joined(pushes)
    flip = len(pushes) // 2
    assert indexes[flip - 1] == ["hash", "scan"]
    assert indexes[-1] == ["scan", "hash"]
    assert first_with(indexes, ["scan", "hash"], after=flip) <= 80_000
    assert [change.index for change in changes if change.stream == "b"] == ["scan", "hash"]
    for index in ("hash", "scan"):
        expected, none, _ = joined(pushes, index=index)
        assert none == []
        assert found.equals(expected)


def test_a_window_that_is_hardly_probed_any_more_is_scanned() -> None:
    """Nothing is compared that was not foreseen: only the rows that come tell."""
    pushes = flips(300_000, 1.0, 100.0)
    found, _, indexes = joined(pushes)
    change = len(pushes) // 2
    assert indexes[change - 1] == ["hash", "hash"]
    assert indexes[-1] == ["hash", "scan"]
    assert found.equals(joined(pushes, index="hash")[0])


def test_rates_that_flip_again_and_again_are_followed() -> None:
    pushes = flips(150_000, 100.0, 0.01, 100.0, 0.01)
    found, _, indexes = joined(pushes)
    ends = [len(pushes) * part // 4 - 1 for part in (1, 2, 3, 4)]
    assert [indexes[end] for end in ends] == [["hash", "scan"], ["scan", "hash"]] * 2
    assert found.equals(joined(pushes, index="hash")[0])


def test_indexes_follow_a_selectivity_that_changes() -> None:
    """Of few keys a scan finds the many partners sooner than a chain does; of many, a look-up the few."""
    pushes = phases(150_000, [(1.0, 5_000), (1.0, 5), (1.0, 5_000)])
    found, _, indexes = joined(pushes)
    ends = [len(pushes) * part // 3 - 1 for part in (1, 2, 3)]
    assert [indexes[end] for end in ends] == [["hash", "hash"], ["scan", "scan"], ["hash", "hash"]]
    assert found.num_rows == joined(pushes, index="hash")[0].num_rows


def test_a_steady_load_is_decided_once() -> None:
    _, changes, indexes = joined(flips(600_000, 100.0))
    assert [(change.stream, change.index) for change in changes] == [("b", "scan")]
    assert indexes[-1] == ["hash", "scan"]


@pytest.mark.parametrize(
    ("rows", "enough", "due"), [((330, 32_670), 1e-3, False), ((32_670, 330), 1e-3, True)]
)
def test_rows_that_another_index_would_have_served_better_are_regretted(
    rows: tuple[int, int], enough: float, due: bool
) -> None:
    """Window b is scanned, at 60 ns a probe, and could be hashed, at 6 ns a probe and 5 ns a row."""
    watch = LoadWatch()
    prices = (60e-9, 0.0), ((6e-9, 5e-9),)
    watch.start([None, prices], enough_s=enough, results=0, results_per_row=0.0)
    assert not watch.came(0, rows[0] - 1_000)
    assert watch.came(0, 1_000) or watch.came(1, rows[1])
    assert watch.check(0) is due


def test_far_more_results_than_foreseen_or_far_fewer_are_a_surprise() -> None:
    watch = LoadWatch()
    for found, due in ((33_000, False), (140_000, True), (8_000, True), (9_000, False)):
        watch.start([None, None], enough_s=1.0, results=7, results_per_row=1.0)
        assert watch.came(0, 33_000)
        assert watch.check(7 + found) is due


def test_looks_at_a_changed_load_come_soon_and_then_at_growing_distances() -> None:
    times = LookTimes(100)
    times.rows = 101
    assert times.is_due
    assert times.may_change, "the first look decides"
    assert times.looked(wants_change=False, rows=1_000_000, before_s=0.0) == 1_000_000
    times.rows += 300_000
    assert not times.is_due
    times.betrayed()
    assert times.is_due
    assert not times.may_change, "its counters are of two loads"
    waits = [times.looked(wants_change=False, rows=1_000_000, before_s=3.0)]
    assert times.load_s(5.0) == 2.0
    while waits[-1] < 1_000_000:
        times.rows += waits[-1]
        assert times.may_change
        waits.append(times.looked(wants_change=False, rows=1_000_000, before_s=9.0))
    assert waits[:4] == [LOOK_EVERY_ROWS * times for times in (1, 3, 12, 48)]
    assert not times.may_change


def test_a_look_that_cannot_be_made_is_tried_ever_more_seldom() -> None:
    """Memory that is half full leaves no room for a second index; not every push asks whether it still is."""
    times, tried = LookTimes(100), 0
    for _ in range(1_000):
        times.rows += 10_000
        if times.is_due:
            tried += 1
            times.said_nothing()
    assert tried < 30


def test_a_doubt_is_confirmed_or_dropped_by_the_next_look() -> None:
    times = LookTimes(100)
    times.looked(wants_change=False, rows=50_000, before_s=0.0)
    assert not times.may_change
    assert times.looked(wants_change=True, rows=50_000, before_s=0.0) == LOOK_EVERY_ROWS
    assert times.may_change
    assert times.looked(wants_change=False, rows=50_000, before_s=0.0) == 50_000
    assert not times.may_change
