"""Batch DataFrames: the answer of wm.join, whatever the predicate, the join and the number of partitions."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark.inputs import FAMILIES, VECTORS, pairs, solid, table

import watersmeet as wm
from watersmeet.spark import join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LEFT, RIGHT = table(1, 260), table(2, 240)


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    left, right = (spark.createDataFrame(rows).repartition(2).cache() for rows in (LEFT, RIGHT))
    return left, right


@pytest.mark.parametrize("partitions", [1, 3, 8])
@pytest.mark.parametrize("family", FAMILIES)
def test_oracle_batch_join_equals_wm_join(
    frames: tuple[DataFrame, DataFrame], family: str, partitions: int
) -> None:
    options: dict[str, Any] = {"on": FAMILIES[family], "between": ("-3s", "5s")}
    out = join(*frames, partitions=partitions, vectors=VECTORS, **options).toArrow()
    expected = wm.join(solid(LEFT), solid(RIGHT), **options)
    assert pairs(out) == pairs(expected)
    assert out.column_names == expected.column_names


@pytest.mark.parametrize("on", [FAMILIES["equal"], FAMILIES["overlap"]], ids=["key", "slice"])
@pytest.mark.parametrize("how", ["left", "right", "full", "semi", "anti"])
def test_oracle_outer_batch_joins_equal_wm_join(
    frames: tuple[DataFrame, DataFrame], on: Any, how: Any
) -> None:
    out = join(*frames, on=on, window=("1s", "300ms"), how=how, partitions=3).toArrow()
    expected = wm.join(LEFT, RIGHT, on=on, window=("1s", "300ms"), how=how)
    assert out.column_names == expected.column_names
    assert pairs(out) == pairs(expected)


def test_window_of_rows_is_not_divided(frames: tuple[DataFrame, DataFrame]) -> None:
    out = join(*frames, on=wm.equal("key"), window="20i", partitions=4).toArrow()
    assert pairs(out) == pairs(wm.join(LEFT, RIGHT, on=wm.equal("key"), window="20i"))


def test_hot_keys_can_be_divided_by_time(frames: tuple[DataFrame, DataFrame]) -> None:
    out = join(*frames, on=wm.equal("key"), window="2s", partitions=4, skew="slice").toArrow()
    assert pairs(out) == pairs(wm.join(LEFT, RIGHT, on=wm.equal("key"), window="2s"))


def test_every_payload_type_comes_back_unchanged(spark: SparkSession) -> None:
    ddl = (
        "ts timestamp_ntz, key int, d decimal(20,4), b binary, m map<string,int>,"
        " s struct<x:int,y:array<string>>, day date, flag boolean, f float, nothing void,"
        " l array<array<int>>, big decimal(38,10)"
    )
    row = (
        dt.datetime(2024, 1, 1),
        1,
        Decimal("1234.5678"),
        b"\x00\xff",
        {"a": 1, "b": None},
        (7, ["x", None]),
        dt.date(1969, 12, 31),
        True,
        0.5,
        None,
        [[1], [], None],
        Decimal("-12345678901234567890.0123456789"),
    )
    frame = spark.createDataFrame([row, (row[0] + dt.timedelta(seconds=1), *[None] * 11)], ddl)
    out = join(frame, frame, on=wm.equal("key"), window="1s", partitions=2)
    assert [field.dataType for field in out.schema][12:] == [field.dataType for field in frame.schema]
    assert [tuple(got) for got in out.collect()] == [tuple(frame.first()) * 2]


def test_keys_of_different_widths_meet_in_one_bucket(spark: SparkSession) -> None:
    left = spark.createDataFrame(pa.table({"ts": pa.array([1, 2, 3]), "k": pa.array([1, -2, 3], pa.int16())}))
    right = spark.createDataFrame(
        pa.table({"ts": pa.array([1, 2, 3]), "k": pa.array([1, -2, 4], pa.int64())})
    )
    out = join(left, right, on=wm.equal("k"), window="1s", partitions=8)
    assert sorted(out.select("k", "k_right").collect()) == [(-2, -2), (1, 1)]


def test_integer_times_are_read_in_their_unit(spark: SparkSession) -> None:
    left = spark.createDataFrame(pa.table({"ts": pa.array([10, 20, None]), "a": [1, 2, 3]}))
    right = spark.createDataFrame(pa.table({"ts": pa.array([11, 25]), "b": [1, 2]}))
    out = join(left, right, window="1ms", time_unit="ms", how="left", partitions=2)
    assert sorted(out.select("a", "b").collect()) == [(1, 1), (2, None), (3, None)]
