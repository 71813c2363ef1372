"""Shedding with count windows, ordered results, idle streams and a lateness found on line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.testing import gedik_streams, keyed_stream, set_stream

POLICIES = ("gedik", "density", "content", "random-drop", "auto")
COUNTS = [("60i", "60i"), ("25i", "4s"), ("4s", "90i")]


def shed(policy: str, per_second: float, **settings: Any) -> wm.Shed:
    return wm.Shed(wm.comparisons(per_second), policy=policy, rate_period="1s", time_period="2s", **settings)


def join_of(windows: tuple[str, str] = ("4s", "4s"), streams: Any = None, **settings: Any) -> wm.WindowJoin:
    extra = ({}, {}) if streams is None else streams
    sides = (
        wm.Stream(name, window=window, time_unit="ms", **own)
        for name, window, own in zip("ab", windows, extra, strict=True)
    )
    settings = {"on": wm.overlap("tags", at_least=2), "index": "scan", "seed": 4, **settings}
    return wm.WindowJoin(*sides, output="rows", **settings)


def fed(join: wm.WindowJoin, tables: tuple[pa.Table, pa.Table], cuts: tuple[int, ...]) -> list[Any]:
    """The pairs in the order they came; batches of both sides by time, in turn."""
    starts, turn, outs = [0, 0], 0, []
    while starts[0] < tables[0].num_rows or starts[1] < tables[1].num_rows:
        side, size = turn % 2, cuts[turn % len(cuts)]
        outs.append(join.push("ab"[side], tables[side].slice(starts[side], size)))
        starts[side] += size
        turn += 1
    outs.append(join.finish())
    table = pa.concat_tables(outs)
    return list(zip(table["left_row"].to_pylist(), table["right_row"].to_pylist(), strict=True))


def tags(rows: int = 500) -> tuple[pa.Table, pa.Table]:
    left, right = (set_stream(seed, rows, items=12, span=20_000, null_share=0.02) for seed in (5, 6))
    return left, right


def times(tables: tuple[pa.Table, pa.Table], pairs: list[Any]) -> list[int]:
    left, right = (np.asarray(table["ts"]) for table in tables)
    return [max(int(left[one]), int(right[two])) for one, two in pairs]


# --- count windows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("windows", COUNTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_count_window_sheds_soundly_and_gives_all_when_there_is_plenty(
    policy: str, windows: tuple[str, str]
) -> None:
    tables = tags()
    whole = fed(join_of(windows), tables, (64,))
    assert len(whole) > 100
    plenty = join_of(windows, shed=shed(policy, 1e12))
    assert sorted(fed(plenty, tables, (37, 80))) == sorted(whole)
    assert plenty.metrics.recall.value == 1.0
    runs = []
    for cuts in ((500,), (1,), (13, 90, 7)):
        poor = join_of(windows, shed=shed(policy, 150.0))
        runs.append((fed(poor, tables, cuts), poor.metrics.recall, poor.metrics.directions))
    assert runs[0] == runs[1] == runs[2]
    some, _, directions = runs[0]
    assert len(set(some)) == len(some) < len(whole)
    assert set(some) <= set(whole)
    assert all(direction.due == direction.done + direction.shed for direction in directions)


@pytest.mark.parametrize("windows", COUNTS)
def test_differential_count_window_is_due_what_the_exact_join_is(windows: tuple[str, str]) -> None:
    tables = tags()
    exact, poor = join_of(windows), join_of(windows, shed=shed("density", 150.0))
    fed(exact, tables, (50,))
    fed(poor, tables, (50,))
    assert [d.due for d in poor.metrics.directions] == [d.due for d in exact.metrics.directions]


@pytest.mark.parametrize("policy", ["density", "random-drop"])
def test_count_window_with_lateness_and_arrivals_stays_sound(policy: str) -> None:
    left, right = tags()
    mixed = left.take(pa.array(np.argsort(np.arange(500) + np.random.default_rng(1).integers(0, 4, 500))))
    own = ({"lateness": "1s"}, {})
    whole = set(fed(join_of(("60i", "60i"), own), (mixed, right), (64,)))
    plenty = join_of(("60i", "60i"), own, shed=shed(policy, 1e12))
    assert set(fed(plenty, (mixed, right), (41, 9))) == whole
    poor = join_of(("60i", "60i"), own, shed=shed(policy, 150.0))
    found = []
    for start in range(0, 500, 50):
        for name, table in (("a", mixed), ("b", right)):
            found += poor.push(name, table.slice(start, 50), at=start / 25 + 3).to_pylist()
    found += poor.finish().to_pylist()
    assert {(row["left_row"], row["right_row"]) for row in found} <= whole


def test_count_window_takes_utility() -> None:
    left, right = gedik_streams(9, 0.6, 100.0, 20.0, cycle=8.0, type_shares={"news": 0.3, "ads": 0.7})
    for policy in ("gedik", "density"):
        streams = (wm.Stream(name, window="400i", type="type") for name in ("a", "b"))
        join = wm.WindowJoin(
            *streams,
            on=wm.overlap("items", at_least=2),
            shed=shed(policy, 8_000, utility={"news": 1.0, "ads": 0.1}),
            index="scan",
            output="rows",
        )
        for start in range(0, left.num_rows, 500):
            join.push("a", left.slice(start, 500))
            join.push("b", right.slice(start, 500))
        join.finish()
        for direction in join.metrics.directions:
            assert direction.fractions["news"] > direction.fractions["ads"]


def test_restored_join_with_counts_and_order_goes_on_as_the_original() -> None:
    left, right = tags()
    for policy in POLICIES:
        join = join_of(("60i", "4s"), shed=shed(policy, 150.0), order="filter-order")
        for start in range(0, 300, 30):
            join.push("a", left.slice(start, 30))
            join.push("b", right.slice(start, 30))
        twin = wm.WindowJoin.restore(join.snapshot())
        rest = (left.slice(300), right.slice(300))
        assert fed(join, rest, (40,)) == fed(twin, rest, (71,))
        assert join.metrics.recall == twin.metrics.recall


# --- order -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["sync-filter", "filter-order", wm.AdaptiveOrder()])
@pytest.mark.parametrize("policy", POLICIES)
def test_ordered_results_are_those_of_the_unordered_join_by_time(policy: str, order: Any) -> None:
    tables = tags()
    plain = fed(join_of(shed=shed(policy, 300.0)), tables, (40,))
    for cuts in ((40,), (500,), (1, 30)):
        join = join_of(shed=shed(policy, 300.0), order=order)
        found = fed(join, tables, cuts)
        assert sorted(found) == sorted(plain)
        order_of_results = list(zip(times(tables, found), found, strict=True))
        assert order_of_results == sorted(order_of_results)
        assert join.metrics.held_results == 0


def test_result_is_held_until_no_earlier_one_can_come_and_is_counted_as_held() -> None:
    join = join_of(on=wm.equal("key"), shed=shed("density", 1e9), order="filter-order")
    rows = {"ts": [0, 1000, 2000], "key": [1, 1, 1]}
    assert join.push("a", pa.table(rows)).num_rows == 0
    # (0, 500) is found; another row at 500 may still come.
    assert join.push("b", pa.table({"ts": [500], "key": [1]})).num_rows == 0
    assert (join.metrics.results, join.metrics.held_results) == (0, 1)
    assert join.advance("b", to=900).num_rows == 1
    assert (join.metrics.results, join.metrics.held_results) == (1, 0)
    assert join.metrics.blocked_by in (None, "b")
    out = join.push("b", pa.table({"ts": [2500], "key": [1]})).num_rows + join.finish().num_rows
    assert out == 5  # 500 with 1000 and 2000, 2500 with all three
    assert join.metrics.held_results == 0


def test_ordered_payload_of_rows_that_left_their_window_is_still_there() -> None:
    left, right = keyed_stream(1, 400, keys=3, span=40_000), keyed_stream(2, 400, keys=3, span=40_000)
    streams = (wm.Stream(name, window="1s", time_unit="ms") for name in ("a", "b"))
    join = wm.WindowJoin(
        *streams, on=wm.equal("key"), shed=shed("auto", 1e9), order="filter-order", index="hash"
    )
    outs = []
    assert join.push("a", left).num_rows == 0
    for start in range(0, 400, 20):
        outs.append(join.push("b", right.slice(start, 20)))
    outs.append(join.finish())
    table = pa.concat_tables(outs)
    assert table.num_rows > 100
    assert table["key"].equals(table["key_right"])


# --- idle streams, lateness found on line ------------------------------------------------------------------


def test_idle_stream_does_not_hold_back_a_join_that_sheds() -> None:
    left, right = tags()
    quiet = right.slice(0, 100)
    stuck = join_of(shed=shed("density", 1e6))
    patient = join_of(streams=({}, {"idle_timeout": "2s"}), shed=shed("density", 1e6))
    counts = []
    for join in (stuck, patient):
        join.push("b", quiet)
        for start in range(0, 500, 20):
            join.push("a", left.slice(start, 20))
        counts.append(join.metrics.streams[0].pending_rows)
    assert counts[0] > 300
    assert counts[1] < 60
    assert patient.metrics.streams[1].idle
    back = pa.table({"ts": [30_000], "tags": [[1, 2]]}, schema=right.schema)
    patient.push("b", back)  # it comes back, and is waited for again
    assert not patient.metrics.streams[1].idle
    patient.finish()


@pytest.mark.parametrize("policy", ["density", "random-drop"])
def test_results_with_an_idle_stream_are_part_of_the_full_answer(policy: str) -> None:
    left, right = tags()
    whole = set(fed(join_of(), (left, right), (64,)))
    join = join_of(streams=({"idle_timeout": "1s"}, {"idle_timeout": "1s"}), shed=shed(policy, 300.0))
    found = []
    for start in range(0, 500, 100):  # each stream alone for a long while
        for name, table in (("a", left), ("b", right)):
            for part in range(0, 100, 10):
                found += join.push(name, table.slice(start + part, 10)).to_pylist()
    found += join.finish().to_pylist()
    pairs = [(row["left_row"], row["right_row"]) for row in found]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) <= whole


def test_lateness_found_on_line_reorders_rows_of_a_join_that_sheds() -> None:
    left, right = tags()
    mixed = left.take(pa.array(np.argsort(np.arange(500) + np.random.default_rng(1).integers(0, 4, 500))))
    exact = join_of(streams=({"lateness": "auto"}, {}))
    whole = fed(exact, (mixed, right), (25,))
    join = join_of(streams=({"lateness": "auto"}, {}), shed=shed("density", 1e9))
    assert sorted(fed(join, (mixed, right), (25,))) == sorted(whole)
    assert join.metrics.streams[0].late_rows == exact.metrics.streams[0].late_rows
    lateness = join.metrics.streams[0].lateness_s
    assert lateness is not None
    assert 0.0 < lateness < 5.0


def test_why_not_tells_of_pairs_that_are_held_or_wait_in_a_join_that_sheds() -> None:
    streams = (wm.Stream(name, window="4s", time_unit="ms") for name in ("a", "b"))
    join = wm.WindowJoin(*streams, on=wm.equal("key"), shed=shed("density", 1e9), order="filter-order")
    join.push("a", pa.table({"ts": [0, 1000], "key": [1, 1]}))
    join.push("b", pa.table({"ts": [500], "key": [1]}))
    assert wm.why_not(join, 0, 0).stage == "held"
    assert wm.why_not(join, 1, 0).stage == "waiting"
