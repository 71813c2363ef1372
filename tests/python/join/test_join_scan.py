"""Scanned windows of all sizes around the scan's blocks, against comparisons one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm

SIZES = (1, 2, 7, 8, 9, 63, 64, 65, 71, 127, 128, 129, 135, 200)


def window(values: np.ndarray, seed: int, kind: pa.DataType) -> pa.Table:
    """Rows of which one in five has no value."""
    nulls = np.random.default_rng(seed).random(len(values)) < 0.2
    return pa.table({"ts": np.arange(len(values)), "x": pa.array(values, kind, mask=nulls)})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("domain", [1, 3, 40])
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()], ids=str)
def test_oracle_scans_find_what_comparing_one_by_one_finds(size: int, domain: int, kind: pa.DataType) -> None:
    values = np.random.default_rng(size).integers(0, domain, size)
    right = window(values, size + 1, kind)
    for on in (wm.equal("x"), wm.band("x", within=1)):
        for span in (size, size // 2):  # from the window's begin, and from the middle of a block
            join = wm.WindowJoin(
                wm.Stream("a", window="1us"),
                wm.Stream("b", window=f"{max(1, span)}us"),
                on=on,
                index="scan",
                output="rows",
            )
            join.push("b", right)
            found = join.push("a", pa.table({"ts": [size], "x": pa.array([1], kind)}))
            within = 0 if isinstance(on, type(wm.equal("x"))) else 1
            expected = [
                row
                for row, value in enumerate(right["x"].to_pylist())
                if value is not None and abs(value - 1) <= within and size - row <= max(1, span)
            ]
            assert sorted(found.column(1).to_pylist()) == expected


@pytest.mark.parametrize("within", [2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1, 0])
@pytest.mark.parametrize("own", [2**63 - 1, -(2**63), 0, -7])
def test_a_band_reaches_as_far_as_it_says_at_the_ends_of_the_range(within: int, own: int) -> None:
    """In whole blocks of a scan as well as in the rest."""
    ends = [-(2**63), 2**63 - 1, 1 - 2**63, 2**63 - 2, 0, -7]
    values = [*ends, *([12_345] * 60), *ends]
    right = pa.table({"ts": np.zeros(len(values), np.int64), "x": pa.array(values, pa.int64())})
    left = pa.table({"ts": [0], "x": pa.array([own], pa.int64())})
    found = wm.join(left, right, on=wm.band("x", within=within), window="1us")
    assert found.num_rows == sum(abs(value - own) <= within for value in values)
