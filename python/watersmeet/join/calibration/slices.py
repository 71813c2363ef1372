"""What a ring of slices does: rows taken in, vectors compared and results given out, in time of the
processor; messages sent and calls made, by the wall clock, since slices that wait take no processor's
time.

Each cost is a difference of two runs that differ in nothing else: a longer window for a pair, longer
vectors for a byte of a row, a bound that all pairs keep for a result, a second slice for what travels, a
row per call for a call, every core at once for what cores take from each other. Rows come in batches that
keep slices busy.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.join.rings.config import RingConfig, checked_ring_config
from watersmeet.join.rings.engine import RingEngine
from watersmeet.vocabulary import Predicate, Stream, band, distance, where

__all__ = ["slice_costs"]

_BYTES: Final = 15_000  # of a vector
_NARROW: Final = _BYTES // 10
_FAR: Final = 84.0  # apart: of random bytes all but the last is looked at
_NONE: Final = 70.0  # no random pair is so near
_WINDOWS: Final = (120, 360)  # rows
_ROWS: Final = 128  # of each stream, that probe full windows
_BATCH: Final = 64
_HOPS: Final = 4_000  # rows whose messages are timed
_CALLS: Final = 400  # with a row each
_MATCHES: Final = 8  # of a row, where results are timed
_INTERLEAVE: Final = 64


def slice_costs(*, repeats: int, seed: int = 0) -> dict[str, float]:
    """Nanoseconds: distance_byte and function_byte of a pair of vectors, row and row_byte of a row's life,
    result and result_byte of giving one out, message for handling one, hop for reaching a slice that rests,
    call for a push, start for having other slices begin. `crowding`: how many times as long a pair takes when
    all cores compare.
    """
    far = distance("v", metric="mean-abs", at_most=_FAR)
    pair_s, wide = _pair_and_row_s(far, repeats, seed)
    narrow = _vectors_s(far, 1, _NARROW, repeats, seed)
    row_byte_s = max(0.0, (wide - narrow) / (_BYTES - _NARROW))
    function_s, _ = _pair_and_row_s(where(_near), repeats, seed)
    return {
        "distance_byte": pair_s / _BYTES * 1e9,
        "function_byte": function_s / _BYTES * 1e9,
        "row": max(0.0, wide - row_byte_s * _BYTES) * 1e9,
        "row_byte": row_byte_s * 1e9,
        "crowding": _crowded_pair_s(far, repeats, seed) / pair_s,
        **_result_ns(repeats, seed),
        **_travel_ns(repeats),
        **_call_ns(repeats),
    }


def _bytes(block: pa.Table) -> Any:
    """The vectors of a block as they lie there: combine_chunks() copies, also a single chunk."""
    column = block.column("v")
    vectors = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    values = np.frombuffer(vectors.buffers()[1], np.uint8)
    width = vectors.type.byte_width
    return values[vectors.offset * width :][: len(vectors) * width].reshape(-1, width)


def _near(left: pa.Table, right: pa.Table) -> Any:
    one, two = _bytes(left), _bytes(right)
    difference = np.maximum(one, two) - np.minimum(one, two)
    return difference.sum(axis=1, dtype=np.uint32) <= 84 * one.shape[1]


def _pair_and_row_s(on: Predicate, repeats: int, seed: int) -> tuple[float, float]:
    """What a pair takes, and a row beside its pairs: the slope and the foot of time over window."""
    best = [np.inf] * len(_WINDOWS)
    for _ in range(repeats):  # in turn, so that what disturbs one disturbs the other
        for at, rows in enumerate(_WINDOWS):
            best[at] = min(best[at], _vectors_s(on, rows, _BYTES, 1, seed))
    few, many = best
    pair_s = (many - few) / (_WINDOWS[1] - _WINDOWS[0])
    return pair_s, max(0.0, few - _WINDOWS[0] * pair_s)


def _crowded_pair_s(on: Predicate, repeats: int, seed: int) -> float:
    """What a pair takes while every core compares vectors of its own."""
    cores = len(os.sched_getaffinity(0))
    together = threading.Barrier(cores)

    def alone(core: int) -> float:
        together.wait()
        return _pair_and_row_s(on, repeats, seed + core)[0]

    with ThreadPoolExecutor(cores) as pool:
        return float(np.mean(list(pool.map(alone, range(cores)))))


def _result_ns(repeats: int, seed: int) -> dict[str, float]:
    """A result, and a byte of its vectors: between bounds that all pairs keep and that none does."""
    each = {}
    for width in (_NARROW, _BYTES):
        all_s, none_s = (
            _vectors_s(distance("v", metric="mean-abs", at_most=bound), _MATCHES, width, repeats, seed)
            for bound in (255.0, _NONE)
        )
        each[width] = max(0.0, all_s - none_s) / _MATCHES
    byte_s = max(0.0, (each[_BYTES] - each[_NARROW]) / (2 * (_BYTES - _NARROW)))
    return {"result": max(0.0, each[_NARROW] - 2 * _NARROW * byte_s) * 1e9, "result_byte": byte_s * 1e9}


def _vectors_s(on: Predicate, window: int, width: int, repeats: int, seed: int) -> float:
    """The time of a row that probes a full window of so many vectors."""
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(2):
        values = rng.integers(0, 256, (window + _ROWS) * width, dtype=np.uint8)
        column = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width), window + _ROWS, [None, pa.py_buffer(values)]
        )
        tables.append(pa.table({"ts": np.arange(window + _ROWS), "v": column}))
    best = np.inf
    for _ in range(repeats):
        engine = _engine(on, window, slices=1, interleave=_INTERLEAVE)
        _pushed(engine, tables, 0, window)
        best = min(best, _pushed(engine, tables, window, window + _ROWS, clock=time.thread_time))
    return float(best) / (2 * _ROWS)


def _travel_ns(repeats: int) -> dict[str, float]:
    """Rows that meet nothing, so that only their messages take time: many at once, and one after the other.

    On a ring of two slices a row's message takes a hop, and its END two. One after the other each waits for a
    slice that rests.
    """
    ends = np.arange(_HOPS)
    tables = [pa.table({"ts": ends, "x": np.full(_HOPS, stream)}) for stream in (0, 10)]
    times = {}
    for slices in (1, 2):
        for interleave in (1, 64):
            best = np.inf
            for _ in range(repeats):
                engine = _engine(band("x", within=1), 1, slices=slices, interleave=interleave)
                best = min(best, _pushed(engine, tables, 0, _HOPS, batch=_HOPS // 2))
            times[slices, interleave] = float(best) / (2 * _HOPS)
    message_s = max(0.0, times[2, 64] - times[1, 64]) / 3
    hop_s = max(0.0, (times[2, 1] - times[1, 1]) / 2 - message_s)
    return {"message": message_s * 1e9, "hop": hop_s * 1e9}


def _call_ns(repeats: int) -> dict[str, float]:
    """A call with one row that meets nothing, and what a second slice adds to it."""
    ends = np.arange(_CALLS)
    tables = [pa.table({"ts": ends, "x": np.full(_CALLS, stream)}) for stream in (0, 10)]
    each = {}
    for slices, batch in ((1, 1), (1, _BATCH), (2, 1)):
        best = np.inf
        for _ in range(repeats):
            engine = _engine(band("x", within=1), 1, slices=slices, interleave=_INTERLEAVE)
            best = min(best, _pushed(engine, tables, 0, _CALLS, batch=batch))
        each[slices, batch] = float(best) / (2 * _CALLS)
    call_s = max(0.0, (each[1, 1] - each[1, _BATCH]) / (1 - 1 / _BATCH))
    return {"call": call_s * 1e9, "start": max(0.0, each[2, 1] - each[1, 1]) * 1e9}


def _engine(on: Predicate, window: int, *, slices: int, interleave: int) -> RingEngine:
    config: RingConfig = checked_ring_config(
        [Stream(name, time="ts", window=f"{window}i") for name in "AB"],
        on=on,
        slices=slices,
        interleave=interleave,
        topology="ring",
        edge="inclusive",
        orderings=None,
    )
    return RingEngine(config)


def _pushed(
    engine: RingEngine,
    tables: list[pa.Table],
    first: int,
    last: int,
    *,
    batch: int = _BATCH,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """How long rows [first, last) of both streams take."""
    began = clock()
    for start in range(first, last, batch):
        for stream, table in enumerate(tables):
            engine.push(stream, table.slice(start, min(batch, last - start)))
    return clock() - began
