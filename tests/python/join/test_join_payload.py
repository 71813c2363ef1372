"""Results as columns: the same rows as the results' numbers name, however their values are gathered."""

from __future__ import annotations

import decimal
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm

KINDS = {
    "word": pa.int64(),
    "real": pa.float64(),
    "half": pa.int32(),
    "short": pa.int16(),
    "byte": pa.uint8(),
    "bit": pa.bool_(),
    "wide": pa.decimal128(20, 2),
    "day": pa.date32(),
}


def _column(rng: np.random.Generator, kind: pa.DataType, rows: int, *, with_nulls: bool) -> pa.Array:
    numbers = rng.integers(0, 100, rows)
    mask = rng.random(rows) < 0.2 if with_nulls else None
    if pa.types.is_decimal(kind):
        values = [
            None if mask is not None and mask[at] else decimal.Decimal(int(n)) for at, n in enumerate(numbers)
        ]
        return pa.array(values, kind)
    if pa.types.is_boolean(kind):
        return pa.array(numbers % 2 == 0, kind, mask=mask)
    return pa.array(numbers.astype(np.int32), mask=mask).cast(kind)


def _stream(rng: np.random.Generator, rows: int, *, late_by: int) -> pa.Table:
    times = np.sort(rng.integers(0, rows, rows)) + rng.integers(0, late_by + 1, rows)
    columns: dict[str, Any] = {"ts": pa.array(times), "key": pa.array(rng.integers(0, 40, rows))}
    for name in rng.permutation(list(KINDS))[: rng.integers(0, len(KINDS) + 1)]:
        for copy in range(rng.integers(1, 4)):
            columns[f"{name}{copy}"] = _column(rng, KINDS[name], rows, with_nulls=bool(rng.random() < 0.3))
    return pa.table(columns).select(list(rng.permutation(list(columns))))


def _joined(tables: tuple[pa.Table, pa.Table], output: Any, cuts: list[int], *, late_by: int) -> pa.Table:
    lateness = {"lateness": f"{late_by}us"} if late_by else {}
    streams = [wm.Stream(name, time="ts", time_unit="us", window="20us", **lateness) for name in "ab"]
    join = wm.WindowJoin(*streams, on=wm.equal("key"), output=output)
    found = []
    for name, table in zip("ab", tables, strict=True):  # so that both are known
        found.append(join.push(name, table.slice(0, 0)))
    for start, end in itertools.pairwise(cuts):
        for name, table in zip("ab", tables, strict=True):
            found.append(join.push(name, table.slice(start, end - start)))
            if not late_by and start > 0:
                with pytest.raises(wm.OrderError):  # taken back, and what comes next is as if it had not been
                    join.push(name, table.slice(0, end))
    found.append(join.finish())
    return pa.concat_tables(part for part in found if part.num_rows)


@pytest.mark.parametrize("seed", range(12))
def test_differential_columns_are_those_of_the_rows_that_results_name(seed: int) -> None:
    rng = np.random.default_rng(seed)
    late_by = 3 if seed % 3 == 0 else 0
    rows = 30_000 if seed % 4 == 1 else 3_000  # large batches go past the caches
    tables = _stream(rng, rows, late_by=late_by), _stream(rng, rows, late_by=late_by)
    step = rows // 2 if rows > 3_000 else 200
    cuts = [0, *sorted(rng.integers(1, rows, rows // step).tolist()), rows]
    pairs = _joined(tables, "rows", cuts, late_by=late_by)
    columns = _joined(tables, "columns", cuts, late_by=late_by)
    assert pairs.num_rows > 1_000, f"seed {seed}"
    wanted = [
        table.take(pairs.column(number)).column(place)
        for number, table in enumerate(tables)
        for place in range(table.num_columns)
    ]
    for name, got, want in zip(columns.column_names, columns.columns, wanted, strict=True):
        assert got.combine_chunks().equals(want.combine_chunks()), f"seed {seed}, column {name}"
