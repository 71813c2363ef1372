"""The example runs, and pairs what wm.join pairs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import watersmeet as wm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "spark_keywords.py"


def test_example_pairs_the_stories_that_wm_join_pairs(spark: SparkSession, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("spark_keywords", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    count = example.run(spark, tmp_path, files=2)
    north, south = (
        spark.read.schema(example.SCHEMA).json(str(tmp_path / name)).toArrow() for name in example.AGENCIES
    )
    expected = wm.join(north, south, on=wm.overlap("keywords", at_least=3), window="10m")
    assert count == expected.num_rows > 0
