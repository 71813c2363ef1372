"""Streams from the world, with bursts, ties and hot keys: the answer of wm.join, once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.spark.inputs import pairs
from tests.spark.streams import parts, run, stream, sunk, write_files

import watersmeet as wm
from watersmeet.spark import join, metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("WATERSMEET_DATA", ROOT.parent / "shared" / "data"))

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the real streams are not on this machine")


def events(kind: str) -> pa.Table:
    rows = pq.read_table(DATA / "gharchive" / "events.parquet")
    return timed(rows.filter(pc.equal(rows["type"], kind)).select(["ts", "seq", "repo_id", "actor_id"]))


def stories(which: str) -> pa.Table:
    rows = pq.read_table(DATA / "reuters21578" / "docs.parquet")
    return timed(
        rows.filter(pc.equal(rows["stream"], which)).select(["ts", "seq", "title_tokens"]).slice(0, 2500)
    )


def timed(rows: pa.Table) -> pa.Table:
    """Times as Spark's watermarks want them; `row` numbers the rows."""
    times = rows["ts"].cast(pa.timestamp("ms")).cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
    return rows.set_column(0, "ts", times).rename_columns(["ts", "row", *rows.column_names[2:]])


@pytest.mark.parametrize(
    ("left", "right", "options"),
    [
        (
            lambda: events("CreateEvent"),
            lambda: events("PushEvent"),
            {"on": wm.equal("actor_id"), "between": ("0s", "5m"), "skew": "slice"},
        ),
        (
            lambda: stories("usa"),
            lambda: stories("world"),
            {"on": wm.overlap("title_tokens", at_least=4), "window": "1d"},
        ),
    ],
    ids=["github by actor, hot keys sliced", "reuters by words"],
)
def test_oracle_real_streams_give_the_answer_of_wm_join(
    spark: SparkSession, tmp_path: Path, left: Any, right: Any, options: dict[str, Any]
) -> None:
    one, two = left(), right()
    write_files(tmp_path / "left", parts(one, 3))
    write_files(tmp_path / "right", parts(two, 3))
    # The two are cut by count, not by time, so that they run apart: what is late is known by the slower one.
    out = join(
        stream(spark, tmp_path / "left", one.schema),
        stream(spark, tmp_path / "right", two.schema),
        partitions=3,
        **options,
    )
    query = run(out, tmp_path)
    options.pop("skew", None)
    expected = pairs(wm.join(one, two, **options))
    assert pairs(sunk(spark, tmp_path)) == expected
    assert expected.total() > 100
    assert metrics(query).total["late_rows"] == 0
