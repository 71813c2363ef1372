from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.multiway import MultiCase, draw_multiway

import watersmeet as wm
from watersmeet.errors import ConfigError
from watersmeet.join.ring_join import RingJoin, RingMetrics
from watersmeet.join.rings.config import checked_ring_config
from watersmeet.join.rings.engine import RingEngine

Rows = list[tuple[int, ...]]


def rows_of(table: pa.Table, names: Sequence[str]) -> Rows:
    columns = [table.column(f"{n}.row").to_pylist() for n in names if f"{n}.row" in table.column_names]
    return list(zip(*columns, strict=True)) if len(columns) == len(names) else []


def pushed(join: RingJoin, tables: Sequence[pa.Table], rng: np.random.Generator, most: int) -> Rows:
    """Everything, in random stretches, with resizes and, now and then, a snapshot instead of the join."""
    names, done, results = "ABCDE"[: len(tables)], [0] * len(tables), []
    functions = join._open().config.has_functions
    while left := [at for at, table in enumerate(tables) if done[at] < table.num_rows]:
        at = int(rng.choice(left))
        size = int(rng.integers(1, most))
        results += rows_of(join.push(names[at], tables[at].slice(done[at], size)), names)
        done[at] += size
        if rng.random() < 0.2:
            join.resize(slices=int(rng.integers(1, 6)))
        if rng.random() < 0.1 and not functions:
            join = RingJoin.restore(join.snapshot())
    results += rows_of(join.finish(), names)
    pushed.metrics = join.metrics  # type: ignore[attr-defined]
    join.close()
    return results


def metrics_of_last() -> RingMetrics:
    return pushed.metrics  # type: ignore[attr-defined, no-any-return]


def random_join(case: MultiCase, shed: wm.Shed, rng: np.random.Generator, *, threads: bool) -> RingJoin:
    config = checked_ring_config(
        case.streams(),
        on=case.on,
        slices=int(rng.integers(1, 6)),
        interleave=int(rng.integers(1, 33)),
        topology=str(rng.choice(["ring", "split"])),
        edge="inclusive" if case.inclusive else "exclusive",
        orderings=None,
        order="sync-filter" if rng.random() < 0.2 else None,
        shed=shed,
        seed=case.seed,
        test_seeds=(None, case.seed) if threads else (int(rng.integers(0, 1000)), None),
    )
    join = RingJoin.__new__(RingJoin)
    join._hold(RingEngine(config))
    return join


@pytest.mark.parametrize("first", range(0, 320, 40))
def test_random_joins_shed_the_same_pairs_on_any_slices_and_batches(first: int) -> None:
    shedding = 0
    for seed in range(70_000 + first, 70_000 + first + 40):
        case, rng = draw_multiway(seed), np.random.default_rng(seed)
        tables = [t.append_column("row", pa.array(np.arange(t.num_rows))) for t in case.tables]
        gedik = len(tables) == 2 and rng.random() < 0.4
        adapt = (("rate",), ("rate", "time"), ("rate", "time", "direction"))[int(rng.integers(0, 3))]
        shed = wm.Shed(
            wm.comparisons(float(rng.choice([0.5, 3.0, 20.0, 200.0]))),
            policy="gedik" if gedik else "density",
            adapt=adapt,  # type: ignore[arg-type]
            rate_period="2s",
            time_period="2s",
        )
        expected = set(case.expected())
        outcomes = []
        for again in range(2):
            join = random_join(case, shed, rng, threads=seed % 10 == 0 and again == 1)
            outcomes.append((sorted(pushed(join, tables, rng, 3 if again else 30)), metrics_of_last()))
        (results, metrics), (others, other_metrics) = outcomes
        about = f"seed {seed}: {case.families}, {shed}"
        assert results == others, about
        assert (metrics.directions, metrics.recall) == (
            other_metrics.directions,
            other_metrics.recall,
        ), about
        assert len(set(results)) == len(results), about
        assert expected >= set(results), about
        assert all(each.due == each.compared + each.shed for each in metrics.directions), about
        assert metrics.recall.low <= metrics.recall.value <= metrics.recall.high, about
        if metrics.shed == 0 and metrics.directions:
            assert set(results) == expected, about
        shedding += metrics.shed > 0
    assert shedding >= 15


