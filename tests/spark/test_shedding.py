"""Budgets on Spark itself: refused where they have no meaning, kept and reported where they have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.inputs import FAMILIES, pairs, table
from tests.spark.streams import parts, run, stream, sunk, write_files

import watersmeet as wm
from watersmeet.spark import join, metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT, RIGHT = table(51, 900, nulls=0.0), table(52, 900, nulls=0.0)
ON, WINDOW = wm.overlap("tags", at_least=3), "4s"


def test_streaming_join_within_a_budget_reports_what_it_shed_by_bucket_and_in_total(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_files(tmp_path / "left", parts(LEFT, 3))
    write_files(tmp_path / "right", parts(RIGHT, 3))
    out = join(
        stream(spark, tmp_path / "left", LEFT.schema),
        stream(spark, tmp_path / "right", RIGHT.schema),
        on=ON,
        window=WINDOW,
        partitions=3,
        shed=wm.Shed(budget=wm.comparisons(1000)),
    )
    query = run(out, tmp_path)
    found, whole = pairs(sunk(spark, tmp_path)), pairs(wm.join(LEFT, RIGHT, on=ON, window=WINDOW))
    assert not found - whole
    seen = metrics(query)
    assert 0 < found.total() < whole.total()
    assert seen.total["found"] == found.total()
    assert seen.total["due"] == seen.total["done"] + seen.total["shed"]
    assert seen.total["shed"] > 0
    for label, counts in seen.buckets.items():
        assert counts["due"] == counts["done"] + counts["shed"]
        assert 0.0 <= seen.recall_in(label).value <= 1.0
    truth = found.total() / whole.total()
    assert seen.recall.low <= truth <= seen.recall.high
    observed = query.recentProgress[2].observedMetrics["watersmeet:join"]
    assert 0.0 < observed["total"]["recall_so_far"] < 1.0
    assert len(observed["buckets"]) == 3


@pytest.mark.parametrize(
    "budget", [wm.per_batch("1h"), wm.comparisons(1e12)], ids=["per_batch", "comparisons"]
)
def test_differential_batch_join_with_plenty_of_budget_gives_all(spark: SparkSession, budget: Any) -> None:
    left, right = (spark.createDataFrame(rows) for rows in (LEFT, RIGHT))
    for on in (ON, FAMILIES["equal"]):
        out = join(left, right, on=on, window="2s", partitions=3, shed=wm.Shed(budget=budget)).toArrow()
        assert pairs(out) == pairs(wm.join(LEFT, RIGHT, on=on, window="2s"))


def test_batch_join_within_a_budget_of_comparisons_gives_part_of_the_answer_always_the_same(
    spark: SparkSession,
) -> None:
    left, right = (spark.createDataFrame(rows) for rows in (LEFT, RIGHT))
    shed = wm.Shed(budget=wm.comparisons(1000))
    first, again = (
        pairs(join(left, right, on=ON, window=WINDOW, partitions=3, shed=shed).toArrow()) for _ in range(2)
    )
    whole = pairs(wm.join(LEFT, RIGHT, on=ON, window=WINDOW))
    assert first == again
    assert not first - whole
    assert 0 < first.total() < whole.total()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shed": wm.Shed()}, r"expected wm.per_batch\('2s'\) or wm.comparisons\(n\)"),
        ({"shed": 3}, r"shed=3: expected wm.Shed"),
        ({"shed": wm.Shed(budget=wm.per_batch("1s")), "how": "left"}, "how='left' with shed="),
        ({"shed": wm.Shed(budget=wm.per_batch("1s")), "window": "9i"}, "expected a window of time"),
        (
            {"shed": wm.Shed(budget=wm.per_batch("1s"), policy="content"), "on": wm.band("price", within=1)},
            "policy='content'",
        ),
        (
            {"shed": wm.Shed(budget=wm.per_batch("1s"), utility={"red": 1.0})},
            r"Shed\(utility\) given, but Stream 'left' has no type= column",
        ),
    ],
)
def test_budgets_without_meaning_are_refused_in_words(
    spark: SparkSession, options: dict[str, Any], words: str
) -> None:
    frame = spark.createDataFrame(LEFT.slice(0, 2))
    with pytest.raises(wm.ConfigError, match=words):
        join(frame, frame, **({"window": "1s"} | options))


def test_rows_of_more_value_are_compared_first(spark: SparkSession) -> None:
    left, right = (spark.createDataFrame(rows) for rows in (LEFT, RIGHT))
    shed = wm.Shed(budget=wm.comparisons(400), policy="gedik", utility={"red": 1.0, "blue": 0.01})
    out = join(left, right, on=ON, window=WINDOW, partitions=1, shed=shed, type="name").toArrow()
    whole = wm.join(LEFT, RIGHT, on=ON, window=WINDOW)
    share = {
        name: sum(value == name for value in out["name"].to_pylist())
        / sum(value == name for value in whole["name"].to_pylist())
        for name in ("red", "blue")
    }
    assert share["red"] > share["blue"]
