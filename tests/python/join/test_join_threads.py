"""A join on several threads: the same results, in the same order, as on one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.cases import draw_case
from tests.reference.driver import difference, expected_pairs, run_live, run_table
from tests.reference.predicates import FAMILIES

import watersmeet as wm
from watersmeet.join import table_join, window_join
from watersmeet.join.two_way import configuration_json
from watersmeet.join.two_way.config import JoinConfig

LIVE_CASES, TABLE_CASES = 25, 10  # per family


@pytest.fixture
def share_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change is cut among the threads, however small."""

    def sharing(checked: Callable[..., JoinConfig]) -> Callable[..., JoinConfig]:
        return lambda *args, **kwargs: replace(checked(*args, **kwargs), share_all=True)

    for module in (table_join, window_join, configuration_json):
        monkeypatch.setattr(module, "checked_config", sharing(module.checked_config))  # type: ignore[attr-defined]


def _counts(metrics: wm.Metrics) -> dict[str, Any]:
    """All counters but those of memory, which differs."""
    plain = metrics.to_dict()
    plain.pop("memory_bytes", None)
    for stream in plain["streams"]:
        stream.pop("window_bytes", None)
    return plain


@pytest.mark.usefixtures("share_all")
@pytest.mark.parametrize("family", FAMILIES)
def test_oracle_random_joins_on_threads_release_the_same_results_in_the_same_order(family: str) -> None:
    for seed in range(700_000, 700_000 + LIVE_CASES):
        case = draw_case(seed, family=family)
        with_function = "where" in str(case.on)
        place = None if with_function else seed % (len(case.steps) + 1)
        alone = run_live(case)
        together = run_live(case, threads=2 + seed % 4, snapshot_before=place if seed % 3 == 0 else None)
        assert together.pairs == alone.pairs, case.describe()
        assert together.released == alone.released, case.describe()
        assert not difference(together.pairs, expected_pairs(case)), case.describe()
        if seed % 3:  # a restored join merges its lists in other ways
            assert _counts(together.join.metrics) == _counts(alone.join.metrics), case.describe()


@pytest.mark.usefixtures("share_all")
@pytest.mark.parametrize("family", FAMILIES)
def test_differential_tables_joined_on_threads_are_the_same_in_the_same_order(family: str) -> None:
    for seed in range(710_000, 710_000 + TABLE_CASES):
        case = draw_case(seed, family=family, live=False)
        assert run_table(case, threads=3) == run_table(case), case.describe()


@pytest.mark.parametrize("order", [None, "filter-order", "sync-filter"])
@pytest.mark.parametrize("how", ["inner", "full"])
def test_differential_large_batches_of_keys_on_threads(how: str, order: str | None) -> None:
    rng = np.random.default_rng(8)
    rows = 60_000  # the hash table is filled by several threads, grows, and turns over
    tables = [
        pa.table({"ts": np.cumsum(rng.integers(0, 3, rows)), "k": rng.integers(0, 30_000, rows) * width})
        for width in (1, 1 << 20)
    ]
    tables[1] = tables[1].set_column(1, "k", pa.array(np.asarray(tables[1]["k"]) >> 20))

    def answer(threads: int) -> list[pa.Table]:
        join = wm.WindowJoin(
            wm.Stream("a", time="ts", window=9_000, time_unit="s"),
            wm.Stream("b", time="ts", window=12_000, time_unit="s"),
            on=wm.equal("k"),
            how=how,  # type: ignore[arg-type]
            order=order,  # type: ignore[arg-type]
            threads=threads,
        )
        parts = []
        for start in range(0, rows, 9_973):
            parts += [join.push(name, t.slice(start, 9_973)) for name, t in zip("ab", tables, strict=True)]
        return [*parts, join.finish()]

    alone = answer(1)
    assert sum(part.num_rows for part in alone) > 10_000
    for threads in (2, 3):
        assert all(one.equals(two) for one, two in zip(answer(threads), alone, strict=True))


def test_a_result_may_exceed_the_limits_of_a_block() -> None:
    rows = 2_300  # 5 million pairs: blocks stop at their limits, on every thread
    table = pa.table({"ts": np.zeros(rows, np.int64), "k": np.zeros(rows, np.int64)})
    alone = wm.join(table, table, on=wm.equal("k"), window=1, output="rows")
    together = wm.join(table, table, on=wm.equal("k"), window=1, output="rows", threads=3)
    assert alone.num_rows == rows * rows
    assert together.equals(alone)


def test_a_function_that_raises_leaves_a_join_on_threads_as_it_was() -> None:
    calls = []

    def picky(left: pa.Table, right: pa.Table) -> Any:
        calls.append(left.num_rows)
        if len(calls) == 2:
            raise ValueError("no")
        return np.ones(left.num_rows, np.bool_)

    join = wm.WindowJoin(
        wm.Stream("a", time="ts", window=5, time_unit="s"),
        wm.Stream("b", time="ts", window=5, time_unit="s"),
        on=wm.equal("k") & wm.where(picky),
        threads=2,
    )
    batch = pa.table({"ts": np.arange(4_000) // 100, "k": np.arange(4_000) % 7})
    join.push("a", batch)
    with pytest.raises(ValueError, match="no"):
        join.push("b", batch)
    calls.append(0)
    assert join.push("b", batch).num_rows > 0
    assert join.metrics.streams[1].rows == 4_000


@pytest.mark.parametrize("threads", [0, -1, True, "2", 2.0, 257, None])
def test_threads_that_are_no_number_of_threads_are_refused(threads: object) -> None:
    with pytest.raises(wm.ConfigError, match="threads"):
        wm.WindowJoin(wm.Stream("a", window=1), wm.Stream("b", window=1), threads=threads)  # type: ignore[arg-type]


def test_a_join_that_sheds_runs_on_one_thread() -> None:
    with pytest.raises(wm.ConfigError, match=r"threads=2 with shed="):
        wm.WindowJoin(
            wm.Stream("a", window=1),
            wm.Stream("b", window=1),
            on=wm.equal("k"),
            shed=wm.Shed(budget=wm.comparisons(100)),
            threads=2,
        )
