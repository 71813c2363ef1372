"""The streaming join without Spark: any cut, disorder, failure and move of workers gives wm.join's answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.by_hand import Query, expected, request
from tests.spark.inputs import FAMILIES, SECOND, pairs, solid, table

import watersmeet as wm
from watersmeet.spark import bucket
from watersmeet.vocabulary import Span, parse_span

LEFT, RIGHT = solid(table(3, 300, nulls=0.0)), solid(table(4, 280, nulls=0.0))
DELAY = 4 * SECOND


def cuts(rows: pa.Table, batches: int, *, disorder: int, seed: int) -> list[pa.Table]:
    """The table in micro-batches: rows arrive up to `disorder` microseconds after their time."""
    rng = np.random.default_rng(seed)
    times = np.asarray(rows["ts"].cast(pa.int64()))
    arrival = times + (rng.integers(0, disorder, len(times)) if disorder else 0)
    ends = np.linspace(arrival.min(), arrival.max() + 1, batches + 1)
    batch = np.searchsorted(ends, arrival, side="right") - 1
    return [rows.take(pa.array(rng.permutation(np.flatnonzero(batch == n)))) for n in range(batches)]


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    bucket.forget()


def arrivals(rows: pa.Table, batches: int, *, how: str, side: int) -> list[pa.Table]:
    """The table in micro-batches, as streams come: late ones, and a right one that is silent for a while."""
    disorder = {"disordered": 3 * SECOND, "late": 9 * SECOND}.get(how, 0)
    lots = cuts(rows, batches, disorder=disorder, seed=side)
    if how == "idle" and side == 1:
        silent = slice(batches // 4, batches // 2)
        lots[batches // 2] = pa.concat_tables([*lots[silent], lots[batches // 2]])
        lots[silent] = [rows.slice(0, 0)] * len(lots[silent])
    return lots


@pytest.mark.parametrize("how", ["in order", "disordered", "late", "idle"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_oracle_any_cut_gives_the_answer_of_wm_join(family: str, partitions: int, how: str) -> None:
    by = "key" if family in ("equal", "equal two", "equal and band") and partitions == 3 else "slice"
    asked = request(LEFT, RIGHT, on=FAMILIES[family], by=by, labels=tuple(range(partitions)))
    for batches in (1, 7):
        query = Query(asked, delay=DELAY)
        bucket.forget()
        lots = [arrivals(rows, batches, how=how, side=side) for side, rows in enumerate((LEFT, RIGHT))]
        for left, right in zip(*lots, strict=True):
            query.batch(left, right)
        late = len(LEFT) + len(RIGHT) - sum(len(table) for side in query.on_time for table in side)
        assert query.counts["late_rows"] == late
        assert (late > 0) == (how == "late" and batches > 1)
        assert pairs(query.answer()) == pairs(query.expected())


@pytest.mark.parametrize("copies", ["none", "all", "some"])
@pytest.mark.parametrize("seed", range(4))
def test_oracle_lost_attempts_and_other_workers_change_nothing(
    seed: int, copies: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "" if copies == "none" else str(tmp_path))
    asked = request(LEFT, RIGHT, on=FAMILIES["overlap"])
    query = Query(asked, delay=DELAY, seed=seed)
    lots = [cuts(rows, 14, disorder=2 * SECOND, seed=seed) for rows in (LEFT, RIGHT)]
    for left, right in zip(*lots, strict=True):
        # A lost attempt may have dropped copies of what the store still holds.
        query.batch(left, right, fail=0.0 if copies == "all" else 0.3, move=0.6)
        if copies == "some":
            for copy in sorted(path for path in tmp_path.rglob("*-*") if path.is_file())[::3]:
                copy.unlink()
    assert pairs(query.answer()) == pairs(expected(LEFT, RIGHT, asked))
    assert query.counts["rebuilds"] > 0
    assert query.counts["hits"] > 0
    assert query.counts["catch_ups"] > 0
    assert (sum(store.reads for store in query.stores.values()) > 0) == (copies != "all")
    if copies == "all":  # they go with their entries
        kept = {number for store in query.stores.values() for number in store.values if number != "index"}
        left_over = {int(copy.name.partition("-")[0]) for copy in tmp_path.rglob("[0-9]*-*")}
        assert left_over <= kept


def test_one_side_far_ahead_of_the_other_loses_nothing() -> None:
    asked = request(LEFT, RIGHT, on=FAMILIES["equal"], by="key")
    query = Query(asked, delay=0)
    for left in cuts(LEFT, 5, disorder=0, seed=1):
        query.batch(left, RIGHT.slice(0, 0))
    for right in cuts(RIGHT, 5, disorder=0, seed=1):
        query.batch(LEFT.slice(0, 0), right)
    assert pairs(query.answer()) == pairs(expected(LEFT, RIGHT, asked))


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_late_rows_are_counted_and_not_joined_for_any_number_of_partitions(partitions: int) -> None:
    asked = request(LEFT, RIGHT, on=FAMILIES["equal"], by="slice", labels=tuple(range(partitions)))
    query = Query(asked, delay=SECOND)
    late = LEFT.slice(40, 3)
    early = pa.concat_tables([LEFT.slice(0, 40), LEFT.slice(43)])
    for left, right in zip(
        cuts(early, 6, disorder=0, seed=0), cuts(RIGHT, 6, disorder=0, seed=0), strict=True
    ):
        query.batch(left, right)
    query.batch(late, RIGHT.slice(0, 0))
    assert query.counts["late_rows"] == 3
    assert pairs(query.answer()) == pairs(expected(early, RIGHT, asked))


@pytest.mark.parametrize("shed", [None, wm.Shed(budget=wm.comparisons(40))], ids=["exact", "shed"])
@pytest.mark.parametrize("disorder", [0, 3 * SECOND])
@pytest.mark.parametrize("partitions", [1, 3])
def test_due_counts_the_pairs_of_the_window_however_rows_arrive(
    partitions: int, disorder: int, shed: wm.Shed | None
) -> None:
    asked = request(LEFT, RIGHT, on=FAMILIES["overlap"], labels=tuple(range(partitions)), shed=shed)
    query = Query(asked, delay=DELAY, seed=3)
    parts = [cuts(rows, 7, disorder=disorder, seed=side) for side, rows in enumerate((LEFT, RIGHT))]
    for left, right in zip(*parts, strict=True):
        query.batch(left, right, fail=0.2, move=0.5)
    left_us, right_us = (np.asarray(rows["ts"].cast(pa.int64())) for rows in (LEFT, RIGHT))
    apart = right_us[None, :] - left_us[:, None]
    assert query.counts["due"] == ((apart >= asked.lower) & (apart <= asked.upper)).sum()
    assert query.counts["due"] == query.counts["done"] + query.counts["shed"]
    assert (query.counts["shed"] > 0) == (shed is not None)
    found, whole = pairs(query.answer()), pairs(expected(LEFT, RIGHT, asked))
    assert found == whole if shed is None else not found - whole
    if shed is not None:  # also where room for disorder was made on the way
        assert sum(counts["found"] for counts in query.reports[-1].values()) == found.total()
    for report in query.reports:
        for counts in report.values():
            assert min(counts[name] for name in ("due", "done", "shed")) >= 0


@pytest.mark.parametrize("by", ["key", "slice"])
@pytest.mark.parametrize("how", ["left", "right", "semi", "anti", "full"])
def test_oracle_outer_rows_come_when_the_watermark_has_passed_their_partners(how: Any, by: Any) -> None:
    if how == "full" and by == "slice":
        by = "one"
    asked = request(
        LEFT,
        RIGHT,
        on=FAMILIES["equal"],
        by=by,
        how=how,
        lower=-300_000,
        upper=SECOND,
        labels=(0,) if by == "one" else (0, 1, 2),
    )
    query = Query(asked, delay=DELAY, seed=5)
    parts = [cuts(rows, 8, disorder=3 * SECOND, seed=2) for rows in (LEFT, RIGHT)]
    for left, right in zip(*parts, strict=True):
        query.batch(left, right, fail=0.2, move=0.3)
    query.watermark = 2**62
    query.batch(LEFT.slice(0, 0), RIGHT.slice(0, 0), move=1.0)
    assert pairs(query.answer()) == pairs(expected(LEFT, RIGHT, asked))
    assert all(not store.values.keys() - {"index"} for store in query.stores.values())


@pytest.mark.parametrize("window", [("40i", "25i"), ("40i", "3s"), ("2s", "10i")], ids=str)
@pytest.mark.parametrize("how", ["inner", "left", "full", "semi"])
def test_oracle_windows_of_rows_survive_lost_attempts_and_other_workers(how: Any, window: Any) -> None:
    left, right = (parse_span(span, argument="window") for span in window)
    span_us = [(span.nanoseconds or 0) // 1000 for span in (left, right)]
    asked = request(
        LEFT,
        RIGHT,
        on=FAMILIES["equal"],
        by="one",
        how=how,
        labels=(0,),
        rows_windows=(left, right),
        lower=-span_us[1],
        upper=span_us[0],
    )
    query = Query(asked, delay=DELAY, seed=1)
    lots = [cuts(rows, 14, disorder=3 * SECOND, seed=2) for rows in (LEFT, RIGHT)]
    for one, two in zip(*lots, strict=True):
        query.batch(one, two, fail=0.3, move=0.8)
    query.watermark = 2**62
    query.batch(LEFT.slice(0, 0), RIGHT.slice(0, 0), move=1.0)
    assert query.counts["rebuilds"] > 0
    got, whole = pairs(query.answer()), pairs(expected(LEFT, RIGHT, asked))
    assert not got - whole
    # No watermark ends a window of rows: the last ones may yet find a partner.
    waiting = whole - got
    assert all(None in pair for pair in waiting)
    assert waiting.total() <= {"left": 1, "full": 3}.get(how, 0)


@pytest.mark.parametrize(("how", "most"), [("inner", 160), ("left", 260)])
def test_windows_of_rows_let_segments_go_that_so_many_rows_have_followed(how: Any, most: int) -> None:
    windows = (Span(rows=40), Span(rows=25))
    asked = request(LEFT, RIGHT, how=how, by="one", labels=(0,), rows_windows=windows, lower=0, upper=0)
    query = Query(asked, delay=0)
    held = []
    for one, two in zip(*(cuts(rows, 20, disorder=0, seed=0) for rows in (LEFT, RIGHT)), strict=True):
        query.batch(one, two)
        held.append(query.reports[-1][0]["state_rows"])
    assert max(held) <= most  # of 580, with 30 rows in a micro-batch


def test_a_micro_batch_of_many_windows_leaves_only_what_may_still_be_needed() -> None:
    left, right = (table(seed, 16_000, nulls=0.0) for seed in (3, 4))
    asked = request(left, right, on=wm.band("price", within=0.001), by="one", labels=(0,))
    query = Query(asked, delay=0)
    query.batch(left.slice(0, 15_200), right.slice(0, 15_200))
    query.batch(left.slice(15_200), right.slice(15_200))
    # 60 s, of which 5 and 3 s may be needed, 3 s more came since the watermark, and segments have two basic
    # windows of a second, of which one is begun, and a seam.
    assert query.reports[-1][0]["state_rows"] <= 2 * 16_000 * ((5 + 3) / 2 + 3 + 3) / 60
    assert pairs(query.answer()) == pairs(expected(left, right, asked))


def test_segments_behind_the_watermark_are_dropped_whole() -> None:
    asked = request(LEFT, RIGHT, on=FAMILIES["equal"], by="one", labels=(0,))
    query = Query(asked, delay=0)
    held = []
    for left, right in zip(
        cuts(LEFT, 20, disorder=0, seed=0), cuts(RIGHT, 20, disorder=0, seed=0), strict=True
    ):
        query.batch(left, right)
        held.append(len(query.stores[0].values) - 1)
    # 60 s in 20 batches of 3 s: a row is needed for 5 or 3 s, and the watermark is a batch behind.
    assert max(held) <= 2 * 4
