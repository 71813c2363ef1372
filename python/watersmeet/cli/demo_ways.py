"""The three joins of the demo, fed side by side: what each has found so far, and its course."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.cli.demo_report import Outcome, Sample
from watersmeet.vocabulary import Span

__all__ = ["Way", "due_pairs", "in_turn"]


@dataclass(slots=True)
class Way:
    """One way of running the join. `sample`: result rows to keep for show."""

    name: str
    join: Any
    sample: int
    rows: int = 0
    results: int = 0
    join_s: float = 0.0
    kept: list[pa.Table] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def push(self, stream: str, batch: pa.RecordBatch) -> None:
        """Join a batch."""
        self.rows += batch.num_rows
        self._take(lambda: self.join.push(stream, batch))

    def finish(self) -> None:
        """There is no more."""
        self._take(self.join.finish)

    def look(self, stream_s: float) -> None:
        """Note how things stand after so many seconds of news."""
        self.samples.append(Sample.of(self.join.metrics, stream_s=stream_s))

    def outcome(self) -> Outcome:
        """How things stand."""
        shown = pa.concat_tables(self.kept).slice(0, self.sample) if self.kept else pa.table({})
        metrics = self.join.metrics
        return Outcome(self.name, self.rows, self.results, self.join_s, shown, tuple(self.samples), metrics)

    def _take(self, call: Callable[[], pa.Table]) -> None:
        begin = time.perf_counter()
        out = call()
        self.join_s += time.perf_counter() - begin
        self.results += out.num_rows
        if out.num_rows and sum(table.num_rows for table in self.kept) < self.sample:
            self.kept.append(out.slice(0, self.sample))


def in_turn(
    streams: Mapping[str, pa.Table], *, step: int
) -> Iterator[tuple[float, list[tuple[str, pa.RecordBatch]]]]:
    """Batches of the streams side by side, as they would arrive, with the seconds of news until their end."""
    first = min(table["ts"][0].value for table in streams.values())
    for start in range(0, max(table.num_rows for table in streams.values()), step):
        parts = {name: table.slice(start, step).combine_chunks() for name, table in streams.items()}
        newest = max(part["ts"][-1].value for part in parts.values() if part.num_rows)
        batches = [(name, batch) for name, part in parts.items() for batch in part.to_batches()]
        yield (newest - first) * 1e-6, batches


def due_pairs(streams: Iterable[pa.Table], *, window: Span) -> float:
    """How many pairs of stories the join without limit is about."""
    left, right = (np.asarray(table["ts"].cast(pa.int64())) for table in streams)
    if window.is_rows:
        return float(window.amount * (left.size + right.size))
    span = window.amount // 1_000  # the times are microseconds
    first, last = np.searchsorted(right, left - span, "left"), np.searchsorted(right, left + span, "right")
    return float((last - first).sum())
