from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import watersmeet as wm

MICROS = pa.timestamp("us")


def stream(seed: int, rows: int) -> pa.Table:
    """A small sorted stream with a key, a set, weighted items and a price."""
    keyed = wm.testing.keyed_stream(seed, rows, keys=4, span=rows // 2)
    sets = wm.testing.set_stream(seed + 100, rows, item_kind=pa.string())
    weighted = wm.testing.weighted_stream(seed + 200, rows, item_kind=pa.string())
    prices = wm.testing.band_stream(seed + 300, rows, price_kind=pa.float64())
    seconds = keyed.column("ts").combine_chunks().cast(pa.int64())
    return pa.table(
        {
            "ts": pa.compute.multiply(seconds, 1_000_000).cast(MICROS),
            "key": keyed.column("key"),
            "tags": sets.column("tags"),
            "kw": weighted.column("kw"),
            "w": weighted.column("w"),
            "price": prices.column("price"),
        }
    )


@pytest.fixture
def left() -> pa.Table:
    return stream(1, 80)


@pytest.fixture
def right() -> pa.Table:
    return stream(2, 90)


@pytest.fixture
def folder(tmp_path: Path, left: pa.Table, right: pa.Table, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a.parquet and b.parquet."""
    pq.write_table(left, tmp_path / "a.parquet")
    pq.write_table(right, tmp_path / "b.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path
