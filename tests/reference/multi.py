"""Random joins of several streams, and their answer straight from the definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from tests.reference.predicates import FAMILIES, draw_columns

import watersmeet as wm
from watersmeet.testing import brute_force_join

__all__ = [
    "MultiCase",
    "Rows",
    "draw_multi_case",
    "expected_rows",
    "pushed_table",
    "random_tree",
    "rows_of",
    "run_multi",
]

Rng = np.random.Generator
Rows = set[tuple[int, ...]]  # one row number per stream
_UNITS = {"s": 1_000, "ms": 1}  # in milliseconds


@dataclass(frozen=True, slots=True)
class MultiCase:
    """Streams with their tables (`row` numbers the rows), predicates by pair, a tree, and pushes in order."""

    streams: tuple[wm.Stream, ...]
    tables: tuple[pa.Table, ...]
    on: dict[tuple[str, str], Any]
    tree: Any
    pushes: tuple[tuple[str, int, int], ...]  # stream, first row, last row


def draw_multi_case(seed: int, *, streams: int | None = None) -> MultiCase:
    """A random case of 2 to 6 streams, every kind of window and of predicate."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7)) if streams is None else streams
    names = "ABCDEF"[:count]
    sizes = [int(rng.integers(0 if rng.random() < 0.1 else 4, 26 - 3 * count)) for _ in names]
    columns: list[dict[str, pa.Array]] = [{} for _ in names]
    on: dict[tuple[str, str], Any] = {}
    for other in range(1, count):
        for own in {int(rng.integers(other)), *([int(rng.integers(other))] if rng.random() < 0.3 else [])}:
            _add_pair(rng, names, sizes, columns, on, (own, other) if rng.random() < 0.5 else (other, own))
    kinds = [str(rng.choice(["s", "ms"])) for _ in names]
    tables = [_table(rng, size, kind, own) for size, kind, own in zip(sizes, kinds, columns, strict=True)]
    windows = [_window(rng) for _ in names]
    return MultiCase(
        tuple(wm.Stream(name, window=window) for name, window in zip(names, windows, strict=True)),
        tuple(tables),
        on,
        random_tree(rng, list(names)),
        tuple(_pushes(rng, names, sizes)),
    )


def random_tree(rng: Rng, names: list[str]) -> Any:
    """Any tree over the names."""
    parts: list[Any] = list(names)
    while len(parts) > 1:
        one, other = (parts.pop(int(rng.integers(len(parts)))) for _ in range(2))
        parts.append((one, other))
    return parts[0]


def expected_rows(case: MultiCase) -> Rows:
    """All combinations of matching rows that are alive when the last of them is processed."""
    times = [_milliseconds(table) for table in case.tables]
    order = sorted(
        (ts, place, row) for place, own in enumerate(times) for row, ts in enumerate(own) if ts is not None
    )
    truths = _truths(case)
    seen: list[list[int]] = [[] for _ in case.streams]
    found: Rows = set()
    for ts, place, row in order:
        alive = [
            [row] if other == place else _alive(case.streams[other], seen[other], times[other], ts)
            for other in range(len(case.streams))
        ]
        found |= set(_combinations(alive, truths))
        seen[place].append(row)
    return found


def run_multi(case: MultiCase, **options: Any) -> list[tuple[int, ...]]:
    """Push the case into a MultiJoin; the results as they came."""
    join = wm.MultiJoin(list(case.streams), on=case.on, **{"tree": case.tree, **options})
    tables = [join.push(name, pushed_table(case, name, first, last)) for name, first, last in case.pushes]
    tables.append(join.finish())
    return [row for table in tables for row in rows_of(case, table)]


def rows_of(case: MultiCase, table: pa.Table) -> list[tuple[int, ...]]:
    """The row numbers of a result table."""
    if table.num_rows == 0:
        return []
    columns = [table.column(f"{stream.name}.row").to_pylist() for stream in case.streams]  # either output
    return list(zip(*columns, strict=True))


