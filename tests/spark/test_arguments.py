"""What join() refuses, and in which words, before any job runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import watersmeet as wm
from watersmeet.spark import configure, join
from watersmeet.spark.labels import labels, spark_hash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, wm.ConfigError, "window=None, between=None: expected exactly one"),
        ({"window": "1s", "on": "key"}, wm.ConfigError, "on='key': expected a predicate"),
        ({"window": "1s", "how": "cross"}, wm.ConfigError, "how='cross': expected one of 'inner'"),
        ({"window": "1s", "time": "when"}, wm.SchemaError, "there is no column 'when'"),
        ({"window": "1s", "time": "name"}, wm.SchemaError, "time column 'name' is string"),
        ({"window": "1s", "on": wm.equal("id")}, wm.SchemaError, "there is no column 'id'"),
        ({"window": "1s", "partitions": 0}, wm.ConfigError, "partitions=0: expected a whole number"),
        ({"window": "1s", "skew": "salt"}, wm.ConfigError, "skew='salt'"),
        ({"window": "1s", "slice": "0s"}, wm.ConfigError, "slice='0s'"),
        ({"window": "1s", "vectors": {"x": 2}}, wm.SchemaError, r"vectors\['x'\]: neither side has"),
        ({"window": "1s", "vectors": {"key": 0}}, wm.ConfigError, "expected lengths by column"),
        ({"window": "1s", "vectors": {"key": 2}}, wm.SchemaError, "the column is int32; expected array"),
        (
            {"window": "1s", "on": wm.distance("key", metric="l2", at_most=1)},
            wm.SchemaError,
            "do not say how long the vectors of column 'key' are",
        ),
        ({"between": ("2s", "1s")}, wm.ConfigError, "the lower bound is above"),
    ],
)
def test_arguments_without_meaning_are_refused_in_words(
    spark: SparkSession, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    frame = spark.createDataFrame([], "ts timestamp, key int, name string")
    with pytest.raises(error, match=words):
        join(frame, frame, **options)


def test_something_else_than_a_data_frame_is_refused(spark: SparkSession) -> None:
    with pytest.raises(wm.ConfigError, match="right=3: expected a Spark DataFrame"):
        join(spark.range(1), 3, window="1s")  # type: ignore[arg-type]


def test_labels_fall_into_partitions_of_their_own(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    for partitions in (1, 3, 8, 200):
        chosen = labels(partitions, partitions)
        assert sorted(spark_hash(label) % partitions for label in chosen) == list(range(partitions))
    frame = spark.createDataFrame([(label,) for label in labels(8, 8)], "label int")
    hashed = {row[0]: row[1] for row in frame.select("label", F.hash("label")).collect()}
    assert hashed == {label: spark_hash(label) for label in labels(8, 8)}


def test_configure_bounds_batches_by_rows_alone_unless_the_session_or_the_rows_ask_for_more(
    spark: SparkSession,
) -> None:
    key = "spark.sql.execution.arrow.maxBytesPerBatch"
    plain, own, wide = (spark.newSession() for _ in range(3))
    by_spark = plain.conf.get(key)
    own.conf.set(key, "1048576")
    configure(plain)
    configure(own)
    configure(wide, wide_rows=True)
    assert [session.conf.get(key) for session in (plain, own, wide)] == [str(2**31 - 1), "1048576", by_spark]
