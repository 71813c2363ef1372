"""Payload in Arrow blocks: rows one after the other, and one row many times, are given without copies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from watersmeet.join.columns.block_columns import BlockColumns


def arrays(rows: int, *, start: int = 0, nulls: bool = False) -> list[pa.Array]:
    numbers = range(start, start + rows)
    images = [bytes([n % 251] * 5) for n in numbers]
    lists = [[float(n), -float(n)] for n in numbers]
    if nulls:
        images[rows // 2] = None  # type: ignore[call-overload]
    return [pa.array(images, pa.binary(5)), pa.array(lists, pa.list_(pa.float64(), 2))]


def filled(*sizes: int, nulls: bool = False) -> BlockColumns:
    columns = BlockColumns(pa.schema([("v", pa.binary(5)), ("w", pa.list_(pa.float64(), 2))]), 0)
    start = 0
    for size in sizes:
        # A slice, as batches of users are.
        columns.append([a.slice(3) for a in arrays(size + 3, start=start - 3, nulls=nulls)], size)
        start += size
    return columns


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("sizes", [(90,), (40, 50), (64, 16, 10)])
def test_oracle_rows_at_hand_are_those_that_a_gather_takes(sizes: tuple[int, ...], nulls: bool) -> None:
    columns, rng = filled(*sizes, nulls=nulls), np.random.default_rng(1)
    whole = [pa.concat_arrays(parts) for parts in zip(*[b.columns for b in columns._blocks], strict=True)]
    for _ in range(300):
        first, count = int(rng.integers(0, 80)), int(rng.integers(1, 10))
        rows = np.arange(first, first + count) if rng.random() < 0.5 else np.full(count, first)
        for got, all_rows in zip(columns.gather(rows, None), whole, strict=True):
            assert got.to_pylist() == all_rows.take(pa.array(rows)).to_pylist()


def test_arrays_at_hand_begin_where_their_buffers_do() -> None:
    """Users take buffers as they are: np.frombuffer(array.buffers()[1])."""
    columns = filled(90)
    for rows in (np.arange(20, 30), np.full(10, 25), np.full(4, 25)):
        image, numbers = columns.gather(rows, None)
        assert (image.offset, numbers.offset) == (0, 0)
        assert bytes(image.buffers()[1]) == bytes(np.repeat(rows % 251, 5).astype(np.uint8))
        assert np.frombuffer(numbers.values.buffers()[1]).reshape(-1, 2)[:, 0].tolist() == rows.tolist()


def test_a_row_taken_back_is_not_kept_at_hand() -> None:
    columns = filled(10)
    columns.append(arrays(1, start=10), 1)
    assert columns.gather(np.full(3, 10), None)[0].to_pylist() == [bytes([10] * 5)] * 3
    columns.truncate(10)
    columns.append(arrays(1, start=77), 1)
    assert columns.gather(np.full(3, 10), None)[0].to_pylist() == [bytes([77] * 5)] * 3


def test_a_row_many_times_is_written_where_the_last_was_unless_somebody_kept_it() -> None:
    columns = filled(90)

    def asked(row: int) -> pa.Array:
        return columns.gather(np.full(9, row), None)[0]

    def place(array: pa.Array) -> int:
        return int(array.buffers()[1].address)

    first = place(asked(3))
    assert place(asked(4)) == first
    kept = asked(5)
    assert place(kept) == first
    view = np.frombuffer(kept.buffers()[1], np.uint8)
    del kept  # the view keeps it
    assert place(asked(6)) != first
    assert view.tolist() == [5] * 45
    part = asked(7).slice(2, 3)
    asked(8)
    assert part.to_pylist() == [bytes([7] * 5)] * 3


def test_blocks_of_wide_rows_stay_as_they_are_and_small_ones_are_merged() -> None:
    def blocks(width: int, *, asked: bool) -> int:
        kind = pa.binary(width)
        columns = BlockColumns(pa.schema([("v", kind)]), 0, asked=asked)
        for _ in range(16):
            columns.append([pa.array([bytes(width)] * 40, kind)], 40)
            columns.settle()
        assert columns.gather(np.arange(640)[::-1], None)[0].to_pylist() == [bytes(width)] * 640
        return len(columns.starts)

    assert blocks(100, asked=False) == 1
    assert blocks(15_000, asked=False) == 16
    assert 3 <= blocks(15_000, asked=True) <= 6