def pushed_table(case: MultiCase, name: str, first: int, last: int) -> pa.Table:
    place = [stream.name for stream in case.streams].index(name)
    return case.tables[place].slice(first, last - first)


def _add_pair(
    rng: Rng,
    names: str,
    sizes: list[int],
    columns: list[dict[str, pa.Array]],
    on: dict[tuple[str, str], Any],
    pair: tuple[int, int],
) -> None:
    """Draw columns and a predicate for a pair, if their names are not taken."""
    left, right = pair
    drawn = draw_columns(rng, str(rng.choice(list(FAMILIES))), (sizes[left], sizes[right]))
    taken = (drawn.left.keys() & columns[left].keys()) | (drawn.right.keys() & columns[right].keys())
    if drawn.on is None or taken:
        return
    columns[left] |= drawn.left
    columns[right] |= drawn.right
    on[(names[left], names[right])] = drawn.on


def _table(rng: Rng, size: int, kind: str, columns: dict[str, pa.Array]) -> pa.Table:
    times = np.sort(rng.integers(-6, 12, size)) * (1 if kind == "s" else 1000) + (
        0 if kind == "s" else np.sort(rng.integers(0, 3, size) * 500)
    )
    values = pa.array(np.sort(times), pa.timestamp(kind))
    if size and rng.random() < 0.2:
        values = values.take(pa.array(np.arange(size), mask=rng.random(size) < 0.1))
    return pa.table({"ts": values, "row": np.arange(size), **columns})


def _window(rng: Rng) -> str:
    if rng.random() < 0.35:
        return f"{int(rng.integers(1, 7))}i"
    return f"{int(rng.integers(0, 20)) * 500}ms" if rng.random() < 0.9 else "1000d"


def _pushes(rng: Rng, names: str, sizes: list[int]) -> Iterator[tuple[str, int, int]]:
    at = [0] * len(names)
    longest = int(rng.integers(2, 14))
    heard = [False] * len(names)
    while not all(heard) or any(place < size for place, size in zip(at, sizes, strict=True)):
        stream = int(rng.integers(len(names)))
        last = min(sizes[stream], at[stream] + int(rng.integers(0, longest + 1)))
        yield names[stream], at[stream], last
        at[stream], heard[stream] = last, True


def _milliseconds(table: pa.Table) -> list[int | None]:
    scale = _UNITS[table.schema.field("ts").type.unit]
    return [
        None if value is None else value * scale for value in table.column("ts").cast(pa.int64()).to_pylist()
    ]


def _alive(stream: wm.Stream, seen: list[int], times: list[int | None], ts: int) -> list[int]:
    window = stream.window
    assert window is not None
    if window.is_rows:
        seen = seen[-window.amount :]
    limits = [] if window.is_rows else [window.amount]
    if stream.freshness is not None:
        limits.append(stream.freshness.amount)
    return [row for row in seen if all((ts - (times[row] or 0)) * 1_000_000 <= limit for limit in limits)]


def _truths(case: MultiCase) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """Per pair of streams with a predicate: the pairs of rows that satisfy it."""
    names = [stream.name for stream in case.streams]
    found = {}
    for (left, right), on in case.on.items():
        one, other = (case.tables[names.index(name)] for name in (left, right))
        still = [
            table.set_column(0, "ts", pa.array(np.zeros(len(table), np.int64))) for table in (one, other)
        ]
        rows = brute_force_join(still[0], still[1], on=on, window="1s", time="ts", output="rows")
        pairs = set(zip(*(rows.column(at).to_pylist() for at in (0, 1)), strict=True))
        found[names.index(left), names.index(right)] = pairs
    return found


def _combinations(
    alive: list[list[int]], truths: dict[tuple[int, int], set[tuple[int, int]]]
) -> Iterator[tuple[int, ...]]:
    def extend(chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        place = len(chosen)
        if place == len(alive):
            yield chosen
            return
        for row in alive[place]:
            whole = (*chosen, row)
            known = [pair for pair in truths if max(pair) == place]
            if all((whole[one], whole[other]) in truths[one, other] for one, other in known):
                yield from extend(whole)

    return extend(())
