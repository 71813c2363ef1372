"""Random joins of several streams, and their answer by definition: nested loops over pairs that match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from tests.reference.predicates import FAMILIES, draw_columns

import watersmeet as wm
from watersmeet.testing.brute_force import matching_rows
from watersmeet.vocabulary import Predicate, Where

__all__ = ["MultiCase", "draw_multiway"]

_COLUMNS = ("left", "right", "left_items", "left_weights", "right_items", "right_weights")
_NAMES = "ABCDE"


@dataclass(frozen=True, slots=True)
class MultiCase:
    """Streams with their tables, predicates by pair, and the windows: seconds, or rows as "5i"."""

    seed: int
    families: tuple[str, ...]
    tables: tuple[pa.Table, ...]
    windows: tuple[Any, ...]
    on: dict[tuple[str, str], Any] | None
    inclusive: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(_NAMES[: len(self.tables)])

    def streams(self) -> list[wm.Stream]:
        return [
            wm.Stream(name, time="ts", window=window, time_unit="s")
            for name, window in zip(self.names, self.windows, strict=True)
        ]

    def expected(self) -> list[tuple[int, ...]]:
        """Row numbers of every result, in the order in which they must come."""
        pairs = [
            (self.names.index(left), self.names.index(right), self._pairs(left, right, on))
            for (left, right), on in (self.on or {}).items()
        ]
        times = [table.column("ts").to_pylist() for table in self.tables]
        arrivals = sorted((ts, at, row) for at, column in enumerate(times) for row, ts in enumerate(column))
        seen = [0] * len(self.tables)
        results: list[tuple[int, ...]] = []
        for now, own, row in arrivals:
            inside = [
                [row] if at == own else self._inside(at, times[at], seen[at], now)
                for at in range(len(self.tables))
            ]
            results += _combinations(inside, pairs)
            seen[own] += 1
        return results

    def _pairs(self, left: str, right: str, on: Any) -> set[tuple[int, int]]:
        tables = (self.tables[self.names.index(left)], self.tables[self.names.index(right)])
        found = matching_rows(*tables, on=on, window="1000000s", time_unit="s")
        return {(int(one), int(two)) for one, two in found if one is not None and two is not None}

    def _inside(self, at: int, times: list[int], seen: int, now: int) -> list[int]:
        window = self.windows[at]
        if isinstance(window, str):
            return list(range(max(0, seen - int(window[:-1])), seen))
        return [
            r for r in range(seen) if now - times[r] < window or (self.inclusive and now - times[r] == window)
        ]


def _combinations(
    inside: list[list[int]], pairs: list[tuple[int, int, set[tuple[int, int]]]]
) -> list[tuple[int, ...]]:
    """Rows, one per stream, of which all pairs match; by rows in the order of streams."""
    partial: list[tuple[int, ...]] = [()]
    for at, rows in enumerate(inside):
        tests = [(one, two, ok) for one, two, ok in pairs if max(one, two) == at]
        partial = [
            (*members, row)
            for members in partial
            for row in rows
            if all(((*members, row)[one], (*members, row)[two]) in ok for one, two, ok in tests)
        ]
    return partial


def draw_multiway(seed: int, *, families: tuple[str, ...] = tuple(FAMILIES)) -> MultiCase:
    """A random case; more streams have fewer rows."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([2, 2, 3, 3, 4, 5]))
    most = {2: 40, 3: 22, 4: 12, 5: 9}[count]
    rows = [int(rng.integers(0 if rng.random() < 0.1 else most // 2, most)) for _ in range(count)]
    tables = [{"ts": pa.array(np.cumsum(rng.integers(0, 4, size)), pa.int64())} for size in rows]
    on: dict[tuple[str, str], Any] = {}
    chosen = []
    for at in range(count - 1):
        family = str(rng.choice(families))
        one = int(rng.integers(0, at + 1)) if rng.random() < 0.3 else at
        sides = (one, at + 1) if rng.random() < 0.7 else (at + 1, one)
        columns = draw_columns(rng, family, (rows[sides[0]], rows[sides[1]]))
        chosen.append(family)
        if columns.on is None:
            continue
        prefix = f"p{at}_"
        for side, part in zip(sides, (columns.left, columns.right), strict=True):
            tables[side] |= {prefix + name: values for name, values in part.items()}
        on[_NAMES[sides[0]], _NAMES[sides[1]]] = _renamed(columns.on, prefix)
    windows = [f"{rng.integers(1, 9)}i" if rng.random() < 0.25 else int(rng.integers(0, 30)) for _ in rows]
    made = tuple(pa.table(table) for table in tables)
    return MultiCase(seed, tuple(chosen), made, tuple(windows), on or None, bool(rng.random() < 0.8))


def _renamed(on: Predicate, prefix: str) -> Any:
    leaves = [_renamed_leaf(leaf, prefix) for leaf in on.leaves]
    joined = leaves[0]
    for leaf in leaves[1:]:
        joined = joined & leaf
    return joined


def _renamed_leaf(leaf: Any, prefix: str) -> Any:
    if isinstance(leaf, Where):
        return wm.where(_stripped(leaf.fn, prefix))
    changes: dict[str, Any] = {}
    for field in fields(leaf):
        value = getattr(leaf, field.name)
        if field.name in _COLUMNS and value is not None:
            changes[field.name] = (
                prefix + value if isinstance(value, str) else tuple(prefix + name for name in value)
            )
    return replace(leaf, **changes)


def _stripped(fn: Callable[..., Any], prefix: str) -> Callable[..., Any]:
    def renamed(block: pa.Table) -> pa.Table:
        names = [name for name in block.schema.names if name.startswith(prefix)]
        return block.select(names).rename_columns([name.removeprefix(prefix) for name in names])

    def where_of_pair(left: pa.Table, right: pa.Table) -> Any:
        return fn(renamed(left), renamed(right))

    return where_of_pair
