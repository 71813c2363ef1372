"""Stream(freshness=) in a two-way join: no result holds a row older than that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.testing import brute_force_join


def table(seed: int, rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"ts": np.sort(rng.integers(0, 100, rows)), "key": rng.integers(0, 5, rows)})


def joined(left: wm.Stream, right: wm.Stream, **options: Any) -> pa.Table:
    join = wm.WindowJoin(left, right, on=wm.equal("key"), order="filter-order", **options)
    tables = []
    for first in range(0, 300, 50):
        tables += [join.push("a", table(1)[first : first + 50]), join.push("b", table(2)[first : first + 50])]
    return pa.concat_tables([*tables, join.finish()], promote_options="default")


def full_answer(**bounds: Any) -> pa.Table:
    on = wm.equal("key")
    return brute_force_join(table(1), table(2), on=on, time_unit="s", output="columns", **bounds)


def rows_of(found: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_oracle_freshness_narrows_windows_of_time() -> None:
    found = joined(
        wm.Stream("a", window="20s", time_unit="s", freshness="3s"),
        wm.Stream("b", window="4s", time_unit="s", freshness="9s"),
    )
    full = brute_force_join(
        table(1),
        table(2),
        on=wm.equal("key"),
        window=("3s", "4s"),
        time="ts",
        time_unit="s",
        output="columns",
    )
    assert found.num_rows > 100
    assert rows_of(found) == rows_of(full)


def test_oracle_freshness_bounds_the_age_in_windows_of_rows_and_between() -> None:
    streams = [wm.Stream(name, window="40i", time_unit="s", freshness="2s") for name in "ab"]
    full = brute_force_join(
        table(1),
        table(2),
        on=wm.equal("key"),
        window=("40i", "40i"),
        time="ts",
        time_unit="s",
        output="columns",
    )
    fresh = full.filter(pa.array(np.abs(full["ts"].to_numpy() - full["ts_right"].to_numpy()) <= 2))
    assert 0 < fresh.num_rows < full.num_rows
    assert rows_of(joined(*streams)) == rows_of(fresh)

    bounded = joined(
        wm.Stream("a", time_unit="s", freshness="2s"), wm.Stream("b", time_unit="s"), between=("-5s", "5s")
    )
    same = brute_force_join(
        table(1),
        table(2),
        on=wm.equal("key"),
        between=("-5s", "2s"),
        time="ts",
        time_unit="s",
        output="columns",
    )
    assert rows_of(bounded) == rows_of(same)


def test_why_not_names_the_freshness_that_a_row_misses() -> None:
    join = wm.WindowJoin(
        wm.Stream("a", window="20s", time_unit="s", freshness="3s"),
        wm.Stream("b", window="20s", time_unit="s"),
        on=wm.equal("key"),
    )
    join.push("a", pa.table({"ts": [1], "key": [7]}))
    join.push("b", pa.table({"ts": [2], "key": [7]}))
    assert "up to an age of 3s" in str(wm.why_not(join, {"ts": 1, "key": 7}, {"ts": 9, "key": 7}))


def test_a_freshness_that_leaves_nothing_of_between_is_refused() -> None:
    with pytest.raises(wm.ConfigError, match="freshness"):
        wm.WindowJoin(wm.Stream("a", freshness="1s"), wm.Stream("b"), between=("2s", "3s"))
