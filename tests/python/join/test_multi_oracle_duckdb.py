"""Five real streams at once, counted by DuckDB."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.sql import connection

import watersmeet as wm

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real streams are not here: no folder {DATA}")

EVENTS = ("PushEvent", "IssueCommentEvent", "IssuesEvent", "PullRequestEvent", "WatchEvent")
AIRLINES = ("United", "US Airways", "American", "Southwest", "Delta")
TREES: tuple[Any, ...] = (
    (((("A", "B"), "C"), "D"), "E"),
    ((("A", "B"), ("C", "D")), "E"),
    (("E", "A"), (("D", "B"), "C")),
    "auto",
)


def events(kind: str) -> pa.Table:
    query = (
        f"SELECT ts, repo_id AS key, seq FROM '{DATA}/gharchive/events.parquet'"
        f" WHERE type = '{kind}' ORDER BY seq"
    )
    return connection().sql(query).to_arrow_table()


def hashtags(airline: str) -> pa.Table:
    """One row per tweet and hashtag."""
    query = (
        f"SELECT ts, unnest(hashtags) AS key, seq FROM '{DATA}/airline_tweets/tweets.parquet'"
        f" WHERE airline = '{airline}' ORDER BY seq, key"
    )
    return connection().sql(query).to_arrow_table()


def by_duckdb(tables: dict[str, pa.Table], window_ms: int) -> list[tuple[int, ...]]:
    sql = connection()
    for name, table in tables.items():
        sql.register(name, table.append_column("row", pa.array(np.arange(len(table)))))
    names = list(tables)
    rows = ", ".join(f"{name}.row" for name in names)
    keys = " AND ".join(f"{one}.key = {other}.key" for one, other in pairwise(names))
    times = ", ".join(f"{name}.ts" for name in names)
    query = (
        f"SELECT {rows} FROM {', '.join(names)} WHERE {keys}"
        f" AND greatest({times}) - least({times}) <= {window_ms} ORDER BY ALL"
    )
    return sql.execute(query).fetchall()


def by_watersmeet(tables: dict[str, pa.Table], window_ms: int, tree: Any, seed: int) -> list[tuple[int, ...]]:
    names = list(tables)
    streams = [wm.Stream(name, window=f"{window_ms}ms", time_unit="ms") for name in names]
    on = {pair: wm.equal("key") for pair in pairwise(names)}
    join = wm.MultiJoin(streams, tree=tree, on=on, monitor="5m")
    rng = np.random.default_rng(seed)
    out, at = [], dict.fromkeys(names, 0)
    numbered = {n: t.append_column("row", pa.array(np.arange(len(t)))) for n, t in tables.items()}
    while any(at[name] < len(numbered[name]) for name in names):
        name = names[int(rng.integers(len(names)))]
        out.append(join.push(name, numbered[name].slice(at[name], 500)))
        at[name] += 500
    out.append(join.finish())
    found = pa.concat_tables([table for table in out if table.num_columns])
    return sorted(zip(*(found.column(f"{name}.row").to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_oracle_five_kinds_of_events_on_one_repository_equal_duckdb(tree: Any) -> None:
    tables = {name: events(kind) for name, kind in zip("ABCDE", EVENTS, strict=True)}
    expected = by_duckdb(tables, 30 * 60_000)
    assert 100 < len(expected) < 1000
    assert by_watersmeet(tables, 30 * 60_000, tree, seed=1) == expected


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_oracle_one_hashtag_to_five_airlines_equals_duckdb(tree: Any) -> None:
    tables = {name: hashtags(airline) for name, airline in zip("ABCDE", AIRLINES, strict=True)}
    expected = by_duckdb(tables, 48 * 3_600_000)
    assert 500 < len(expected) < 20_000
    assert by_watersmeet(tables, 48 * 3_600_000, tree, seed=2) == expected
