"""wm.why_not names the first stage at which a pair fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.join.memory.numbering import Numbering


def _rows(times: list[int | None], keys: list[Any]) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.int64()), "k": pa.array(keys, pa.int64())})


def _join(**options: Any) -> wm.WindowJoin:
    left, right = options.pop("left", {}), options.pop("right", {})
    return wm.WindowJoin(
        wm.Stream("a", **{"window": "10us", **left}),
        wm.Stream("b", **{"window": "20us", **right}),
        on=wm.equal("k"),
        **options,
    )


def _stage(join: wm.WindowJoin, left: Any, right: Any) -> str:
    return wm.why_not(join, left, right).stage  # type: ignore[attr-defined,no-any-return]


def test_unknown_row_is_named() -> None:
    join = _join()
    join.push("a", _rows([1], [1]))
    join.push("b", _rows([1], [1]))
    reason = wm.why_not(join, 0, 7)
    assert (reason.stage, str(reason)) == ("unknown", "Stream 'b' has no row 7: 1 have been pushed.")


def test_row_without_a_time_is_bad() -> None:
    join = _join()
    assert _stage(join, {"ts": None, "k": 1}, {"ts": 1, "k": 1}) == "bad"


def test_key_miss_names_the_term_and_both_values() -> None:
    join = _join()
    join.push("a", _rows([1, 2], [1, None]))
    join.push("b", _rows([1], [2]))
    reason = wm.why_not(join, 0, 0)
    assert reason.stage == "key"
    assert "equal(k)" in reason
    assert "k=1" in reason
    assert "k=2" in reason
    assert "null" in wm.why_not(join, 1, 0)


def test_only_the_failing_part_of_a_conjunction_is_named() -> None:
    join = wm.WindowJoin(
        wm.Stream("a", window="10us"),
        wm.Stream("b", window="10us"),
        on=wm.equal("k") & wm.band("v", within=2),
    )
    reason = wm.why_not(join, {"ts": 1, "k": 1, "v": 5}, {"ts": 1, "k": 1, "v": 8})
    assert reason.stage == "key"
    assert "band" in reason
    assert "equal" not in reason


def test_window_miss_tells_the_distance_and_whose_window_it_is() -> None:
    join = _join()
    reason = wm.why_not(join, {"ts": 1, "k": 1}, {"ts": 15, "k": 1})
    assert reason.stage == "window"
    assert "14us older" in reason
    assert "'a' is 10us: 4us too old" in reason
    assert _stage(join, {"ts": 21, "k": 1}, {"ts": 1, "k": 1}) == "free"
    assert _stage(join, {"ts": 22, "k": 1}, {"ts": 1, "k": 1}) == "window"


def test_window_miss_of_between_tells_both_bounds() -> None:
    join = wm.WindowJoin(wm.Stream("a"), wm.Stream("b"), on=wm.equal("k"), between=("1us", "2us"))
    reason = wm.why_not(join, {"ts": 1, "k": 1}, {"ts": 1, "k": 1})
    assert reason.stage == "window"
    assert "between=(1us, 2us)" in reason


def test_late_row_is_told_by_number_and_as_given() -> None:
    join = _join(left={"lateness": "3us"})
    join.push("a", _rows([10, 5], [1, 1]))
    join.push("b", _rows([10], [1]))
    assert _stage(join, 1, 0) == "late"
    assert _stage(join, {"ts": 5, "k": 1}, 0) == "late"
    again = wm.WindowJoin.restore(join.snapshot())
    assert _stage(again, 1, 0) == "late"


def test_row_in_the_reorder_buffer_waits() -> None:
    join = _join(left={"lateness": "3us"})
    join.push("a", _rows([10], [1]))
    join.push("b", _rows([10], [1]))
    assert _stage(join, 0, 0) == "waiting"


def test_held_pair_is_told_and_then_out() -> None:
    join = _join(order="filter-order")
    join.push("a", _rows([10], [1]))
    join.push("b", _rows([9], [1]))
    assert _stage(join, 0, 0) == "held"
    assert join.push("b", _rows([11], [2])).num_rows == 0
    assert join.push("a", _rows([11], [2])).num_rows == 1
    assert _stage(join, 0, 0) == "out"
    assert _stage(join, 1, 0) == "key"


def test_pair_of_which_a_row_is_gone_is_answered_by_giving_the_row() -> None:
    join = _join()
    join.push("a", _rows([1], [1]))
    join.push("b", _rows([1], [1]))
    join.push("a", _rows([100], [1]))
    join.push("b", _rows([100], [1]))
    assert _stage(join, 0, 0) == "gone"


def test_asking_changes_nothing() -> None:
    join = _join(order="filter-order")
    join.push("a", _rows([10], [1]))
    join.push("b", _rows([9], [1]))
    before = join.snapshot()
    wm.why_not(join, 0, 0)
    wm.why_not(join, {"ts": 1, "k": 2}, 0)
    assert join.snapshot() == before


def test_rows_that_cannot_be_asked_about_are_refused() -> None:
    join = _join()
    with pytest.raises(wm.ConfigError, match="2 rows; expected one"):
        wm.why_not(join, _rows([1, 2], [1, 2]), 0)
    with pytest.raises(wm.SchemaError, match="'k'"):
        wm.why_not(join, {"ts": 1}, 0)
    with pytest.raises(wm.ConfigError, match="expected a WindowJoin"):
        wm.why_not(3, 0, 0)  # type: ignore[arg-type]


def test_shed_pair_is_told() -> None:
    streams = [wm.Stream(name, window="10s", time_unit="s") for name in "ab"]
    shed = wm.Shed(wm.comparisons(5))
    join = wm.WindowJoin(*streams, on=wm.equal("k"), shed=shed, index="scan", basic_window="1s")
    for second in range(40):
        for name in "ab":
            join.push(name, pa.table({"ts": [second] * 5, "k": [1] * 5}))
    reason = wm.why_not(join, 190, 190)
    assert reason.stage == "shed"
    assert "comparisons were shed" in reason


def test_joins_of_several_streams_are_refused_with_what_to_do_instead() -> None:
    streams = [wm.Stream(name, window="10s") for name in "abc"]
    with pytest.raises(wm.ConfigError, match=r"MultiJoin: expected a WindowJoin.*why_waiting"):
        wm.why_not(wm.MultiJoin(streams), 0, 0)  # type: ignore[arg-type]


def _seconds(seed: int, name: str, *, rows: int) -> list[pa.Table]:
    random = np.random.default_rng((seed, ord(name)))
    return [
        pa.table(
            {"ts": step * 1_000_000 + np.arange(rows) * 1_000, "k": random.integers(0, 400, rows)},
        )
        for step in range(12)
    ]


def test_oracle_a_pair_lost_to_the_memory_limit_is_told_from_one_that_is_out() -> None:
    def run(**options: Any) -> tuple[wm.WindowJoin, set[tuple[int, int]]]:
        join = wm.WindowJoin(
            wm.Stream("a", window="8s"),
            wm.Stream("b", window="8s"),
            on=wm.equal("k"),
            output="rows",
            **options,
        )
        found: set[tuple[int, int]] = set()
        for left, right in zip(_seconds(3, "a", rows=600), _seconds(3, "b", rows=900), strict=True):
            for name, table in (("a", left), ("b", right)):
                found |= set(zip(*join.push(name, table).to_pydict().values(), strict=True))
        return join, found

    _, full = run()
    join, out = run(memory_limit="256KiB")
    lost = sorted(full - out)
    assert len(lost) > 1_000
    assert {_stage(join, *pair) for pair in lost[::997]} == {"memory"}
    assert "memory" not in {_stage(join, *pair) for pair in sorted(out)[::97]}
    assert "memory_limit=262,144" in wm.why_not(join, *lost[0])


def test_rows_of_a_thinned_batch_are_named_by_their_users_numbers() -> None:
    join = wm.WindowJoin(
        wm.Stream("a", window="1s"), wm.Stream("b", window="1s"), on=wm.equal("k"), memory_limit=1 << 19
    )
    join.push("a", _rows(list(range(5)), [1] * 5))
    join.push("b", _rows([7] * 20_000, list(range(20_000))))
    numbering = join._engine.numberings[1]
    dropped = next(row for row in range(20_000) if numbering.was_dropped(row))
    kept = next(row for row in range(10_000, 20_000) if not numbering.was_dropped(row))
    reason = wm.why_not(join, 0, dropped)
    assert reason.stage == "memory"
    assert str(reason).startswith(f"Row {dropped} of 'b' was not taken in")
    assert f"k={kept}." in wm.why_not(join, 0, kept)
    assert _stage(join, 0, 20_000) == "unknown"


@pytest.mark.parametrize(("rows", "kept"), [(10, 3), (7, 7), (9, 1), (100, 33), (5, 0)])
def test_differential_numbers_go_both_ways(rows: int, kept: int) -> None:
    numbering = Numbering()
    numbering.thinned(4, rows, kept)
    numbering.thinned(4 + kept + 2, rows, kept)
    own = np.arange(4 + 2 * kept + 6)
    users = numbering.original(own).tolist()
    assert [numbering.own(user) for user in users] == own.tolist()
    dropped = [row for row in range(users[-1]) if numbering.was_dropped(row)]
    assert dropped == sorted(set(range(users[-1])) - set(users))
    assert numbering.dropped == len(dropped) == 2 * (rows - kept)
