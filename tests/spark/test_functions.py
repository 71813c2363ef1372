"""Column functions: the numbers that the predicates compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark.inputs import table

from watersmeet.spark import functions
from watersmeet.spark.similarity import cosines, jaccards, overlaps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT = pa.array([["a", "b", "b"], [], None, ["c"], ["a", None], []])
RIGHT = pa.array([["b", "c"], ["a"], ["a"], ["c"], ["a", None], []])


def test_overlaps_count_shared_items_once_and_null_is_no_item() -> None:
    assert overlaps(LEFT, RIGHT).to_pylist() == [1, 0, None, 1, 1, 0]


def test_jaccards_divide_by_all_items() -> None:
    assert jaccards(LEFT, RIGHT).to_pylist() == [pytest.approx(1 / 3), 0.0, None, 1.0, 1.0, 0.0]


def test_cosines_add_up_the_weights_of_a_repeated_item() -> None:
    items, others = pa.array([["a", "a"], ["a"], []]), pa.array([["a", "b"], ["b"], ["a"]])
    weights, other_weights = pa.array([[1.0, 2.0], [1.0], []]), pa.array([[4.0, 3.0], [1.0], [1.0]])
    assert cosines(items, weights, others, other_weights).to_pylist() == [pytest.approx(0.8), 0.0, 0.0]


def test_cosine_refuses_a_row_with_too_few_weights() -> None:
    items = pa.array([["a", "b"]])
    with pytest.raises(ValueError, match="not as many weights as items"):
        cosines(items, pa.array([[1.0]]), items, pa.array([[1.0, 2.0]]))


def test_functions_work_on_spark_columns(spark: SparkSession) -> None:
    frame = spark.createDataFrame(table(9, 50))
    out = frame.select(
        functions.overlap("tags", "tags").alias("overlap"),
        functions.jaccard("tags", "tags").alias("jaccard"),
        functions.cosine("tags", "weights", "tags", "weights").alias("cosine"),
        "tags",
    ).collect()
    assert [row["overlap"] for row in out] == [len(row["tags"]) for row in out]
    assert all(row["jaccard"] == (1.0 if row["tags"] else 0.0) for row in out)
    assert all(row["cosine"] == pytest.approx(1.0 if row["tags"] else 0.0) for row in out)
    assert frame.select(functions.overlap("tags", "tags")).columns == ["overlap(tags, tags)"]
