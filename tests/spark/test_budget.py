"""Budgets without Spark: bounded work, results from the full answer and none twice, counters that balance."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.by_hand import Query, expected, request
from tests.spark.inputs import FAMILIES, SECOND, START_US, pairs, table

import watersmeet as wm
from watersmeet.spark import bucket, meter
from watersmeet.spark.counts import MEASURES, recall_of
from watersmeet.spark.lane import LaneJoin

LEFT, RIGHT = table(31, 1500, nulls=0.0), table(32, 1500, nulls=0.0)
PLENTY = wm.Shed(budget=wm.comparisons(1e12))


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    bucket.forget()


def cut(rows: pa.Table, batches: int) -> list[pa.Table]:
    """Stretches of equal time."""
    times = np.asarray(rows["ts"].cast(pa.int64())) - START_US
    place = np.minimum(times * batches // (60 * SECOND), batches - 1)
    return [rows.filter(pa.array(place == batch)) for batch in range(batches)]


def run(asked: Any, batches: int = 10, *, fail: float = 0.0, move: float = 0.0) -> Query:
    query = Query(asked, delay=0, seed=5)
    bucket.forget()
    for left, right in zip(cut(LEFT, batches), cut(RIGHT, batches), strict=True):
        query.batch(left, right, fail=fail, move=move)
    return query


@pytest.mark.parametrize("by", ["one", "key", "slice"])
@pytest.mark.parametrize(
    "family", ["equal", "overlap", "cosine", "band", "where", "equal and band", "every pair"]
)
def test_differential_a_budget_that_is_never_short_sheds_nothing(family: str, by: Any) -> None:
    if by == "key" and not family.startswith("equal"):
        by = "slice"
    asked = request(
        LEFT, RIGHT, on=FAMILIES[family], by=by, labels=(0,) if by == "one" else (0, 1, 2), shed=PLENTY
    )
    query = run(asked)
    assert pairs(query.answer()) == pairs(expected(LEFT, RIGHT, asked))
    assert query.counts["shed"] == 0
    assert query.counts["due"] == query.counts["done"] > 0


@pytest.mark.parametrize("policy", ["auto", "density", "gedik", "random-drop"])
@pytest.mark.parametrize("by", ["key", "slice"])
def test_budget_of_comparisons_gives_part_of_the_answer_once_and_its_counters_balance(
    policy: Any, by: Any
) -> None:
    shed = wm.Shed(budget=wm.comparisons(600), policy=policy)
    asked = request(LEFT, RIGHT, on=FAMILIES["overlap" if by == "slice" else "equal"], by=by, shed=shed)
    query = run(asked, batches=12)
    found, whole = pairs(query.answer()), pairs(expected(LEFT, RIGHT, asked))
    assert not found - whole
    assert 0 < found.total() < whole.total()
    assert query.counts["due"] == query.counts["done"] + query.counts["shed"]
    for report in query.reports:
        for counts in report.values():
            assert counts["due"] == counts["done"] + counts["shed"]
    last = [query.reports[-1][label] for label in asked.labels]
    assert sum(counts["found"] for counts in last) == found.total()


def test_budget_of_comparisons_does_not_depend_on_workers_and_failures() -> None:
    shed = wm.Shed(budget=wm.comparisons(600))
    for by in ("key", "slice"):
        on = FAMILIES["equal" if by == "key" else "overlap"]
        asked = request(LEFT, RIGHT, on=on, by=by, shed=shed)
        steady, shaken = run(asked), run(asked, fail=0.3, move=0.8)
        assert shaken.counts["rebuilds"] > 0
        assert shaken.counts["catch_ups"] > 0
        assert pairs(steady.answer()) == pairs(shaken.answer())
        assert steady.counts["shed"] == shaken.counts["shed"] > 0


def test_budget_may_come_go_and_change_while_a_checkpoint_lives() -> None:
    asked = [
        request(LEFT, RIGHT, on=FAMILIES["overlap"], shed=shed)
        for shed in (
            None,
            wm.Shed(budget=wm.comparisons(600)),
            wm.Shed(budget=wm.comparisons(900), policy="density"),
            None,
        )
    ]
    query = Query(asked[0], delay=0)
    for place, (left, right) in enumerate(zip(cut(LEFT, 12), cut(RIGHT, 12), strict=True)):
        if place % 3 == 0:  # a restart: new workers
            query.asked = asked[place // 3]
            bucket.forget()
        query.batch(left, right)
    found, whole = pairs(query.answer()), pairs(expected(LEFT, RIGHT, asked[0]))
    assert not found - whole
    sheds = [sum(counts["shed"] for counts in report.values()) for report in query.reports]
    assert [count > 0 for count in sheds] == [False] * 3 + [True] * 6 + [False] * 3


def test_recall_estimate_holds_the_truth() -> None:
    asked = request(LEFT, RIGHT, on=FAMILIES["overlap"], shed=PLENTY)
    run(asked, batches=12)
    units = sum(live.units() for live in bucket._cache.values())
    a_third = wm.comparisons(units / 3 / 60)  # of what the full answer takes, per second of stream time
    query = run(replace(asked, shed=wm.Shed(budget=a_third)), batches=12)
    truth = pairs(query.answer()).total() / pairs(expected(LEFT, RIGHT, asked)).total()
    last = [query.reports[-1][label] for label in asked.labels]
    recall = recall_of({name: sum(counts[name] for counts in last) for name in MEASURES})
    assert truth < 0.9
    assert recall.low <= truth <= recall.high
    assert abs(recall.value - truth) < 0.15
    now = sum(counts["missed_now"] for report in query.reports for counts in report.values())
    assert now == pytest.approx(sum(counts["missed"] for counts in last))


@pytest.mark.parametrize(("family", "per_s"), [("overlap", 15), ("overlap", 60), ("equal", 15)])
def test_recall_of_few_comparisons_does_not_claim_what_no_sample_shows(family: str, per_s: float) -> None:
    """60 rows a side in two micro-batches: a handful of samples, or none."""
    shed = wm.Shed(budget=wm.comparisons(per_s))
    held = []
    for seed in range(30):
        left, right = (table(2 * seed + side, 60, seconds=20.0, nulls=0.0) for side in (0, 1))
        asked = request(left, right, on=FAMILIES[family], by="one", labels=(0,), shed=shed)
        query = Query(asked, delay=0)
        bucket.forget()
        for first, second in zip((left[:30], left[30:]), (right[:30], right[30:]), strict=True):
            query.batch(first, second)
        if query.counts["shed"] == 0:
            continue
        truth = pairs(query.answer()).total() / pairs(expected(left, right, asked)).total()
        recall = recall_of(query.reports[-1][0])
        held.append(recall.low <= truth <= recall.high)
    print(f"{family} {per_s}: {sum(held)} of {len(held)}")
    assert len(held) >= 15
    assert sum(held) >= 0.9 * len(held)


# --- a bound on each micro-batch, by a clock that the work itself moves -----------------------------------


class Cost:
    """A machine on which a row and a unit of work take these seconds."""

    def __init__(self, row_s: float, unit_s: float) -> None:
        self.row_s, self.unit_s, self.now_s = row_s, unit_s, 0.0


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> Cost:
    machine = Cost(2e-6, 1e-6)
    hold, drain = LaneJoin.hold, LaneJoin.drain

    def slow_hold(self: LaneJoin, side: int, rows: Any, times: Any, ticks: Any) -> None:
        machine.now_s += machine.row_s * len(times)
        hold(self, side, rows, times, ticks)

    def slow_drain(self: LaneJoin, units_per_s: float) -> Any:
        before = self.units
        found = drain(self, units_per_s)
        machine.now_s += machine.unit_s * (self.units - before)
        return found

    monkeypatch.setattr(LaneJoin, "hold", slow_hold)
    monkeypatch.setattr(LaneJoin, "drain", slow_drain)
    monkeypatch.setattr(meter, "clock", lambda: machine.now_s)
    return machine


def burst(seed: int, rows: list[int]) -> list[pa.Table]:
    """Micro-batches of a second with so many rows each."""
    whole = table(seed, sum(rows), nulls=0.0)
    rng = np.random.default_rng(seed)
    times = np.concatenate(
        [
            np.sort(rng.integers(0, SECOND, count)) + START_US + second * SECOND
            for second, count in enumerate(rows)
        ]
    )
    whole = whole.set_column(0, "ts", pa.array(times, pa.timestamp("us", tz="UTC")))
    ends = np.cumsum([0, *rows])
    return [whole.slice(start, end - start) for start, end in pairwise(ends)]


def longest_s(report: dict[int, dict[str, float]]) -> float:
    """The bucket that took longest."""
    return max(counts["join_us"] for counts in report.values()) * 1e-6


def joined(asked: Any, lefts: list[pa.Table], rights: list[pa.Table]) -> Query:
    query = Query(asked, delay=0)
    bucket.forget()
    for left, right in zip(lefts, rights, strict=True):
        query.batch(left, right)
    return query


BOUND_S = 2.0


@pytest.mark.parametrize("by", ["one", "slice"])
@pytest.mark.parametrize("on", [wm.overlap("tags", at_least=3), wm.band("price", within=0.002)])
def test_batch_of_five_times_the_rows_is_back_within_its_bound_in_two_batches(
    cost: Cost, on: Any, by: Any
) -> None:
    rows = [200] * 5 + [1000] * 5
    lefts, rights = burst(41, rows), burst(42, rows)
    asked = request(
        lefts[0],
        rights[0],
        on=on,
        by=by,
        labels=(0,) if by == "one" else (0, 1),
        lower=-2 * SECOND,
        upper=2 * SECOND,
        width=2 * SECOND,
        shed=PLENTY,
    )
    exact = joined(asked, lefts, rights)
    full = pairs(exact.answer())
    assert full == pairs(expected(pa.concat_tables(lefts), pa.concat_tables(rights), asked))
    # On a machine where a usual batch takes half the bound, one of the storm would take far more than it.
    usual_s, storm_s = max(map(longest_s, exact.reports[2:5])), min(map(longest_s, exact.reports[7:]))
    slower = 0.5 * BOUND_S / usual_s
    assert storm_s * slower > 1.5 * BOUND_S
    cost.row_s, cost.unit_s = cost.row_s * slower, cost.unit_s * slower

    bounded = replace(asked, shed=wm.Shed(budget=wm.per_batch("2s")))
    query = joined(bounded, lefts, rights)
    took = [longest_s(report) for report in query.reports]
    assert max(took[2:]) <= BOUND_S  # at once: a storm is joined in stretches, each with what is left
    sheds = [sum(counts["shed"] for counts in report.values()) for report in query.reports]
    assert sheds[2:5] == [0] * 3
    assert all(count > 0 for count in sheds[5:])
    found = pairs(query.answer())
    assert not found - full
    last = list(query.reports[-1].values())
    recall = recall_of({name: sum(counts[name] for counts in last) for name in MEASURES})
    truth = found.total() / full.total()
    assert truth < 0.9
    assert abs(recall.value - truth) < 0.1
    print(f"{on} {by}: {[round(s, 2) for s in took]} recall {recall} truth {truth:.3f}")


def test_slower_machine_sheds_more_from_the_next_batch_on(cost: Cost) -> None:
    rows = [400] * 12
    lefts, rights = burst(43, rows), burst(44, rows)
    asked = request(
        lefts[0],
        rights[0],
        on=FAMILIES["overlap"],
        by="one",
        labels=(0,),
        lower=-2 * SECOND,
        upper=2 * SECOND,
        shed=wm.Shed(budget=wm.per_batch("50ms")),
    )
    query = Query(asked, delay=0)
    for place, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        if place == 6:
            cost.unit_s *= 10
        query.batch(left, right)
    took = [report[0]["join_us"] * 1e-6 for report in query.reports]
    assert max(took[8:]) <= 0.05
    assert query.reports[-1][0]["shed"] > query.reports[5][0]["shed"]
