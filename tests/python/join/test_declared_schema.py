"""Streams that say their columns beforehand: every table of results has the same form from the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import watersmeet as wm

SCHEMA = pa.schema({"ts": pa.int64(), "key": pa.string()})
ROWS = pa.table({"ts": [1, 2], "key": ["x", "y"]}, schema=SCHEMA)
NAMES = ("a", "b", "c")

Make = Callable[..., Any]


def two_way(streams: list[wm.Stream]) -> Any:
    return wm.WindowJoin(*streams[:2], on=wm.equal("key"))


def tree(streams: list[wm.Stream]) -> Any:
    return wm.MultiJoin(streams, on={("a", "b"): wm.equal("key"), ("b", "c"): wm.equal("key")})


def ring(streams: list[wm.Stream]) -> Any:
    return wm.RingJoin(streams, on={("a", "b"): wm.equal("key"), ("b", "c"): wm.equal("key")}, slices=2)


KINDS = {"two_way": (two_way, 2), "tree": (tree, 3), "ring": (ring, 3)}


def streams(count: int, schema: Any) -> list[wm.Stream]:
    return [wm.Stream(name, window="10s", schema=schema) for name in NAMES[:count]]


@pytest.mark.parametrize("kind", KINDS)
def test_with_schemas_every_table_of_results_can_be_put_under_the_one_before(kind: str) -> None:
    make, count = KINDS[kind]
    join = make(streams(count, SCHEMA))
    tables = [join.push(name, ROWS) for name in NAMES[:count]]
    tables.append(join.finish())
    whole = pa.concat_tables(tables)  # raises where two schemas differ
    assert whole.num_columns == 2 * count
    assert whole.num_rows == 2


@pytest.mark.parametrize("kind", KINDS)
def test_without_schemas_the_answer_is_the_same(kind: str) -> None:
    make, count = KINDS[kind]
    answers = []
    for schema in (None, SCHEMA):
        join = make(streams(count, schema))
        tables = [*(join.push(name, ROWS) for name in NAMES[:count]), join.finish()]
        answers.append(
            pa.concat_tables(tables, promote_options="default").sort_by(tables[-1].column_names[0])
        )
    assert answers[0].equals(answers[1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_with_other_types_than_declared_is_refused_by_name_and_the_join_goes_on(kind: str) -> None:
    make, count = KINDS[kind]
    join = make(streams(count, SCHEMA))
    with pytest.raises(wm.SchemaError, match="stream 'a': column 'key' was string before and is int64 now"):
        join.push("a", pa.table({"ts": [1], "key": [1]}))
    assert join.push("a", ROWS).num_rows == 0
    assert sum(stream.rows for stream in join.metrics.streams) == ROWS.num_rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_declared_schema_that_cannot_serve_is_refused_when_the_join_is_made(kind: str) -> None:
    make, count = KINDS[kind]
    with pytest.raises(wm.SchemaError, match="there is no column 'key'"):
        make(streams(count, pa.schema({"ts": pa.int64()})))


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_of_a_join_with_schemas_goes_on_with_them(kind: str) -> None:
    make, count = KINDS[kind]
    join = make(streams(count, SCHEMA))
    first = join.push("a", ROWS)
    other = type(join).restore(join.snapshot())
    assert other.push("b", ROWS).schema.equals(first.schema)


def test_a_schema_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(wm.ConfigError, match="Stream 'a': schema='ts': expected an Arrow schema"):
        wm.Stream("a", schema="ts")  # type: ignore[arg-type]
