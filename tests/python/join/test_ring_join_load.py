"""slices="auto": a join on slices grows and shrinks by measured load, and its results do not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.join.rings import load
from watersmeet.ring import ResizeRule


class Machine:
    """A clock that a call moves by as much as it costs, and eight processors."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.call_s = 0.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now_s


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    original = load.LoadGauge.__init__

    def init(self: Any, slices: int) -> None:
        original(self, slices, clock=made)
        self._rule = ResizeRule(most=8, patience=2)

    monkeypatch.setattr(load.LoadGauge, "__init__", init)
    monkeypatch.setattr(
        load.LoadGauge, "timed", lambda self, _: setattr(self, "_busy_s", self._busy_s + made.call_s)
    )
    return made


def streams() -> list[wm.Stream]:
    return [wm.Stream(name, time="ts", window=20, time_unit="s") for name in "ABC"]


def pushed(join: wm.RingJoin, machine: Machine | None, busy: list[float]) -> tuple[list[Any], list[int]]:
    """Each call takes its share of a second; results, and slices after each."""
    rng = np.random.default_rng(3)
    results, slices = [], []
    for step, share in enumerate(busy):
        for name in "ABC":
            batch = pa.table(
                {"ts": np.sort(rng.integers(10 * step, 10 * step + 10, 25)), "k": rng.integers(0, 9, 25)}
            )
            if machine is not None:
                machine.now_s += 1.0
                machine.call_s = share
            results += join.push(name, batch).to_pylist()
            slices.append(join.metrics.slices)
    return results + join.finish().to_pylist(), slices


@pytest.mark.parametrize("topology", ["ring", "split"])
def test_slices_follow_the_load_and_results_do_not(machine: Machine, topology: Any) -> None:
    on = {("A", "B"): wm.equal("k"), ("B", "C"): wm.equal("k")}
    busy = [0.95] * 6 + [0.6] * 3 + [0.05] * 12
    join = wm.RingJoin(streams(), on=on, slices="auto", topology=topology)
    found, slices = pushed(join, machine, busy)
    plain, _ = pushed(wm.RingJoin(streams(), on=on, slices=1, topology=topology), None, busy)
    assert found == plain
    assert slices[0] == 1
    assert max(slices) == 8
    assert slices[-1] < 8
    assert len(found) > 1000


def test_a_restored_join_goes_on_measuring(machine: Machine) -> None:
    join = wm.RingJoin(streams(), on=None, slices="auto")
    join.resize(slices=3)
    restored = wm.RingJoin.restore(join.snapshot())
    assert restored.metrics.slices == 3
    assert "slices=3" in repr(restored)
    assert machine.looks > 0


def test_a_word_that_is_no_number_of_slices_is_refused() -> None:
    with pytest.raises(wm.ConfigError, match=r"slices='many': expected a whole number .* or 'auto'"):
        wm.RingJoin(streams(), slices="many")  # type: ignore[arg-type]
