"""Joins refilled from a log, and joins that are given their budget micro-batch by micro-batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.join.metered_join import MeteredJoin
from watersmeet.vocabulary import Span

SECOND = 1_000_000


def table(seed: int, rows: int = 2000) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.sort(rng.integers(0, 20 * SECOND, rows)),
            "key": rng.integers(0, 40, rows),
            "row": np.arange(rows),
        }
    )


LEFT, RIGHT = table(1), table(2)


def pairs(tables: list[pa.Table]) -> list[tuple[int, int]]:
    whole = pa.concat_tables(tables)
    return sorted(zip(whole["row"].to_pylist(), whole["row_right"].to_pylist(), strict=True))


def exact(**options: Any) -> wm.WindowJoin:
    return wm.WindowJoin(
        wm.Stream("left", time="ts", window="2s"),
        wm.Stream("right", time="ts", window="2s"),
        on=wm.equal("key"),
        **options,
    )


def test_differential_join_refilled_from_a_log_goes_on_like_the_first() -> None:
    first, second = exact(), exact()
    first.push("left", LEFT.slice(0, 900))
    before = [first.push("right", RIGHT.slice(0, 1100))]
    for name, rows in (("left", LEFT), ("right", RIGHT)):
        second.push(name, rows.slice(0, 0))
    second.refill("left", LEFT.slice(0, 900))
    second.refill("right", RIGHT.slice(0, 1100))
    assert second.metrics.results == 0
    after = [second.push("left", LEFT.slice(900)), second.push("right", RIGHT.slice(1100))]
    assert pairs(before + after) == pairs([wm.join(LEFT, RIGHT, on=wm.equal("key"), window="2s")])


def test_refill_needs_known_types_and_an_inner_join() -> None:
    with pytest.raises(wm.WatersmeetError, match="push an empty batch of each stream first"):
        exact().refill("left", LEFT)
    with pytest.raises(wm.ConfigError, match="expected 'inner'"):
        exact(how="left").refill("left", LEFT)


def metered(policy: Any = "auto", *, seed: int = 0) -> MeteredJoin:
    return MeteredJoin(
        wm.Stream("left", time="ts"),
        wm.Stream("right", time="ts"),
        on=wm.equal("key"),
        between=(Span(nanoseconds=-2 * 10**9), Span(nanoseconds=2 * 10**9)),
        suffix="_right",
        shed=wm.Shed(budget=wm.per_batch("1s"), policy=policy),
        schemas=(LEFT.schema, RIGHT.schema),
        seed=seed,
    )


def batches(join: MeteredJoin, first: int, last: int, units: float) -> list[pa.Table]:
    """Micro-batches of two seconds, each of which takes eight on the join's clock."""
    out = []
    for batch in range(first, last):
        low = batch * 2 * SECOND
        for name, rows in (("left", LEFT), ("right", RIGHT)):
            times = rows["ts"].to_numpy()
            part = rows.filter(pa.array((times >= low) & (times < low + 2 * SECOND)))
            join.hold(name, part, arrivals=part["ts"].to_numpy() * 4)
        before = join.units
        out.append(join.drain(units_per_s=units / 8))
        assert join.units - before <= 1.3 * units
    return out


def test_differential_metered_join_with_plenty_gives_all() -> None:
    join = metered()
    found = batches(join, 0, 10, 1e12)
    assert pairs(found) == pairs([wm.join(LEFT, RIGHT, on=wm.equal("key"), window="2s")])
    assert join.metrics.recall.is_exact


@pytest.mark.parametrize("policy", ["auto", "density", "content"])
def test_metered_join_keeps_to_its_units_and_goes_on_from_its_course(policy: Any) -> None:
    whole = metered(policy)
    steady = batches(whole, 0, 10, 1500)
    full = pairs([wm.join(LEFT, RIGHT, on=wm.equal("key"), window="2s")])
    assert set(pairs(steady)) < set(full)
    assert whole.metrics.streams[0].dropped_rows == 0
    first = metered(policy)
    found = batches(first, 0, 6, 1500)
    second = metered(policy)
    for name, rows in (("left", LEFT), ("right", RIGHT)):
        times = rows["ts"].to_numpy()
        second.refill(name, rows.filter(pa.array((times >= 10 * SECOND) & (times < 12 * SECOND))))
    second.set_course(first.course())
    found += batches(second, 6, 10, 1500)
    assert pairs(found) == pairs(steady)
    assert second.metrics.recall == whole.metrics.recall


def test_error_in_a_users_function_leaves_the_rows_waiting() -> None:
    calls = []

    def fails_once(left: pa.Table, right: pa.Table) -> list[bool]:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("no")
        return [True] * len(left)

    join = MeteredJoin(
        wm.Stream("left", time="ts"),
        wm.Stream("right", time="ts"),
        on=wm.equal("key") & wm.where(fails_once),
        between=(Span(nanoseconds=-2 * 10**9), Span(nanoseconds=2 * 10**9)),
        suffix="_right",
        shed=wm.Shed(budget=wm.per_batch("1s")),
        schemas=(LEFT.schema, RIGHT.schema),
    )
    for name, rows in (("left", LEFT), ("right", RIGHT)):
        join.hold(name, rows, arrivals=rows["ts"].to_numpy())
    with pytest.raises(ValueError, match="no"):
        join.drain(units_per_s=1e12)
    found = join.drain(units_per_s=1e12)
    assert pairs([found]) == pairs([wm.join(LEFT, RIGHT, on=wm.equal("key"), window="2s")])
