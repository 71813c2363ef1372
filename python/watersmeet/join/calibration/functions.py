"""What putting pairs to a user's function takes: making the blocks of candidates and reading the verdicts.

The function itself does next to nothing, and streams have one column of numbers: more columns take longer.
"""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.cost import DirectionLoad, Observation, probe_work
from watersmeet.join.window_join import WindowJoin
from watersmeet.vocabulary import Span, Stream, where

__all__ = ["function_costs"]

_PAIRS: Final = 400_000  # of a timed push
_ROWS: Final = (4, 4_096)  # that probe, at least and at most
_NOISE: Final = 0.1


def function_costs(rows: int, repeats: int) -> tuple[Observation, float]:
    """Timed probes of a window of so many rows, and nanoseconds of a row that meets an empty one."""
    probes = min(max(_PAIRS // rows, _ROWS[0]), _ROWS[1])
    joins = _join(rows), _join(rows)
    joins[0].push("window", _table(np.arange(rows)))
    batch = _table(np.full(probes, rows - 1))
    for join in joins:
        _timed(join, batch)  # whatever is made on first use
    full, empty = ([_timed(join, batch) for _ in range(repeats)] for join in joins)
    load = DirectionLoad(kind="where", probing_rate=1.0, window_rate=0.0, window_rows=rows)
    beyond = tuple(max(each - min(empty), 0.0) / probes for each in sorted(full))
    noise = _NOISE * min(empty) / probes
    ingest_ns = min(empty) / probes
    return Observation("where", "scan", float(rows), probe_work(load, "scan"), beyond, noise), ingest_ns


def _join(rows: int) -> WindowJoin:
    spans = Span(nanoseconds=1_000), Span(nanoseconds=1_000 * rows)
    streams = [Stream(name, window=span) for name, span in zip(("probing", "window"), spans, strict=True)]
    return WindowJoin(*streams, on=where(_refuses), output="rows")


def _refuses(left: Any, right: Any) -> Any:
    return np.zeros(left.num_rows, np.bool_)


def _table(times: Any) -> pa.Table:
    return pa.table({"ts": times.astype(np.int64), "x": times})


def _timed(join: WindowJoin, batch: pa.Table) -> float:
    start = time.thread_time_ns()
    join.push("probing", batch)
    return float(time.thread_time_ns() - start)
