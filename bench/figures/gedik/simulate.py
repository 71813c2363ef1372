"""Joins in stream time as the figures need them: results per second, fractions over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import watersmeet as wm
from watersmeet.testing import CellTrace, cell_trace, gedik_streams, result_seconds

__all__ = ["CAPACITY", "Run", "simulate", "streams", "trace_of"]

CAPACITY = 200_000.0  # comparisons per second: SPEC V6
Streams = tuple[pa.Table, pa.Table]


@dataclass(frozen=True)
class Run:
    """Results by second, and the control periods."""

    pairs: pa.Table
    at_s: npt.NDArray[np.float64]
    periods: list[Any]
    join: wm.WindowJoin

    def results(self, start_s: float, stop_s: float) -> float:
        """Results per second between two times."""
        return float(((self.at_s >= start_s) & (self.at_s < stop_s)).sum()) / (stop_s - start_s)

    def decided(self, start_s: float, stop_s: float) -> float:
        """The share of the pairs due between two times that were decided."""
        inside = [p["directions"] for p in self.periods if start_s <= p["begin_s"] < stop_s]
        made, due = (
            sum(float(np.sum(way[name])) for ways in inside for way in ways)
            for name in ("comparisons", "due")
        )
        return made / due

    def fractions(self, window: int) -> list[tuple[float, float]]:
        """(time, fraction) of a window at every control time; it is probed by the other stream."""
        return [(p["begin_s"] + p["elapsed_s"], p["plans"][1 - window][1][0]) for p in self.periods]

    def fraction(self, window: int, start_s: float, stop_s: float) -> float:
        """The mean fraction of a window between two times."""
        return float(np.mean([r for at_s, r in self.fractions(window) if start_s <= at_s < stop_s]))


@lru_cache(maxsize=4)
def streams(seed: int, kappa: float, profile: tuple[tuple[float, float], ...], **settings: Any) -> Streams:
    """The streams of [Gedik] VI with this profile of (seconds, rate)."""
    return gedik_streams(seed, kappa, profile=profile, **settings)


def simulate(
    given: Streams,
    shed: wm.Shed | None,
    *,
    windows_s: tuple[float, float] = (20.0, 20.0),
    on: Any = None,
    basic_window_s: float | None = 1.0,
    index: str = "scan",
    merge: str = "auto",
    type_column: str | None = None,
    seed: int = 1,
    rows: int = 2000,
) -> Run:
    """Run one join over both streams."""
    left, right = given
    join = wm.WindowJoin(
        *(wm.Stream(name, window=w, type=type_column) for name, w in zip("ab", windows_s, strict=True)),
        on=wm.overlap("items", at_least=3) if on is None else on,
        basic_window=basic_window_s,
        shed=shed,
        index=index,  # type: ignore[arg-type]
        merge=merge,  # type: ignore[arg-type]
        output="rows",
        seed=seed,
    )
    outs = [join.push("a", left.slice(0, 0)), join.push("b", right.slice(0, 0))]
    core = join._engine.setup.core
    periods: list[Any] = []
    if hasattr(core, "history"):
        core.history = periods
    for start in range(0, max(left.num_rows, right.num_rows), rows):
        outs += [join.push("a", left.slice(start, rows)), join.push("b", right.slice(start, rows))]
    outs.append(join.finish())
    pairs = pa.concat_tables(outs)
    return Run(pairs, result_seconds(left, right, pairs), periods, join)


def trace_of(
    given: Streams,
    *,
    windows_s: tuple[float, float] = (20.0, 20.0),
    basic_window_s: float = 1.0,
    at_least: int = 3,
) -> CellTrace:
    """All cells of the full join."""
    on = wm.overlap("items", at_least=at_least)
    full = simulate(given, None, windows_s=windows_s, on=on, index="inverted")
    return cell_trace(*given, pairs=full.pairs, windows_s=windows_s, basic_window_s=basic_window_s)


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of nothing."""
    return float(np.mean(values)) if values else 0.0
