"""One caller at a time: another thread waits, and a function called by the join may not call back into it."""

from __future__ import annotations

from threading import Lock, get_ident
from types import TracebackType

from watersmeet.errors import WatersmeetError

__all__ = ["Guard"]


class Guard:
    """A lock that tells a thread which already holds it so, instead of waiting for itself for ever.

    Used with `with`; or, where two calls less matter, as __enter__() and __exit__() do it.
    """

    __slots__ = ("acquire", "owner", "release")

    def __init__(self) -> None:
        lock = Lock()
        self.acquire, self.release = lock.acquire, lock.release
        self.owner = 0

    def __enter__(self) -> None:
        if not self.acquire(False):
            self.wait()
        self.owner = get_ident()

    def wait(self) -> None:
        """Wait for another thread; WatersmeetError if it is this one."""
        if self.owner == get_ident():
            raise WatersmeetError(
                "a join was called from inside its own where() function; the function may look at its two"
                " blocks only"
            )
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.owner = 0
        self.release()
