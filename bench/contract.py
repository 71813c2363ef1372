"""What one engine file of `bench/scenarios/<workload>/` offers, and what it hands its results to.

An engine file holds one name, `ENGINE`. Nothing in it imports the engine at the top: the runner reads every
file to know what there is, and only the worker process of one measurement loads the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.workloads import Case

__all__ = ["MASK", "Engine", "Job", "Measured", "Rows", "Sink", "UnavailableError", "Variant", "checksum"]

MASK = (1 << 64) - 1

# One odd multiplier per stream; `scenarios/loop.h` holds the same ones.
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
_CHUNK = 1 << 20

Rows = NDArray[np.int64]


class UnavailableError(Exception):
    """This engine cannot run here; the message says how to make it run."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run cost and what it answered. `cpu` is user + system time of all its threads."""

    wall: float
    cpu: float
    count: int
    checksum: int | None = None


class Sink(Protocol):
    """Takes results as they come: row numbers, one array per stream."""

    def rows(self, *rows: Rows) -> None:
        """Takes result rows as NumPy arrays."""

    def table(self, table: Any) -> None:
        """Takes an Arrow table whose columns are row numbers, in stream order."""

    def counted(self, count: int) -> None:
        """Takes results of which only the number is known."""


# Runs the join once, from prepared input into the sink. A job that times itself (a C++ loop) gives its own
# figures.
Job = Callable[[Sink], Measured | None]


@dataclass(frozen=True, slots=True)
class Variant:
    """One line of the table: an engine in one configuration, on the workload's case or on a smaller one."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    resize: Mapping[str, int] = field(default_factory=dict)  # keyword arguments of Case.resized
    scale: float = 1.0  # of the workload's stream
    repeats: int | None = None  # at most so many timed runs
    checks: bool = True  # False: the engine gives no row numbers, only its count is checked
    rehearsed: bool = False  # the whole job once before, untimed, in the same process
    default: bool = True  # False: only run when asked for with --all

    def case(self, case: Case) -> Case:
        return case.scaled(self.scale).resized(**self.resize)


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine on one workload. `prepare(case, options)` loads the input and gives the job to time."""

    kind: str  # "streaming" | "batch" | "loop"
    prepare: Callable[[Case, Mapping[str, Any]], Job]
    variants: tuple[Variant, ...]
    needs: str | None = None  # the peer of peers.py it needs
    warm: bool = True  # a run on a short prefix first, so that imports and lazy set-up are not timed
    pinned: bool = True  # to one core
    note: str = ""


def checksum(*rows: Rows) -> int:
    """A sum over results of a 64-bit hash of their row numbers: the same in any order, in C++ too."""
    total = 0
    for start in range(0, len(rows[0]), _CHUNK):
        mixed = np.zeros(len(rows[0][start : start + _CHUNK]), dtype=np.uint64)
        for column, multiplier in zip(rows, _MULTIPLIERS, strict=False):
            mixed += column[start : start + _CHUNK].astype(np.uint64) * np.uint64(multiplier)
        mixed ^= mixed >> np.uint64(31)
        mixed *= np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(29)
        total += int(mixed.sum(dtype=np.uint64))
    return total & MASK
