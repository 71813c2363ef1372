"""What the engines of joins of several streams share: each call becomes moves, made whole or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.errors import WatersmeetError
from watersmeet.join.columns.payload import Rows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.timing.pace import Pace, Paced
from watersmeet.join.timing.sources import Moves, Sources

__all__ = ["SeveralStreams"]

NO_ROWS: Final = np.empty(0, np.int64)
Found = Sequence[Rows]


class SeveralStreams(Paced, ABC):
    """Promises, polls and ends of streams; an engine adds batches, its core and its tables."""

    sources: Sources
    pace: Pace
    is_finished: bool

    def advance(self, stream: int, to: Any) -> pa.Table:
        """Take a promise and give the results that it releases."""
        self._refuse_if_finished("advance")
        self.sources.refuse_if_ended(stream, "advance")
        to_ns = self.sources.moment(stream, to)
        return self._timed(lambda: self._make(self.sources.promised(stream, to_ns)), bringing=stream)

    def poll(self, at: float | None) -> pa.Table:
        """Give what the passing of time releases."""
        if self.is_finished:
            return self._empty()
        return self._timed(lambda: self._make(self.sources.waited()), at=at)

    def finish(self, stream: int | None = None) -> pa.Table:
        """One stream has ended, or all have: then nothing can be pushed afterwards."""
        if self.is_finished:
            return self._empty()
        if stream is not None:
            ended = stream
            return self._timed(lambda: self._make(self.sources.ended(ended)))
        out = self._timed(lambda: self._make(self.sources.all_ended()))
        self.is_finished = True
        return out

    @property
    def schemas(self) -> list[StreamSchema | None]:
        """The streams' schemas, None for those that are not known yet."""
        return self.sources.schemas

    @property
    def pushed(self) -> list[int]:
        """Rows of each stream so far."""
        return [state.rows for state in self.sources.states]

    def _timed(
        self, call: Callable[[], Found | None], *, at: float | None = None, bringing: int | None = None
    ) -> pa.Table:
        try:
            self.pace.begin(self, at, bringing)
            rows = call()
        except BaseException:
            self.pace.undo(self)
            raise
        self.pace.end(self, rows or [NO_ROWS] * len(self.schemas))
        return self._released(rows)

    def _refuse_if_finished(self, call: str) -> None:
        if self.is_finished:
            raise WatersmeetError(f"{call}() after finish(): this join has ended")

    @abstractmethod
    def _make(self, moves: Moves) -> Found | None: ...

    @abstractmethod
    def _released(self, found: Any) -> pa.Table: ...

    @abstractmethod
    def _empty(self) -> pa.Table: ...
