"""Snapshots: a restored join continues as if nothing had happened; damaged bytes are told, never trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.cases import draw_case
from tests.reference.driver import difference, live_join, pairs_of, play
from tests.reference.predicates import FAMILIES

import watersmeet as wm
from watersmeet.testing import keyed_stream, set_stream

HOWS = ("inner", "left", "right", "full", "semi", "anti")


def _serialisable(case: Any) -> bool:
    return "where" not in str(case.on)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "where"])
@pytest.mark.parametrize("how", HOWS)
def test_differential_restored_join_gives_each_later_table_of_the_original(family: str, how: str) -> None:
    """After every step both joins, the original and its copy, give the same table in the same order."""
    for seed in range(3):
        case = draw_case(77_000 + seed, family=family, how=how)
        if not _serialisable(case):
            continue
        original = live_join(case, output="columns")
        for place in range(len(case.steps)):
            if place % 3 == seed:
                copy = wm.WindowJoin.restore(original.snapshot())
                assert copy.metrics == original.metrics, case.describe()
                for step in case.steps[place:]:
                    play(copy, case, step)
                copy.finish()
            if place == len(case.steps) // 2:
                twin = wm.WindowJoin.restore(original.snapshot())
                rest = case.steps[place:]
                got = [play(twin, case, step) for step in rest] + [twin.finish()]
                wanted = [play(original, case, step) for step in rest] + [original.finish()]
                for one, two in zip(got, wanted, strict=True):
                    assert one.schema.equals(two.schema), case.describe()
                    assert str(one.to_pylist()) == str(two.to_pylist()), case.describe()
                assert twin.metrics == original.metrics, case.describe()
                break


@pytest.mark.parametrize("chunk", range(4))
def test_differential_snapshot_before_every_step_changes_nothing(chunk: int) -> None:
    for seed in range(88_000 + 20 * chunk, 88_020 + 20 * chunk):
        case = draw_case(seed)
        if not _serialisable(case):
            continue
        plain, chained = live_join(case), live_join(case)
        wanted, got = [], []
        for step in case.steps:
            chained = wm.WindowJoin.restore(chained.snapshot())
            wanted += pairs_of(play(plain, case, step))
            got += pairs_of(play(chained, case, step))
        wanted += pairs_of(plain.finish())
        chained = wm.WindowJoin.restore(chained.snapshot())
        got += pairs_of(chained.finish())
        assert not difference(got, wanted), case.describe()


def _some_join() -> wm.WindowJoin:
    join = wm.WindowJoin(
        wm.Stream("a", window="20us", lateness="5us", on_late="keep"),
        wm.Stream("b", window="10i"),
        on=wm.overlap("tags", at_least=1),
        how="full",
    )
    join.push("a", set_stream(1, 30, item_kind=pa.string(), null_share=0.1))
    join.push("a", pa.table({"ts": [1], "tags": [["late"]]}))
    join.push("b", set_stream(2, 20, item_kind=pa.string()).slice(0, 10))
    return join


def test_snapshot_is_bytes_and_does_not_disturb_the_join() -> None:
    join = _some_join()
    before = join.metrics
    blob = join.snapshot()
    assert isinstance(blob, bytes)
    assert join.metrics == before
    assert join.snapshot() == blob, "the same state gives the same bytes"


def test_late_rows_and_payload_travel_in_the_snapshot() -> None:
    join = _some_join()
    copy = wm.WindowJoin.restore(join.snapshot())
    assert copy.late("a").to_pylist() == join.late("a").to_pylist() == [{"ts": 1, "tags": ["late"]}]
    assert copy.finish().equals(join.finish())


def test_fresh_and_finished_joins_can_be_restored() -> None:
    fresh = wm.WindowJoin(wm.Stream("a", window="1s"), wm.Stream("b", window="1s"), on=wm.equal("key"))
    copy = wm.WindowJoin.restore(fresh.snapshot())
    table = keyed_stream(1, 20)
    assert copy.push("a", table).equals(fresh.push("a", table))
    assert copy.push("b", table).equals(fresh.push("b", table))
    fresh.finish()
    ended = wm.WindowJoin.restore(fresh.snapshot())
    with pytest.raises(wm.WatersmeetError, match="finish"):
        ended.push("a", table)


def test_any_flipped_bit_is_told() -> None:
    blob = _some_join().snapshot()
    rng = np.random.Generator(np.random.PCG64(6))
    head = list(range(min(64, len(blob))))
    places = {*head, *range(len(blob) - 16, len(blob)), *(int(p) for p in rng.integers(0, len(blob), 400))}
    for place in sorted(places):
        damaged = bytearray(blob)
        damaged[place] ^= 1 << (place % 8)
        with pytest.raises(wm.SnapshotError):
            wm.WindowJoin.restore(bytes(damaged))


def test_any_truncation_or_addition_is_told() -> None:
    blob = _some_join().snapshot()
    lengths = {*range(min(80, len(blob))), *range(0, len(blob), max(1, len(blob) // 100)), len(blob) - 1}
    for length in sorted(lengths):
        with pytest.raises(wm.SnapshotError):
            wm.WindowJoin.restore(blob[:length])
    for tail in (b"\x00", b"more", blob):
        with pytest.raises(wm.SnapshotError):
            wm.WindowJoin.restore(blob + tail)


@pytest.mark.parametrize("junk", [b"", b"\x00" * 100, b"watersmeet", bytes(range(256)) * 10], ids=len)
def test_bytes_that_are_no_snapshot_are_told(junk: bytes) -> None:
    with pytest.raises(wm.SnapshotError):
        wm.WindowJoin.restore(junk)


@pytest.mark.parametrize("junk", [None, "text", 5])
def test_things_that_are_no_bytes_are_told(junk: Any) -> None:
    with pytest.raises(wm.WatersmeetError):
        wm.WindowJoin.restore(junk)


def test_bytes_like_objects_can_be_restored() -> None:
    blob = _some_join().snapshot()
    for form in (bytearray(blob), memoryview(blob)):
        assert wm.WindowJoin.restore(form).finish().num_rows > 0
