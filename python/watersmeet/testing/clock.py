"""A clock that moves only when a test moves it."""

from __future__ import annotations

import math

from watersmeet.errors import ConfigError

__all__ = ["ManualClock"]


class ManualClock:
    """Seconds that stand still until `advance` or `move_to` is called.

    Calling the clock reads it, so it stands in for `time.monotonic` or `time.perf_counter`. Like them it
    never goes back.
    """

    __slots__ = ("_now_s",)

    def __init__(self, start: float = 0.0) -> None:
        self._now_s = _finite(start, argument="start")

    def __call__(self) -> float:
        """Read the clock."""
        return self._now_s

    def __repr__(self) -> str:
        return f"ManualClock({self._now_s!r})"

    @property
    def now(self) -> float:
        """The clock's reading in seconds."""
        return self._now_s

    def advance(self, seconds: float) -> float:
        """Move forward by `seconds` and return the new reading."""
        step_s = _finite(seconds, argument="seconds")
        if step_s < 0:
            raise ConfigError(f"seconds: {seconds!r} would move the clock back; a number >= 0 is allowed")
        self._now_s += step_s
        return self._now_s

    def move_to(self, reading: float) -> float:
        """Move forward to `reading` (seconds) and return it."""
        target_s = _finite(reading, argument="reading")
        if target_s < self._now_s:
            raise ConfigError(
                f"reading: {reading!r} lies before the clock's {self._now_s!r}; it never goes back"
            )
        self._now_s = target_s
        return self._now_s


def _finite(value: float, *, argument: str) -> float:
    seconds = float(value)
    if not math.isfinite(seconds):
        raise ConfigError(
            f"{argument}: {value!r} is no reading of a clock; a finite number of seconds is allowed"
        )
    return seconds
