"""Results that cannot be gathered when they come are owed: kept, and given with the next call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.join.columns import late as late_rows
from watersmeet.join.columns.payload import PayloadStore
from watersmeet.join.two_way.results import Results


def join(**options: Any) -> wm.WindowJoin:
    return wm.WindowJoin(
        wm.Stream("a", window="1s"), wm.Stream("b", window="1s"), on=wm.equal("key"), **options
    )


def rows(*keys: str, ts: int) -> pa.Table:
    return pa.table({"ts": [ts] * len(keys), "key": list(keys)})


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the next so many tables of results fail."""
    failures = [0]
    table = Results.table

    def fails(self: Results, pairs: Any, stores: Any) -> pa.Table:
        if failures[0] and len(pairs[0]):
            failures[0] -= 1
            raise pa.ArrowMemoryError("malloc of size 64 failed")
        return table(self, pairs, stores)

    monkeypatch.setattr(Results, "table", fails)

    def times(count: int) -> None:
        failures[0] = count

    return times


@pytest.mark.parametrize("options", [{}, {"how": "full"}, {"order": "filter-order"}], ids=str)
def test_results_without_memory_come_with_the_next_call(no_memory: Any, options: dict[str, Any]) -> None:
    def run(failures: int) -> list[Any]:
        live = join(**options)
        live.push("a", rows("x", "y", ts=1))
        no_memory(failures)
        tables = []
        if failures:
            with pytest.warns(RuntimeWarning, match="2 results: the rows were taken"):
                tables.append(live.push("b", rows("x", "y", ts=1)))
            assert tables[-1].num_rows == 0
        else:
            tables.append(live.push("b", rows("x", "y", ts=1)))
        tables += [live.push("a", rows("x", ts=2)), live.push("b", rows("z", ts=2)), live.finish()]
        assert live.metrics.results == sum(table.num_rows for table in tables)
        return pa.concat_tables(tables).to_pylist()

    if "order" not in options:
        assert run(1) == run(0)
        return
    live = join(**options)
    live.push("a", rows("x", ts=1))
    live.push("b", rows("x", ts=1))
    no_memory(1)
    with pytest.warns(RuntimeWarning, match="1 results"):
        assert live.advance("a", to=5).num_rows + live.advance("b", to=5).num_rows == 0
    assert live.finish().num_rows == 1


def test_finish_without_memory_raises_and_may_be_called_again(no_memory: Any) -> None:
    live = join(how="left")
    live.push("a", rows("x", ts=1))
    no_memory(1)
    with pytest.raises(MemoryError):
        live.finish()
    assert live.finish().to_pylist() == [{"ts": 1, "key": "x"}]
    assert live.finish().num_rows == 0


def test_owed_results_are_part_of_a_snapshot(no_memory: Any) -> None:
    live = join()
    live.push("a", rows("x", ts=1))
    no_memory(1)
    with pytest.warns(RuntimeWarning, match="1 results"):
        live.push("b", rows("x", ts=1))
    restored = wm.WindowJoin.restore(live.snapshot())
    assert restored.finish().equals(live.finish())
    assert restored.metrics.results == 1


def test_interrupted_gathering_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    live = join()
    live.push("a", rows("x", ts=1))

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Results, "table", interrupted)
        with pytest.raises(KeyboardInterrupt):
            live.push("b", rows("x", ts=1))
    assert live.poll().num_rows == 1


def test_payload_that_cannot_be_kept_leaves_the_join_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    live = join()
    live.push("a", rows("x", ts=1))
    take_in = PayloadStore._take_in

    def fails(self: PayloadStore, *arguments: Any) -> None:
        take_in(self, *arguments)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(PayloadStore, "_take_in", fails)
        with pytest.raises(MemoryError):
            live.push("b", rows("x", ts=1))
    assert live.push("b", rows("x", ts=1)).to_pylist() == [
        {"ts": 1, "key": "x", "ts_right": 1, "key_right": "x"}
    ]
    assert live.metrics.streams[1].rows == 1


def test_late_rows_without_memory_are_kept_until_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    live = wm.WindowJoin(
        wm.Stream("a", window="1s", lateness="0s", on_late="keep"),
        wm.Stream("b", window="1s"),
        on=wm.equal("key"),
    )

    def fails(*_: Any) -> None:
        raise pa.ArrowMemoryError("malloc failed")

    live.push("a", rows("x", ts=5))
    with monkeypatch.context() as patch:
        patch.setattr(late_rows, "_picked", fails)
        live.push("a", pa.table({"ts": [6, 2, 7], "key": ["p", "q", "r"]}))
    live.push("a", pa.table({"ts": [3, 8], "key": ["s", "t"]}))
    assert live.late("a").to_pylist() == [{"ts": 2, "key": "q"}, {"ts": 3, "key": "s"}]
    assert live.late("a").num_rows == 0


class _NoRoom:
    """A core that finds no memory to hand over the pairs of an ordered push."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def push_in_order(self, side: int, batch: Any, keep: Any, outbox: Any, *, samples: int) -> Any:
        left, right, late = self._core.push(side, batch, keep)
        return None, late, len(left), [], (left, right) if len(left) else None


def test_ordered_pairs_without_memory_come_with_the_next_call() -> None:
    live = join(order="filter-order", output="rows")
    live.push("a", rows("x", "y", ts=1))
    live.push("b", rows("x", "y", ts=1))
    engine = live._engine
    whole, engine.setup = engine.setup, replace(engine.setup, core=_NoRoom(engine.setup.core))
    live.push("a", rows("z", ts=2))
    with pytest.warns(RuntimeWarning, match="2 results: the rows were taken"):
        assert live.push("b", rows("z", ts=2)).num_rows == 0
    engine.setup = whole
    out = [live.push("a", rows("z", ts=3)), live.finish()]
    assert [pair for table in out for pair in table.to_pylist()] == [
        {"left_row": 0, "right_row": 0},
        {"left_row": 1, "right_row": 1},
        {"left_row": 2, "right_row": 2},
        {"left_row": 3, "right_row": 2},
    ]
    assert live.metrics.results == 4
