"""Several DataFrames: every combination within its windows, whatever the tree."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.inputs import table

import watersmeet as wm
from watersmeet.spark import multi_join

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = {name: table(20 + place, 60, seconds=20.0, nulls=0.0) for place, name in enumerate("ABC")}
WINDOWS = {"A": "3s", "B": "1500ms", "C": "5s"}
SECONDS = {"A": 3.0, "B": 1.5, "C": 5.0}
ON = {("A", "B"): wm.equal("key"), ("C", "B"): wm.overlap("tags", at_least=1)}


def brute_force() -> list[tuple[int, ...]]:
    """The definition, combination by combination."""
    rows = [TABLES[name].select(["ts", "row", "key", "tags"]).to_pylist() for name in "ABC"]
    found = []
    for a, b, c in itertools.product(*rows):
        latest = max(a["ts"], b["ts"], c["ts"])
        inside = all(
            (latest - row["ts"]).total_seconds() <= SECONDS[name]
            for name, row in zip("ABC", (a, b, c), strict=True)
        )
        if inside and a["key"] == b["key"] and set(b["tags"]) & set(c["tags"]):
            found.append((a["row"], b["row"], c["row"]))
    return sorted(found)


@pytest.mark.parametrize("tree", [None, ("A", ("B", "C"))])
def test_oracle_multi_join_gives_every_combination_in_its_windows(spark: SparkSession, tree: Any) -> None:
    inputs = [
        (wm.Stream(name, time="ts", window=WINDOWS[name]), spark.createDataFrame(rows))
        for name, rows in TABLES.items()
    ]
    out = multi_join(inputs, on=ON, tree=tree, partitions=2)
    got = sorted(tuple(row) for row in out.select("`A.row`", "`B.row`", "`C.row`").collect())
    assert got == brute_force()
    assert got
    assert out.columns == [f"{name}.{column}" for name in "ABC" for column in TABLES["A"].column_names]


def test_multi_join_refuses_a_tree_of_other_streams(spark: SparkSession) -> None:
    inputs = [(wm.Stream(name, window="1s"), spark.createDataFrame(rows)) for name, rows in TABLES.items()]
    with pytest.raises(wm.ConfigError, match="expected each of 'A', 'B', 'C' once"):
        multi_join(inputs, on=ON, tree=("A", "B"))
    with pytest.raises(wm.ConfigError, match="expected a pair of 'A', 'B', 'C'"):
        multi_join(inputs, on={("A", "D"): wm.equal("key")})
