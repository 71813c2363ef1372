"""One caller at a time: another thread waits, and a function called by the join may not call back into it."""

from __future__ import annotations

from threading import Lock, get_ident
from types import TracebackType

from watersmeet.errors import WatersmeetError

__all__ = ["Guard"]


class Guard:
    """A lock that tells a thread which already holds it so, instead of waiting for itself for ever."""

    __slots__ = ("_lock", "_owner")

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner = 0

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._wait()
        self._owner = get_ident()

    def _wait(self) -> None:
        if self._owner == get_ident():
            raise WatersmeetError(
                "a join was called from inside its own where() function; the function may look at its two"
                " blocks only"
            )
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._owner = 0
        self._lock.release()