def test_oracle_enough_budget_gives_the_exact_join() -> None:
    for seed in range(80_000, 80_060):
        case, rng = draw_multiway(seed), np.random.default_rng(seed)
        tables = [t.append_column("row", pa.array(np.arange(t.num_rows))) for t in case.tables]
        join = random_join(case, wm.Shed(wm.comparisons(1e9)), rng, threads=False)
        assert sorted(pushed(join, tables, rng, 12)) == sorted(case.expected()), (
            f"seed {seed}: {case.families}"
        )
        assert metrics_of_last().shed == 0
        assert metrics_of_last().recall.is_exact


def correlated(seed: int, streams: int, rows: int, *, rate: float = 50.0, lag: float = 3.0) -> list[pa.Table]:
    """Rows that match rows of the stream before them some seconds later, by and large."""
    rng = np.random.default_rng(seed)
    tables = []
    for at in range(streams):
        times = np.sort(rng.uniform(0, rows / rate, rows))
        values = np.floor(times - lag * at) + rng.integers(-1, 2, rows)
        columns = {"ts": (times * 1e6).astype(np.int64), "v": values, "row": np.arange(rows)}
        tables.append(pa.table(columns))
    return tables


def joined(
    tables: Sequence[pa.Table], shed: wm.Shed | None, *, seed: int = 0, batch: int = 200
) -> tuple[Rows, RingMetrics]:
    names = "ABC"[: len(tables)]
    on = {pair: wm.band("v", within=0.5) for pair in pairwise(names)}
    join = RingJoin([wm.Stream(n, time="ts", window="10s") for n in names], on=on, shed=shed, seed=seed)
    results: Rows = []
    for first in range(0, tables[0].num_rows, batch):
        for name, table in zip(names, tables, strict=True):
            results += rows_of(join.push(name, table.slice(first, batch)), names)
    results += rows_of(join.finish(), names)
    return results, join.metrics


@pytest.mark.parametrize(("streams", "rows"), [(2, 2000), (3, 900)])
def test_a_budget_is_kept_and_spent_where_matches_are(streams: int, rows: int) -> None:
    tables = correlated(1, streams, rows)
    whole, metrics = joined(tables, wm.Shed(wm.comparisons(1e12)))
    seconds = rows / 50.0
    budget = 0.3 * metrics.due / seconds
    some, metrics = joined(tables, wm.Shed(wm.comparisons(budget)))
    compared = sum(each.compared for each in metrics.directions)
    assert 0.85 * budget * seconds <= compared <= budget * (seconds + 3.0)
    # Pairs at random would leave the share of pairs, once for every window that a row goes through.
    assert len(some) / len(whole) > 1.3 * 0.3


@pytest.mark.parametrize(("streams", "rows"), [(2, 1200), (3, 500)])
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_the_interval_of_the_recall_holds_the_truth(streams: int, rows: int, share: float) -> None:
    tables = correlated(2, streams, rows)
    whole, metrics = joined(tables, wm.Shed(wm.comparisons(1e12)))
    shed = wm.Shed(wm.comparisons(share * metrics.due / (rows / 50.0)))
    held, errors = 0, []
    for seed in range(20):
        some, metrics = joined(tables, shed, seed=seed)
        truth = len(some) / len(whole)
        held += metrics.recall.low <= truth <= metrics.recall.high
        errors.append(metrics.recall.value - truth)
    assert held >= 17
    assert abs(float(np.mean(errors))) < 0.1


