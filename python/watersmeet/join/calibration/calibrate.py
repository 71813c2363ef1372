"""Measuring this machine's unit costs: small joins of the core, timed by the processor time they take.

A right window is filled, renewed again and again and probed by left rows, for each structure, shape and size.
Renewing is compared with a scanned window, probing with probing an empty window, so that what is left is the
structure's own. Filling is not timed: a join fills its windows once, while they grow. Each probe comes a
little later than the one before and meets other rows, as in a join: a processor that meets the same rows
again and again soon foresees every match. The meaning of the timings is settled in
watersmeet.cost.calibration.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet._core import _native
from watersmeet.cost import (
    BASELINES,
    STRUCTURES,
    Calibration,
    DirectionLoad,
    Kind,
    Observation,
    Structure,
    Work,
    probe_work,
)
from watersmeet.errors import ConfigError
from watersmeet.join.calibration.cache import write_calibration
from watersmeet.join.calibration.functions import function_costs
from watersmeet.join.calibration.inputs import SHAPES, Shape
from watersmeet.join.calibration.slices import slice_costs

__all__ = ["Progress", "calibrate"]

Progress = Callable[[int, int, str], None]

# Scans work on blocks of 64 rows: half a block more is the average. Sets take so much more room per row that
# a smaller window is as far from the processor.
_SIZES: Final = (8, 96, 352, 1_056, 16_416, 262_176)
_LARGEST_OF_SETS: Final = 65_568
_SIZES_OF_VECTORS: Final = (96, 1_056)
_LARGEST_OF_FUNCTIONS: Final = 16_416
_REPEATS: Final = 5
_BATCH_ROWS: Final = 4_096
_SHORTEST_NS: Final = 1_000_000  # of a timed run, so that the clock's grain does not matter
_UPKEEP_ROWS: Final = 65_536  # at least, to be renewed in a timed run; of sets, which take longer, a quarter
_MOST_PROBES: Final = 16_384
_FEWEST_PROBES: Final = 4
_STEPS: Final = 16  # of a timed run: the probes come in so many batches, and window rows between them
_MOST_RENEWED: Final = 16_384  # window rows, in all these steps
_NOISE: Final = 0.1  # by which two runs that do the same may differ: caches, where memory lies


def calibrate(
    *,
    progress: Progress | None = None,
    sizes: tuple[int, ...] = _SIZES,
    repeats: int = _REPEATS,
    seed: int = 0,
    cache: bool = True,
) -> Calibration:
    """Measure what each structure of the core costs here, and keep it for index="auto".

    progress   called with (steps done, steps, what is measured now)
    sizes      rows of the windows measured
    repeats    of every timed run; the spread is over these
    cache      write the result to the user's cache folder
    """
    if not sizes or min(sizes) < 1:
        raise ConfigError(f"calibrate(sizes)={sizes!r}: expected at least one number of rows, above 0")
    if repeats < 1:
        raise ConfigError(f"calibrate(repeats)={repeats!r}: expected at least 1")
    steps = [
        (shape, structure, rows)
        for shape in SHAPES
        for rows in sorted({_size(shape, rows) for rows in sizes})
        for structure in (*STRUCTURES[shape.kind], *BASELINES.get(shape.kind, ()))
    ]
    observations: list[Observation] = []
    ingest: dict[Kind, list[float]] = {}
    kept_up: set[tuple[Kind, Structure, int]] = set()
    for done, (shape, structure, rows) in enumerate(steps):
        if progress is not None:
            progress(done, len(steps), f"{shape.kind}, {structure}, {rows:,} rows")
        bench = _Bench(shape, rows, seed)
        observations.append(_probing(bench, structure, repeats))
        if structure != "scan" and (shape.kind, structure, rows) not in kept_up:
            kept_up.add((shape.kind, structure, rows))
            observations += _keeping_up(bench, structure, repeats)
        if structure == "scan":
            ingest.setdefault(shape.kind, []).append(bench.ingest_ns())
    for rows in sorted({min(rows, _LARGEST_OF_FUNCTIONS) for rows in sizes}):
        observed, ingest_ns = function_costs(rows, repeats)
        observations.append(observed)
        ingest.setdefault("where", []).append(ingest_ns)
    if progress is not None:
        progress(len(steps), len(steps), "done")
    calibration = Calibration.from_observations(
        observations,
        ingest={kind: float(np.median(found)) for kind, found in ingest.items()},
        slices=slice_costs(repeats=repeats, seed=seed),
        machine={
            "processor": _processor(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
    )
    if cache:
        write_calibration(calibration)
    return calibration


def _size(shape: Shape, rows: int) -> int:
    if shape.kind.startswith("distance/"):
        return _SIZES_OF_VECTORS[rows > _SIZES_OF_VECTORS[0]]
    return min(rows, _LARGEST_OF_SETS) if shape.kind in ("overlap", "weighted") else rows


@dataclass(frozen=True, slots=True)
class _Bench:
    """A window of one shape and size, and the timed things that can be done with it."""

    shape: Shape
    rows: int
    seed: int

    def join(self, structure: Structure) -> Any:
        index, _, merge = structure.partition("/")
        options = self.shape.term(self.rows)
        columns = (2, 2) if self.shape.kind == "weighted" else (1, 1)
        terms = [_native.Term(columns=columns, label=self.shape.name, **options)] if options else []
        streams = (
            _native.StreamConfig("probing", time_column="ts", index="scan"),
            _native.StreamConfig("window", time_column="ts", index=index, merge=merge or "auto"),
        )
        return _native.Join(terms, streams, lower=-self.rows, upper=0)

    def filling(self, salt: int, *, start: int = 0, rows: int | None = None) -> list[pa.RecordBatch]:
        return _filling(self.shape, (self.seed, salt), start, self.rows if rows is None else rows)

    def probing(self, count: int, *, first: int, last: int) -> list[pa.RecordBatch]:
        times = first + np.arange(count) * (last - first + 1) // count
        return _batches(times, _probing_columns(self.shape, (self.seed, 3, first), count, self.rows))

    def ingest_ns(self) -> float:
        """Nanoseconds per row of probing an empty window."""
        return _Probed(self, None).timed(_MOST_PROBES) / _MOST_PROBES


class _Probed:
    """A window that is probed, and slides on between the probes; with no structure it stays empty."""

    def __init__(self, bench: _Bench, structure: Structure | None) -> None:
        self._bench, self._is_empty = bench, structure is None
        self.join = bench.join(structure or "scan")
        self._end = bench.rows  # the time of the window's next row
        self._runs = 0
        if structure is not None:
            _push(self.join, 1, bench.filling(1))
        self.timed(_FEWEST_PROBES)  # whatever is made on first use

    def timed(self, probes: int) -> float:
        """Nanoseconds that so many probes take."""
        bench, self._runs = self._bench, self._runs + 1
        steps = min(_STEPS, probes)
        renewed = min(bench.rows, _MOST_RENEWED)
        rows = bench.filling(3 + self._runs, start=self._end, rows=renewed)
        window = pa.Table.from_batches(rows).combine_chunks().to_batches()[0]
        taken = 0.0
        for step in range(steps):
            begin, end = (renewed * edge // steps for edge in (step, step + 1))
            if end > begin and not self._is_empty:
                self.join.push(1, window.slice(begin, end - begin))
            # The window's stream promises that its rows to come are newer than any probe. Probing rows then
            # leave their own window at once, whether the other is full or empty: both pay for that alike.
            self.join.advance(1, self._end + end)
            count = probes * (step + 1) // steps - probes * step // steps
            first, last = self._end + min(begin, end - 1), self._end + end - 1
            taken += _timed(partial(_push, self.join, 0, bench.probing(count, first=first, last=last)))
        self._end += renewed
        return taken


class _Renewed:
    """A full window of which the oldest rows go as new ones come; nobody probes it."""

    def __init__(self, bench: _Bench, structure: Structure) -> None:
        least = _UPKEEP_ROWS // 4 if bench.shape.kind in ("overlap", "weighted") else _UPKEEP_ROWS
        self.rows = max(bench.rows, least)
        self._bench, self._end = bench, bench.rows
        self._join = bench.join(structure)
        _push(self._join, 1, bench.filling(1))
        self.timed()  # whatever grows to its size

    def timed(self) -> tuple[float, float]:
        """Nanoseconds that so many rows take to come, and as many to go."""
        coming = going = 0.0
        for batch in self._bench.filling(2, start=self._end, rows=self.rows):
            coming += _timed(partial(self._join.push, 1, batch))
            going += _timed(partial(self._join.advance, 0, batch.column(0)[-1].as_py()))
        self._end += self.rows
        return coming, going


@lru_cache(maxsize=8)
def _filling(shape: Shape, seed: tuple[int, int], start: int, rows: int) -> list[pa.RecordBatch]:
    return _batches(np.arange(start, start + rows), shape.fill(np.random.default_rng(seed), rows))


@lru_cache(maxsize=2 * _STEPS)
def _probing_columns(shape: Shape, seed: tuple[int, ...], count: int, rows: int) -> list[pa.Array]:
    return shape.probe(np.random.default_rng(seed), count, rows)


def _probing(bench: _Bench, structure: Structure, repeats: int) -> Observation:
    """Timed probes of a full window, less those of an empty one."""
    probed, nothing = _Probed(bench, structure), _Probed(bench, None)
    probes = _enough_probes(probed)
    found, full, empty = probed.join.statistics()["results"], [], []
    for _ in range(repeats):
        empty.append(nothing.timed(probes))
        full.append(probed.timed(probes))
    matches = (probed.join.statistics()["results"] - found) / (repeats * probes)
    work = probe_work(_load(bench, matches), structure)
    noise = _NOISE * min(empty) / probes
    return Observation(*_key(bench, structure), work, _beyond(full, empty, probes), noise)


def _keeping_up(bench: _Bench, structure: Structure, repeats: int) -> list[Observation]:
    """What inserting and expiring take beyond what they take in a scanned window, once the window is full."""
    own, plain = _Renewed(bench, structure), _Renewed(bench, "scan")
    taken = [(own.timed(), plain.timed()) for _ in range(repeats)]
    key, rows = _key(bench, structure), own.rows
    noise = _NOISE * min(sum(without) for _, without in taken) / rows
    return [
        Observation(
            *key, work, _beyond([with_it[at] for with_it, _ in taken], [p[at] for _, p in taken], rows), noise
        )
        for at, work in enumerate((Work(insert=1.0), Work(expire=1.0)))
    ]


def _key(bench: _Bench, structure: Structure) -> tuple[Kind, Structure, float]:
    return bench.shape.kind, structure, float(bench.rows)


def _beyond(taken: list[float], plain: list[float], count: int) -> tuple[float, ...]:
    """Nanoseconds per operation beyond the least that the plain runs took, least first."""
    return tuple(max(each - min(plain), 0.0) / count for each in sorted(taken))


def _push(join: Any, stream: int, batches: list[pa.RecordBatch]) -> None:
    for batch in batches:
        join.push(stream, batch)


def _enough_probes(probed: _Probed) -> int:
    """How many probes take long enough to be timed."""
    probes = _FEWEST_PROBES
    while probes < _MOST_PROBES:
        taken = probed.timed(probes)
        if taken >= _SHORTEST_NS / 4:
            return min(_MOST_PROBES, probes * max(1, round(_SHORTEST_NS / taken)))
        probes *= 8
    return _MOST_PROBES


def _load(bench: _Bench, matches: float) -> DirectionLoad:
    if bench.shape.kind not in ("overlap", "weighted"):
        return _direction(bench, matches, items=bench.shape.words, entries=None)
    window = np.concatenate([batch.column(1).flatten().to_numpy() for batch in bench.filling(1)])
    rows = bench.probing(1_024, first=bench.rows - 1, last=bench.rows - 1)
    asked = np.concatenate([batch.column(1).flatten().to_numpy() for batch in rows])
    probes = sum(batch.num_rows for batch in rows)
    counts = np.bincount(window, minlength=int(max(window.max(), asked.max())) + 1)
    return _direction(bench, matches, items=len(asked) / probes, entries=float(counts[asked].sum()) / probes)


def _direction(bench: _Bench, matches: float, *, items: float, entries: float | None) -> DirectionLoad:
    return DirectionLoad(
        kind=bench.shape.kind,
        probing_rate=1.0,
        window_rate=0.0,
        window_rows=bench.rows,
        matches=matches,
        items=items,
        entries=entries,
    )


def _timed(run: Callable[[], None]) -> float:
    """Nanoseconds of processor time of this thread: others on the machine cost it nothing."""
    start = time.thread_time_ns()
    run()
    return float(time.thread_time_ns() - start)


def _batches(times: np.ndarray[Any, np.dtype[np.int64]], columns: list[pa.Array]) -> list[pa.RecordBatch]:
    names = ["ts", *(f"column{at}" for at in range(len(columns)))]
    whole = pa.RecordBatch.from_arrays([pa.array(times.astype(np.int64)), *columns], names=names)
    return [whole.slice(start, _BATCH_ROWS) for start in range(0, len(times), _BATCH_ROWS)]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
