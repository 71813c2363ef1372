"""Snapshots of joins of several streams: a restored join goes on as if nothing had happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.multi import MultiCase, draw_multi_case, pushed_table, random_tree

import watersmeet as wm
from watersmeet.vocabulary import Where


def join_of(case: MultiCase, **options: Any) -> wm.MultiJoin:
    return wm.MultiJoin(list(case.streams), on=case.on, **{"tree": case.tree, **options})


def restored(join: wm.MultiJoin, case: MultiCase) -> wm.MultiJoin:
    functions = any(isinstance(leaf, Where) for each in case.on.values() for leaf in each.leaves)
    return wm.MultiJoin.restore(join.snapshot(), on=case.on if functions else None)


def differ_after_restoring(seed: int, **options: Any) -> None:
    """The original, and a join that is restored before every push, give the same tables in the same order."""
    case = draw_multi_case(seed)
    plain, chained = join_of(case, **options), join_of(case, **options)
    for step in case.pushes:
        chained = restored(chained, case)
        assert chained.metrics == plain.metrics, f"seed {seed}"
        wanted, got = (join.push(step[0], pushed_table(case, *step)) for join in (plain, chained))
        assert str(got.to_pylist()) == str(wanted.to_pylist()), f"seed {seed}"
    chained = restored(chained, case)
    assert str(chained.finish().to_pylist()) == str(plain.finish().to_pylist()), f"seed {seed}"
    after, expected = restored(chained, case).metrics, plain.metrics
    assert (after.results, after.streams, after.decisions) == (
        expected.results,
        expected.streams,
        expected.decisions,
    )


@pytest.mark.parametrize("block", range(2))
def test_differential_a_restored_exact_join_gives_each_later_table(block: int) -> None:
    for seed in range(60_000 + 20 * block, 60_020 + 20 * block):
        differ_after_restoring(seed)


def test_differential_the_same_while_trees_change() -> None:
    for seed in range(61_000, 61_015):
        differ_after_restoring(seed, tree="auto", monitor="500ms", actuate_above=0.0, analysis="inline")


@pytest.mark.parametrize("policy", ["jaqpot", "global-ratio"])
def test_differential_the_same_with_a_budget(policy: str) -> None:
    for seed in range(62_000, 62_015):
        differ_after_restoring(seed, budget=4, monitor="1s", analysis="inline", policy=policy)


def counted_join() -> wm.MultiJoin:
    streams = [wm.Stream(name, window="40i", freshness="3s", lateness="20ms") for name in "ABC"]
    return wm.MultiJoin(
        streams,
        tree=(("A", "B"), "C"),
        on={("A", "B"): wm.equal("key"), ("B", "C"): wm.equal("key")},
        states={"A+B": 30},
        budget=120,
        monitor="1s",
        analysis="inline",
    )


def rows(name: str, at: int) -> pa.Table:
    rng = np.random.default_rng([ord(name), at])
    times = at * 100_000 + np.sort(rng.integers(0, 100_000, 8)) - rng.integers(0, 30_000, 8)
    return pa.table(
        {"ts": pa.array(times, pa.timestamp("us")), "key": [f"k{k}" for k in rng.integers(0, 9, 8)]}
    )


def test_counted_states_cells_late_and_waiting_rows_travel_in_the_snapshot() -> None:
    plain, chained = counted_join(), counted_join()
    total = 0
    for at in range(1, 80):
        for name in "ABC":
            blob = chained.snapshot()
            chained = wm.MultiJoin.restore(blob)
            assert chained.snapshot() == blob == chained.snapshot(), "the same state gives the same bytes"
            wanted, got = (join.push(name, rows(name, at)) for join in (plain, chained))
            assert got.equals(wanted)
            total += got.num_rows
    assert total > 100
    assert chained.finish().equals(plain.finish())
    assert chained.metrics.stream("A").late_rows == plain.metrics.stream("A").late_rows > 0


def test_a_join_that_has_not_heard_of_all_streams_keeps_rows_and_promises() -> None:
    join = counted_join()
    join.push("A", rows("A", 1))
    join.advance("C", to=np.datetime64(50_000, "us"))
    copy = wm.MultiJoin.restore(join.snapshot())
    for each in (join, copy):
        each.push("B", rows("B", 1))
        each.push("C", rows("C", 1))
    assert copy.metrics == join.metrics
    assert copy.finish().equals(join.finish())
    with pytest.raises(wm.WatersmeetError, match="after finish"):
        wm.MultiJoin.restore(join.snapshot()).push("A", rows("A", 2))


def test_any_flipped_bit_is_told() -> None:
    join = counted_join()
    for at in range(1, 25):
        for name in "ABC":
            join.push(name, rows(name, at))
    blob = join.snapshot()
    rng = np.random.default_rng(8)
    for place in {*range(40), *range(len(blob) - 16, len(blob)), *map(int, rng.integers(0, len(blob), 300))}:
        damaged = bytearray(blob)
        damaged[place] ^= 1 << (place % 8)
        with pytest.raises(wm.SnapshotError):
            wm.MultiJoin.restore(bytes(damaged))
    for cut in (0, 7, len(blob) // 2, len(blob) - 1):
        with pytest.raises(wm.SnapshotError):
            wm.MultiJoin.restore(blob[:cut])


def test_bytes_that_were_sealed_but_never_written_by_a_join_are_told() -> None:
    """Damage behind a checksum that fits: every field is checked."""
    from watersmeet._core import _native

    join = counted_join()
    for at in range(1, 15):
        for name in "ABC":
            join.push(name, rows(name, at))
    body = bytes(_native.unseal(join.snapshot()))
    rng = np.random.default_rng(9)
    told = 0
    for place in map(int, rng.integers(0, len(body), 400)):
        damaged = bytearray(body)
        damaged[place] ^= 1 << int(rng.integers(8))
        try:
            wm.MultiJoin.restore(bytes(_native.seal(bytes(damaged)))).finish()
        except (wm.WatersmeetError, pa.ArrowException):
            told += 1
    assert told > 50


def test_other_snapshots_and_missing_functions_are_refused() -> None:
    two = wm.WindowJoin(wm.Stream("a", window="1s"), wm.Stream("b", window="1s"), on=wm.equal("key"))
    with pytest.raises(wm.SnapshotError):
        wm.MultiJoin.restore(two.snapshot())
    with pytest.raises(wm.SnapshotError, match="expected bytes"):
        wm.MultiJoin.restore("no bytes")  # type: ignore[arg-type]
    with pytest.raises(wm.ConfigError, match="expected None"):
        wm.MultiJoin.restore(counted_join().snapshot(), on={("A", "B"): wm.equal("key")})
    own = wm.where(lambda left, right: np.ones(len(left), bool))
    streams = [wm.Stream(name, window="1s") for name in "AB"]
    join = wm.MultiJoin(streams, on={("A", "B"): own})
    with pytest.raises(wm.ConfigError, match="give on= again"):
        wm.MultiJoin.restore(join.snapshot())
    assert wm.MultiJoin.restore(join.snapshot(), on={("A", "B"): own}).metrics == join.metrics


def test_the_tree_in_force_travels_too() -> None:
    rng = np.random.default_rng(5)
    case = draw_multi_case(61_003)
    names = [stream.name for stream in case.streams]
    for _ in range(5):
        tree = random_tree(rng, names)
        join = join_of(case, tree=tree)
        assert repr(restored(join, case)) == repr(join)
