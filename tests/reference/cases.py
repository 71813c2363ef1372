"""Random joins: streams, predicate, windows, options and a schedule of calls, all drawn from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from tests.reference.lateness import Admission, admit
from tests.reference.predicates import FAMILIES, JoinColumns, draw_columns

__all__ = ["Advance", "Case", "Push", "Step", "draw_case"]

Rng = np.random.Generator
Side = Literal["left", "right"]
HOWS = ("inner", "left", "right", "full", "semi", "anti")
UNITS = ("s", "ms", "us", "ns")
_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclass(frozen=True, slots=True)
class Push:
    """Push rows [begin, end) of a side."""

    side: Side
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Advance:
    """Promise that nothing older than `to` (in the side's own unit) will come."""

    side: Side
    to: int


Step = Push | Advance


@dataclass(frozen=True, slots=True)
class Case:
    """One random join. `lateness` is in nanoseconds per side, None for a stream that must be in order."""

    seed: int
    family: str
    left: pa.Table
    right: pa.Table
    on: Any
    how: str
    bounds: dict[str, Any]
    time_unit: str
    lateness: tuple[int | None, int | None]
    options: dict[str, Any]
    live_options: dict[str, Any]
    steps: tuple[Step, ...]
    admissions: tuple[Admission, Admission] = field(repr=False)

    @property
    def windows(self) -> tuple[Any, Any]:
        """The window of each side, None when the bounds are given by between=."""
        window = self.bounds.get("window")
        return tuple(window) if isinstance(window, tuple) else (window, window)

    def table(self, side: Side) -> pa.Table:
        """The rows of a side in order of arrival."""
        return self.left if side == "left" else self.right

    def describe(self) -> str:
        """Everything needed to see what the case does."""
        return (
            f"seed={self.seed} family={self.family} on={self.on} how={self.how} {self.bounds}"
            f" unit={self.time_unit} lateness={self.lateness} {self.options} {self.live_options}"
            f"\nleft ({self.left.schema}) {self.left.to_pylist()}"
            f"\nright ({self.right.schema}) {self.right.to_pylist()}\nsteps {self.steps}"
        )


def draw_case(seed: int, *, family: str | None = None, how: str | None = None, live: bool = True) -> Case:
    """The case that belongs to a seed; `live` cases may have disorder and lateness."""
    rng = np.random.Generator(np.random.PCG64(seed))
    chosen = family or list(FAMILIES)[int(rng.integers(len(FAMILIES)))]
    rows = (_row_count(rng), _row_count(rng))
    columns = draw_columns(rng, chosen, rows)
    span = int(rng.choice([1, 4, 12, 40, 120]))
    kinds, unit = _time_kinds(rng)
    ratio = _NS[_unit_of(kinds[0], unit)], _NS[_unit_of(kinds[1], unit)]
    tick = max(ratio)
    start = int(rng.choice([0, 0, -20, 1_700_000_000]))
    null_share = float(rng.choice([0.0, 0.0, 0.0, 0.08]))
    lateness = _lateness(rng, span, tick) if live and rng.random() < 0.3 else (None, None)
    tables = []
    for side in (0, 1):
        times = _times(rng, rows[side], span=span, start=start, fine=tick // ratio[side])
        if lateness[side] is not None:
            times = _delayed(rng, times, reach=span * (tick // ratio[side]) // 3 + 1)
        column = _nulls(pa.array(times, pa.int64()), rng, null_share).cast(kinds[side])
        payload = np.arange(rows[side]) * (1 if side == 0 else -1)
        tables.append(
            pa.table({"ts": column, **(columns.left if side == 0 else columns.right), "row": payload})
        )
    steps = tuple(_schedule(rng, tables, lateness))
    return Case(
        seed=seed,
        family=chosen,
        left=tables[0],
        right=tables[1],
        on=columns.on,
        how=how or str(rng.choice(HOWS, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])),
        bounds=_bounds(rng, span, min(ratio), tick),
        time_unit=unit,
        lateness=lateness,
        options=_options(rng, columns),
        live_options=_live_options(rng, span, tick),
        steps=steps,
        admissions=(
            _admission(tables[0], steps, "left", lateness[0], ratio[0]),
            _admission(tables[1], steps, "right", lateness[1], ratio[1]),
        ),
    )


# --- parts ----------------------------------------------------------------------------------------


def _row_count(rng: Rng) -> int:
    return int(rng.choice([0, 1, 5, 12, 20, 35, 60], p=[0.04, 0.06, 0.2, 0.25, 0.25, 0.15, 0.05]))


def _time_kinds(rng: Rng) -> tuple[tuple[pa.DataType, pa.DataType], str]:
    """Types of both time columns (both integers, or both timestamps), and time_unit= for integers."""
    unit = str(rng.choice(UNITS))
    if rng.random() < 0.5:
        return (pa.int64(), pa.int64()), unit
    if rng.random() < 0.7:
        return (pa.timestamp(unit), pa.timestamp(unit)), "us"
    other = str(rng.choice(UNITS))
    zones = ("UTC", "Europe/Berlin") if rng.random() < 0.5 else (None, None)
    return (pa.timestamp(unit, zones[0]), pa.timestamp(other, zones[1])), "us"


def _unit_of(kind: pa.DataType, time_unit: str) -> str:
    return str(kind.unit) if pa.types.is_timestamp(kind) else time_unit


def _times(rng: Rng, rows: int, *, span: int, start: int, fine: int) -> np.ndarray[Any, Any]:
    """Sorted times in a unit that divides the case's tick into `fine` parts; half of them on a whole tick."""
    ticks = np.sort(rng.integers(start, start + span, rows)) * fine
    parts = rng.integers(0, 4, rows) * (fine // 4) * (rng.random(rows) < 0.5)
    return np.sort(ticks + parts)


def _delayed(rng: Rng, times: np.ndarray[Any, Any], *, reach: int) -> np.ndarray[Any, Any]:
    return times[np.argsort(times + rng.integers(0, reach + 1, len(times)), kind="stable")]


def _lateness(rng: Rng, span: int, tick: int) -> tuple[int | None, int | None]:
    drawn = [int(rng.choice([0, span // 6, span // 3 + 1, span])) * tick for _ in range(2)]
    keep = rng.random(2) < 0.75
    return (drawn[0] if keep[0] else None, drawn[1] if keep[1] else None)


def _nulls(values: pa.Array, rng: Rng, share: float) -> pa.Array:
    if share <= 0:
        return values
    return values.take(pa.array(np.arange(len(values)), mask=rng.random(len(values)) < share))


def _bounds(rng: Rng, span: int, fine_ns: int, tick_ns: int) -> dict[str, Any]:
    """window= or between= in nanoseconds or rows; from nothing to more than the whole stream."""

    def time(reach: int) -> str:
        amount = int(rng.integers(0, reach + 1)) * tick_ns
        if rng.random() < 0.2:
            amount += int(rng.integers(0, 4)) * fine_ns + int(rng.integers(0, 2))
        return f"{amount}ns"

    def count() -> str:
        return f"{int(rng.integers(1, 12))}i"

    reach = max(1, span // int(rng.choice([2, 4, 8])))
    kind = str(rng.choice(["same", "unequal", "between", "count", "counts", "mixed", "all"]))
    if kind == "same":
        return {"window": time(reach)}
    if kind == "unequal":
        return {"window": (time(reach), time(reach))}
    if kind == "between":
        ends = sorted(int(end) for end in rng.integers(-reach, reach + 1, 2))
        return {"between": (f"{ends[0] * tick_ns}ns", f"{ends[1] * tick_ns}ns")}
    if kind == "count":
        return {"window": count()}
    if kind == "counts":
        return {"window": (count(), count())}
    if kind == "mixed":
        return {"window": (time(reach), count()) if rng.random() < 0.5 else (count(), time(reach))}
    return {"window": f"{2 * span * tick_ns}ns"}


def _options(rng: Rng, columns: JoinColumns) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        names = ("auto", *columns.indexes)
        first, second = (names[int(place)] for place in rng.integers(0, len(names), 2))
        options["index"] = first if rng.random() < 0.5 else (first, second)
    if columns.merges and rng.random() < 0.6:
        options["merge"] = str(rng.choice(["auto", "heap", "count", "bitmap"]))
    if rng.random() < 0.5:
        options["expiry"] = str(rng.choice(["active", "lazy"]))
    return options


def _live_options(rng: Rng, span: int, tick_ns: int) -> dict[str, Any]:
    if rng.random() < 0.6:
        return {}
    return {"basic_window": f"{int(rng.integers(1, span + 2)) * tick_ns}ns"}


def _schedule(rng: Rng, tables: list[pa.Table], lateness: tuple[int | None, int | None]) -> Iterator[Step]:
    """Pushes that cover both tables in order, interleaved in one of several ways, with honest promises."""
    order = _pushes(rng, (len(tables[0]), len(tables[1])))
    promising = rng.random() < 0.4
    for push in order:
        yield push
        if promising and rng.random() < 0.4:
            side: Side = "left" if rng.random() < 0.5 else "right"
            promise = _promise(rng, tables[0 if side == "left" else 1], _pushed(order, push, side), lateness)
            if promise is not None:
                yield Advance(side, promise)


def _pushed(order: list[Push], last: Push, side: Side) -> int:
    done = order[: order.index(last) + 1]
    return max((push.end for push in done if push.side == side), default=0)


def _promise(rng: Rng, table: pa.Table, pushed: int, lateness: tuple[int | None, int | None]) -> int | None:
    """A time that no row still to come is older than."""
    ahead = [time for time in table.column("ts").cast(pa.int64()).to_pylist()[pushed:] if time is not None]
    if not ahead:
        return None
    return int(min(ahead)) - int(rng.integers(0, 3))


def _cuts(rng: Rng, rows: int, style: str) -> list[tuple[int, int]]:
    if style == "whole":
        return [(0, rows)]
    if style == "single":
        return [(row, row + 1) for row in range(rows)]
    inner = np.sort(rng.integers(0, rows + 1, int(rng.integers(1, 8))))  # repeats make empty batches
    edges = [0, *(int(edge) for edge in inner), rows]
    return list(pairwise(edges))


def _pushes(rng: Rng, rows: tuple[int, int]) -> list[Push]:
    interleaving = str(rng.choice(["left first", "right first", "alternating", "random"]))
    style = str(rng.choice(["whole", "single", "cuts", "cuts", "cuts"]))
    left = [Push("left", *cut) for cut in _cuts(rng, rows[0], style)]
    right = [Push("right", *cut) for cut in _cuts(rng, rows[1], style)]
    if interleaving == "left first":
        return left + right
    if interleaving == "right first":
        return right + left
    merged: list[Push] = []
    while left or right:
        turn = len(merged) % 2 == 0 if interleaving == "alternating" else bool(rng.random() < 0.5)
        queue = (left if turn else right) or left or right
        merged.append(queue.pop(0))
    return merged


def _admission(
    table: pa.Table, steps: tuple[Step, ...], side: Side, lateness_ns: int | None, scale: int
) -> Admission:
    promises, pushed = [], 0
    for step in steps:
        if step.side != side:
            continue
        if isinstance(step, Push):
            pushed = step.end
        else:
            promises.append((pushed, step.to * scale))
    times = [
        None if time is None else time * scale for time in table.column("ts").cast(pa.int64()).to_pylist()
    ]
    return admit(times, lateness=lateness_ns or 0, promises=promises)
