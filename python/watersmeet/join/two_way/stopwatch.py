"""How long a join has run: processor time per row of each stream, and stream time since its first row."""

from __future__ import annotations

import time
from typing import Final

import pyarrow as pa

from watersmeet.vocabulary import Metrics

__all__ = ["Stopwatch"]

_ONE_IN: Final = 16  # pushes that are timed: reading the clock costs as much as pushing a small batch


class Stopwatch:
    """Processor time of this thread that a sample of the pushes took, and where stream time began."""

    def __init__(self) -> None:
        self._pushes = [0, 0]
        self._timed_rows = [0, 0]
        self._timed_s = [0.0, 0.0]
        self.first_ns: int | None = None

    def start(self, side: int) -> float | None:
        """A push of this stream begins; None if it is not to be timed."""
        pushes = self._pushes[side]
        self._pushes[side] = pushes + 1
        return None if pushes % _ONE_IN else time.thread_time()

    def stop(self, side: int, started: float, *, batch: pa.RecordBatch, step_ns: int) -> None:
        """The push of a batch that was to be timed has ended; its first column counts steps of `step_ns`."""
        self._timed_s[side] += time.thread_time() - started
        self._timed_rows[side] += batch.num_rows
        if self.first_ns is None:
            first = batch.column(0)[0]
            steps = first.value if isinstance(first, pa.TimestampScalar) else first.as_py()
            self.first_ns = None if steps is None else steps * step_ns

    def row_s(self, side: int) -> float | None:
        """Processor time per row of the stream, on average; None before any was timed."""
        rows = self._timed_rows[side]
        return self._timed_s[side] / rows if rows else None

    def streams_s(self, metrics: Metrics, unit_ns: int) -> tuple[float, float]:
        """Seconds of stream time from the first row pushed to each stream's watermark."""
        begin_ns = self.first_ns
        if begin_ns is None:
            return 0.0, 0.0
        left, right = (
            0.0 if stream.watermark is None else max(0, stream.watermark * unit_ns - begin_ns) * 1e-9
            for stream in metrics.streams
        )
        return left, right
