"""What the calls of every join check alike, and watermarks as users read them."""

from __future__ import annotations

import math
from numbers import Real
from typing import Final

from watersmeet.errors import ConfigError
from watersmeet.join.timing.pace import Clock

__all__ = ["check_arrival", "checked_clock", "known_watermark"]

_NEVER: Final = -(2**63)  # the watermark of a stream of which nothing has come


def check_arrival(at: object) -> None:
    """ConfigError unless push(at=) or poll(at=) is a moment in seconds, or None."""
    if at is not None and (isinstance(at, bool) or not isinstance(at, Real) or not math.isfinite(at)):
        raise ConfigError(f"push(at)={at!r}: expected a finite number of seconds")


def checked_clock(clock: Clock | None) -> Clock | None:
    """The clock= argument of a join."""
    if clock is not None and not callable(clock):
        raise ConfigError(f"clock={clock!r}: expected a function giving seconds, such as time.monotonic")
    return clock


def known_watermark(mark: int | None) -> int | None:
    """A core's watermark; None where nothing has come."""
    return None if mark is None or mark == _NEVER else mark