def test_a_failing_push_leaves_plans_and_counts_as_they_were() -> None:
    tables = correlated(3, 2, 600)
    fails = [False]

    def near(left: pa.Table, right: pa.Table) -> Any:
        if fails[0] and left.num_rows and max(left.column("row").to_pylist()) > 450:
            raise ValueError("not this one")
        return np.abs(np.asarray(left.column("v")) - np.asarray(right.column("v"))) <= 0.5

    outcomes = []
    for failing in (False, True):
        join = RingJoin(
            [wm.Stream(n, time="ts", window="10s") for n in "AB"],
            on=wm.where(near),
            slices=2,
            shed=wm.Shed(wm.comparisons(5000)),
        )
        results: Rows = []
        for first in range(0, 600, 100):
            for name, table in zip("AB", tables, strict=True):
                batch = table.slice(first, 100)
                fails[0] = failing and first == 400
                try:
                    results += rows_of(join.push(name, batch), "AB")
                except wm.errors.WatersmeetError:
                    before = join.metrics
                    fails[0] = False
                    results += rows_of(join.push(name, batch), "AB")
                    assert before.due <= join.metrics.due
        fails[0] = False
        results += rows_of(join.finish(), "AB")
        outcomes.append((results, join.metrics.directions, join.metrics.recall))
    assert outcomes[0] == outcomes[1]
    assert sum(each.shed for each in outcomes[0][1]) > 0


def test_the_wall_clock_is_a_budget_too() -> None:
    """A clock that runs faster than the streams: the join falls behind, and compares less."""
    tables = correlated(4, 2, 3000)
    join = RingJoin(
        [wm.Stream(n, time="ts", window="10s") for n in "AB"], on=wm.band("v", within=0.5), shed=wm.Shed()
    )
    now = [0.0]

    def clock() -> float:
        now[0] += 0.02
        return now[0]

    for first in range(0, 3000, 10):
        for name, table in zip("AB", tables, strict=True):
            join.push(name, table.slice(first, 10))
            shedding = join._open().ready
            if shedding is not None and shedding.shedding is not None:
                shedding.shedding.clock = clock
            now[0] += 0.15
    assert join.metrics.shed > 0.2 * join.metrics.due


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"shed": wm.Shed(policy="content")}, "policy='content'"),
        ({"shed": wm.Shed(policy="random-drop")}, "policy='random-drop'"),
        ({"shed": wm.Shed(policy="gedik")}, "3 streams"),
        ({"shed": wm.Shed(rate_control="published")}, "rate_control='published'"),
        ({"shed": wm.Shed(utility={"x": 1.0})}, "utility"),
        ({"shed": wm.Shed(wm.per_batch("1s"))}, "per_batch"),
        ({"shed": wm.Shed(wm.comparisons(5, costs={"posting": 2}))}, "costs"),
        ({"shed": wm.Shed(), "order": "filter-order"}, "order='filter-order'"),
        ({"shed": wm.Shed(), "order": wm.AdaptiveOrder()}, "AdaptiveOrder"),
        ({"shed": 7}, "shed=7"),
    ],
)
def test_what_cannot_be_combined_is_refused_in_words(options: dict[str, Any], says: str) -> None:
    streams = [wm.Stream(n, time="ts", window="10s") for n in "ABC"]
    with pytest.raises(ConfigError, match=says.replace("(", r"\(")):
        RingJoin(streams, **options)


def test_explain_says_what_is_shed_where() -> None:
    tables = correlated(1, 2, 600)
    join = RingJoin(
        [wm.Stream(n, time="ts", window="10s") for n in "AB"],
        on=wm.band("v", within=0.5),
        slices=2,
        shed=wm.Shed(wm.comparisons(3000)),
    )
    assert "once all streams are known" in join.explain()
    join.push("A", tables[0])
    join.push("B", tables[1])
    text = join.explain()
    assert "on 2 slices" in text
    assert "3,000 pairs per second" in text
    assert "rows of A in the window of B" in text
    assert "nothing is shed" in RingJoin([wm.Stream(n, window="1s") for n in "AB"]).explain()
