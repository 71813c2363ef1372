"""The streaming join without Spark: any cut, disorder, failure and move of workers gives wm.join's answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.by_hand import Query, expected, request
from tests.spark.inputs import FAMILIES, SECOND, pairs, solid, table

import watersmeet as wm
from watersmeet.spark import bucket

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


@pytest.mark.parametrize("disorder", [0, 3 * SECOND])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_oracle_any_cut_gives_the_answer_of_wm_join(family: str, partitions: int, disorder: int) -> None:
    by = "key" if family in ("equal", "equal two", "equal and band") and partitions == 3 else "slice"
    asked = request(LEFT, RIGHT, on=FAMILIES[family], by=by, labels=tuple(range(partitions)))
    for batches in (1, 7):
        query = Query(asked, delay=DELAY)
        bucket.forget()
        lefts, rights = (
            cuts(rows, batches, disorder=disorder, seed=side) for side, rows in enumerate((LEFT, RIGHT))
        )
        for left, right in zip(lefts, rights, strict=True):
            query.batch(left, right)
        assert query.counts["late_rows"] == 0
        assert pairs(query.answer()) == pairs(expected(LEFT, RIGHT, asked))


@pytest.mark.parametrize("seed", range(6))
def test_oracle_lost_attempts_and_other_workers_change_nothing(seed: int) -> None:
    asked = request(LEFT, RIGHT, on=FAMILIES["overlap"])
    query = Query(asked, delay=DELAY, seed=seed)
    parts = [cuts(rows, 14, disorder=2 * SECOND, seed=seed) for rows in (LEFT, RIGHT)]
    for left, right in zip(*parts, strict=True):
        query.batch(left, right, fail=0.3, move=0.6)
    assert pairs(query.answer()) == pairs(expected(LEFT, RIGHT, asked))
    assert query.counts["rebuilds"] > 0
    assert query.counts["hits"] > 0
    assert query.counts["catch_ups"] > 0


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
