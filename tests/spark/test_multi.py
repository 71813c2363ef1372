"""Several DataFrames: every combination within its windows, whatever the tree."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark.inputs import table
from tests.spark.streams import parts, run, stream, sunk, write_files

import watersmeet as wm
from watersmeet.spark import metrics, multi_join

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


def streams(spark: SparkSession, base: Path, *, batches: int) -> list[Any]:
    """The tables as streams of files."""
    inputs = []
    for name, rows in TABLES.items():
        write_files(base / name, parts(rows, batches))
        inputs.append(
            (wm.Stream(name, time="ts", window=WINDOWS[name]), stream(spark, base / name, rows.schema))
        )
    return inputs


@pytest.mark.parametrize(("tree", "batches"), [(None, 3), (("A", ("B", "C")), 2)])
def test_oracle_streaming_multi_join_gives_every_combination_once(
    spark: SparkSession, tmp_path: Path, tree: Any, batches: int
) -> None:
    out = multi_join(streams(spark, tmp_path, batches=batches), on=ON, tree=tree, partitions=2, name="three")
    query = run(out, tmp_path)
    got = sunk(spark, tmp_path)
    rows = sorted(zip(*(got[f"{name}.row"].to_pylist() for name in "ABC"), strict=True))
    assert rows == brute_force()
    last = metrics(query, "three:A+B+C")
    assert last.total["late_rows"] == 0
    assert last.total["results"] >= len(rows)


def test_streaming_multi_join_within_a_budget_gives_part_of_the_answer_and_says_how_much(
    spark: SparkSession, tmp_path: Path
) -> None:
    shed = wm.Shed(budget=wm.comparisons(200))
    out = multi_join(streams(spark, tmp_path, batches=2), on=ON, partitions=1, name="shed", shed=shed)
    query = run(out, tmp_path)
    got = sunk(spark, tmp_path)
    rows = list(zip(*(got[f"{name}.row"].to_pylist() for name in "ABC"), strict=True))
    whole = brute_force()
    assert len(set(rows)) == len(rows)
    assert set(rows) < set(whole)
    stages = [metrics(query, f"shed:{stage}") for stage in ("A+B", "A+B+C")]
    assert sum(stage.total["shed"] for stage in stages) > 0
    assert all(stage.total["due"] == stage.total["done"] + stage.total["shed"] for stage in stages)
    first, last = (stage.recall for stage in stages)
    assert last.value < 1.0
    assert not last.is_exact
    assert first.low * last.low <= len(rows) / len(whole) <= first.high * last.high


def test_oracle_own_functions_see_their_streams_columns(spark: SparkSession) -> None:
    inputs = [
        (wm.Stream(name, time="ts", window=WINDOWS[name]), spark.createDataFrame(rows))
        for name, rows in TABLES.items()
    ]
    by_function = {("A", "B"): wm.equal("key"), ("C", "B"): wm.where(shares_a_tag)}
    out = multi_join(inputs, on=by_function, tree=("A", ("B", "C")), partitions=2)
    got = sorted(tuple(row) for row in out.select("`A.row`", "`B.row`", "`C.row`").collect())
    assert got == brute_force()


def shares_a_tag(first: pa.Table, second: pa.Table) -> list[bool]:
    """What overlap(at_least=1) asks."""
    both = zip(first["tags"].to_pylist(), second["tags"].to_pylist(), strict=True)
    return [bool(set(one) & set(two)) for one, two in both]


def test_multi_join_refuses_streams_beside_batches_and_streams_without_a_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    inputs = streams(spark, tmp_path, batches=1)
    still = [*inputs[:2], (inputs[2][0], spark.createDataFrame(TABLES["C"]))]
    with pytest.raises(wm.ConfigError, match="'A', 'B' are streams and 'C' are not"):
        multi_join(still, on=ON)
    bare = [(one, stream(spark, tmp_path / one.name, TABLES["A"].schema, delay=None)) for one, _ in inputs]
    with pytest.raises(wm.ConfigError, match=r"stream 'A': the time column 'ts' .* needs a watermark"):
        multi_join(bare, on=ON)


def test_multi_join_refuses_a_tree_of_other_streams(spark: SparkSession) -> None:
    inputs = [(wm.Stream(name, window="1s"), spark.createDataFrame(rows)) for name, rows in TABLES.items()]
    with pytest.raises(wm.ConfigError, match="expected each of 'A', 'B', 'C' once"):
        multi_join(inputs, on=ON, tree=("A", "B"))
    with pytest.raises(wm.ConfigError, match="expected a pair of 'A', 'B', 'C'"):
        multi_join(inputs, on={("A", "D"): wm.equal("key")})
