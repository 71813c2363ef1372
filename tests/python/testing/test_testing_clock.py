from __future__ import annotations

import math

import pytest

from watersmeet.errors import ConfigError
from watersmeet.testing import ManualClock


def test_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(start=2.5)
    assert [clock(), clock(), clock.now] == [2.5, 2.5, 2.5]


def test_clock_advances_by_a_step_and_to_a_reading() -> None:
    clock = ManualClock()
    assert clock.advance(1.5) == 1.5
    assert clock.move_to(4) == 4.0
    assert clock() == 4.0


@pytest.mark.parametrize("step", [-1e-9, math.nan, math.inf])
def test_clock_refuses_a_step_back_or_no_number_and_stays(step: float) -> None:
    clock = ManualClock(1.0)
    with pytest.raises(ConfigError, match="seconds"):
        clock.advance(step)
    with pytest.raises(ConfigError, match="reading"):
        clock.move_to(step)
    assert clock() == 1.0
