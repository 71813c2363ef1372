"""Two streams of equal keys, joined on the engine with each of the four combinations, timed and checked.

Rows come evenly spaced, keys are uniform, the seed is fixed. Time is the processor time of the pushing thread
for all rows, in pushes that cover the same stretch of stream time on both sides. The answer is counted by
sorting, and every run must find as many pairs.
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import watersmeet as wm

__all__ = ["COMBINATIONS", "Cell", "run"]

COMBINATIONS = (("hash", "hash"), ("hash", "scan"), ("scan", "hash"), ("scan", "scan"))
_PUSH_ROWS = 2_048  # of the faster stream, at most; and no more than a quarter of its window


@dataclass(frozen=True, slots=True)
class Cell:
    """Rates in rows per second, windows in seconds, different keys, and rows of both streams together."""

    rates: tuple[float, float]
    windows: tuple[float, float]
    keys: int
    rows: int
    seed: int = 0

    @property
    def seconds(self) -> float:
        return self.rows / sum(self.rates)

    @property
    def window_rows(self) -> tuple[float, float]:
        """Rows of each window when it is full."""
        return self.rates[0] * self.windows[0], self.rates[1] * self.windows[1]


@functools.lru_cache(maxsize=2)
def _streams(cell: Cell) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    random = np.random.default_rng(cell.seed)
    batches = []
    for rate in cell.rates:
        count = max(1, int(rate * cell.seconds))
        times = (np.arange(count) * (1e6 / rate)).astype(np.int64)
        keys = random.integers(0, cell.keys, count)
        batches.append(pa.record_batch({"ts": times, "key": keys}))
    return batches[0], batches[1]


@functools.lru_cache(maxsize=2)
def expected_pairs(cell: Cell) -> int:
    """The number of pairs, by sorting: for each row of the first stream, rows of its key in its range."""
    first, second = ((b["ts"].to_numpy(), b["key"].to_numpy()) for b in _streams(cell))
    low, high = (round(window * 1e6) for window in (cell.windows[1], cell.windows[0]))
    stride = np.int64(max(first[0][-1], second[0][-1]) + low + high + 2)
    placed = np.sort(second[1] * stride + second[0])
    return int(_upto(placed, first, stride, high, "right") - _upto(placed, first, stride, -low, "left"))


def _upto(
    placed: npt.NDArray[np.int64],
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    stride: np.int64,
    shift: int,
    side: str,
) -> int:
    times = np.clip(rows[0] + shift, 0 if side == "left" else -1, stride - 1)
    return int(np.searchsorted(placed, rows[1] * stride + times, side=side).sum())  # type: ignore[call-overload]


def run(cell: Cell, index: tuple[str, str] | str) -> float:
    """Seconds of processor time for all rows of the cell."""
    first, second = _streams(cell)
    join = wm.WindowJoin(
        wm.Stream("a", window=cell.windows[0]),
        wm.Stream("b", window=cell.windows[1]),
        on=wm.equal("key"),
        index=index,
        output="rows",
    )
    pushes = _pushes(first, second, cell)
    found, start = 0, time.thread_time()
    for stream, batch in pushes:
        found += join.push(stream, batch).num_rows
    taken = time.thread_time() - start
    found += join.finish().num_rows
    if found != expected_pairs(cell):
        raise AssertionError(f"{cell} {index}: found {found} pairs, expected {expected_pairs(cell)}")
    return taken


def _pushes(first: pa.RecordBatch, second: pa.RecordBatch, cell: Cell) -> list[tuple[str, pa.RecordBatch]]:
    rows = max(1, min(_PUSH_ROWS, int(max(cell.window_rows)) // 4))
    count = max(1, max(first.num_rows, second.num_rows) // rows)
    # By time: by shares of the rows a stream of few would drift away from the other by up to one of them.
    times = [batch["ts"].to_numpy() for batch in (first, second)]
    ends = np.linspace(0, max(own[-1] for own in times) + 1, count + 1)
    pushes = []
    for at in range(count):
        for name, batch, own in zip("ab", (first, second), times, strict=True):
            start, end = np.searchsorted(own, ends[at : at + 2]).tolist()
            pushes.append((name, batch.slice(start, end - start)))
    return pushes
