"""Streaming DataFrames on Spark itself: the answer of wm.join, late rows, idle streams, stop and start."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it
from tests.spark.inputs import FAMILIES, SECOND, VECTORS, pairs, solid, table
from tests.spark.streams import parts, run, stream, sunk, total, write_files

import watersmeet as wm
from watersmeet.spark import join, metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT, RIGHT = table(5, 240), table(6, 220)


def shifted(rows: pa.Table, by_us: int) -> pa.Table:
    times = pc.add(rows["ts"].cast(pa.int64()), by_us).cast(rows["ts"].type)
    return rows.set_column(0, "ts", times)


@pytest.mark.parametrize(("partitions", "cuts", "first"), [(1, (3, 2), 0), (3, (1, 3), 1), (8, (2, 1), 2)])
def test_oracle_streaming_join_equals_wm_join_for_every_predicate(
    spark: SparkSession, tmp_path: Path, partitions: int, cuts: tuple[int, int], first: int
) -> None:
    """A third of the families in one query: by_hand.py tries all of them with every number of partitions."""
    families = list(FAMILIES)[first::3]
    write_files(tmp_path / "left", parts(LEFT, cuts[0]))
    write_files(tmp_path / "right", parts(RIGHT, cuts[1]))
    left = stream(spark, tmp_path / "left", LEFT.schema)
    right = stream(spark, tmp_path / "right", RIGHT.schema)
    joined = []
    for family in families:
        on = FAMILIES[family]
        options: dict[str, Any] = {"partitions": partitions, "name": family, "vectors": VECTORS}
        out = join(left, right, on=on, between=("-3s", "5s"), **options)
        joined.append(out.select(F.lit(family).alias("family"), "row", "row_right"))
    query = run(reduce(DataFrame.unionByName, joined), tmp_path)
    got = sunk(spark, tmp_path)
    for family in families:
        expected = pairs(wm.join(solid(LEFT), solid(RIGHT), on=FAMILIES[family], between=("-3s", "5s")))
        assert pairs(got.filter(pc.equal(got["family"], family))) == expected
        counted = metrics(query, family).total
        assert counted["results"] == expected.total()
        assert counted["due"] == counted["done"]


def test_columns_of_a_stream_are_those_of_wm_join(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path / "left", [LEFT])
    one = stream(spark, tmp_path / "left", LEFT.schema)
    out = join(one, one, on=FAMILIES["equal"], window="1s", suffix="_other")
    assert out.columns == wm.join(LEFT, LEFT, on=FAMILIES["equal"], window="1s", suffix="_other").column_names


def test_stopped_query_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    options: dict[str, Any] = {"on": FAMILIES["equal"], "window": "4s"}
    seen = 0
    for turn, (left, right) in enumerate(zip(parts(LEFT, 3), parts(RIGHT, 3), strict=True)):
        write_files(tmp_path / "left", [left], first=turn)
        write_files(tmp_path / "right", [right], first=turn)
        out = join(
            stream(spark, tmp_path / "left", LEFT.schema, delay=None),
            stream(spark, tmp_path / "right", RIGHT.schema, delay=None),
            lateness="3s",
            **options,
        )
        query = run(out, tmp_path)
        seen += total(query, "results")
    expected = pairs(wm.join(LEFT, RIGHT, **options))
    assert pairs(sunk(spark, tmp_path)) == expected
    assert seen == expected.total()
    write_files(tmp_path / "left", [LEFT.slice(200)], first=9)
    other = join(
        stream(spark, tmp_path / "left", LEFT.schema),
        stream(spark, tmp_path / "right", RIGHT.schema),
        on=FAMILIES["equal"],
        window="5s",
    )
    with pytest.raises(StreamingQueryException, match="this checkpoint belongs to another join"):
        run(other, tmp_path)


def test_late_rows_are_counted_and_an_idle_stream_holds_the_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    left, right = parts(LEFT, 3), parts(RIGHT, 3)
    late = left[0].slice(10, 4)
    early = pa.concat_tables([left[0].slice(0, 10), left[0].slice(14)])
    fresh = shifted(RIGHT.slice(0, 1), 61 * SECOND)  # only now the right stream moves on
    write_files(tmp_path / "left", [early, left[1], left[2], LEFT.slice(0, 0), late])
    write_files(tmp_path / "right", [right[0], right[1], right[2], fresh, RIGHT.slice(0, 0)])
    options: dict[str, Any] = {"on": FAMILIES["equal"], "window": "4s"}
    out = join(
        stream(spark, tmp_path / "left", LEFT.schema, delay="0 seconds"),
        stream(spark, tmp_path / "right", RIGHT.schema, delay="0 seconds"),
        **options,
    )
    query = run(out, tmp_path)
    rest = pa.concat_tables([early, left[1], left[2]])
    expected = wm.join(rest, pa.concat_tables([RIGHT, fresh]), **options)
    assert pairs(sunk(spark, tmp_path)) == pairs(expected)
    assert total(query, "late_rows") == 4
    assert metrics(query).total["late_rows"] == 4
    last = metrics(query)
    assert sum(bucket["state_rows"] for bucket in last.buckets.values()) == last.last["state_rows"]


def test_oracle_unmatched_rows_come_once_the_watermark_has_passed(
    spark: SparkSession, tmp_path: Path
) -> None:
    flush = shifted(LEFT.slice(0, 1), 3600 * SECOND)
    write_files(tmp_path / "left", [*parts(LEFT, 2), flush])
    write_files(tmp_path / "right", [*parts(RIGHT, 2), flush.select(RIGHT.column_names)])
    options: dict[str, Any] = {"on": FAMILIES["equal"], "window": "300ms", "how": "left"}
    out = join(
        stream(spark, tmp_path / "left", LEFT.schema),
        stream(spark, tmp_path / "right", RIGHT.schema),
        partitions=2,
        **options,
    )
    run(out, tmp_path)
    assert pairs(sunk(spark, tmp_path)) == pairs(wm.join(LEFT, RIGHT, **options))


def test_a_stream_without_a_watermark_is_refused_in_words(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path / "left", [LEFT])
    bare = stream(spark, tmp_path / "left", LEFT.schema, delay=None)
    with pytest.raises(wm.ConfigError, match="needs a watermark"):
        join(bare, bare, window="1s")
    with pytest.raises(wm.ConfigError, match="left is a stream and right is not"):
        join(bare, spark.createDataFrame(RIGHT), window="1s", lateness="1s")
    pairs_of_pairs = join(bare, bare, window="1s", lateness="1s")
    with pytest.raises(wm.ConfigError, match="left: is the result of another streaming join"):
        join(pairs_of_pairs, bare, window="1s", lateness="1s")
    provider = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(provider)
    spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(wm.ConfigError, match="configure"):
            join(bare, bare, window="1s", lateness="1s")
    finally:
        spark.conf.set(provider, before)


EVERY_TYPE = {
    "byte": "cast(key as byte)",
    "short": "cast(key as short)",
    "real": "cast(key / 3 as float)",
    "text": "case when key = 1 then null else repeat('ä', key) end",
    "bytes": "cast(repeat('b', key) as binary)",
    "yes": "key > 1",
    "day": "date'2026-01-01' + key",
    "decimal": "cast(key / 7 as decimal(38, 10))",
    "local": "timestamp_ntz'2026-03-29 02:30:00'",  # an hour that some zones do not have
    "moment": "timestamp_seconds(1e9 + key)",
    "span": "make_dt_interval(key, 2, 3, 4.5)",
    "names": "array('a', null, repeat('c', key))",
    "lists": "array(array(key, null), array())",
    "moments": "array(timestamp_seconds(1e9 + key), null)",
    "map": "map('k', array(key), 'm', null)",
    "struct": "named_struct('a b', key, 'inner', named_struct('t', timestamp_seconds(key), 'd', 1.5bd))",
    "structs": "array(named_struct('x', key, 'y', map(key, 'z')), null)",
    "`dotted.name`": "key",
    "variant": "parse_json('{\"a\": [1, 2]}')",
}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_every_payload_type_comes_back_unchanged_from_a_stream(
    spark: SparkSession, tmp_path: Path, zone: str
) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        source = spark.range(1, 5).selectExpr("timestamp_seconds(1700000000 + id) ts", "int(id) key")
        source = source.selectExpr("*", *(f"{text} as {name}" for name, text in EVERY_TYPE.items()))
        source.coalesce(1).write.parquet(str(tmp_path / "in"))
        reader = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema)
        whole = reader.parquet(str(tmp_path / "in")).withColumn("none", F.lit(None))
        left, right = (whole.withWatermark("ts", "3 seconds") for _ in range(2))
        out = join(left, right, on=wm.equal("key"), window="1s", partitions=2)
        seen: list[Any] = []
        query = (
            out.writeStream.foreachBatch(lambda frame, _: seen.extend(frame.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        given = {row["key"]: tuple(row) for row in spark.read.parquet(str(tmp_path / "in")).collect()}
        assert len(seen) == len(given)
        for row in seen:
            payload = (*given[row["key"]], None)
            assert _plain(tuple(row)) == _plain(payload + payload)
        assert [field.dataType for field in out.schema] == [f.dataType for f in left.schema] * 2
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def _plain(values: tuple[Any, ...]) -> list[Any]:
    """Variants have no equality; they are what they say."""
    return [value.toJson() if hasattr(value, "toJson") else value for value in values]
