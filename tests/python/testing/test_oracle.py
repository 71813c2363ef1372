from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.testing import gedik_streams
from watersmeet.testing.oracle import best_by_cell, best_by_lag, cell_trace, full_answer, result_seconds

WINDOW_S, BASIC_S = 4.0, 1.0


@pytest.fixture(scope="module")
def case() -> tuple[pa.Table, pa.Table, pa.Table]:
    left, right = gedik_streams(4, 0.8, 40.0, 12.0, cycle=8.0)
    on = wm.overlap("items", at_least=3)
    pairs = wm.join(left, right, on=on, window=WINDOW_S, time="ts", output="rows")
    return left, right, pairs


def times_s(table: pa.Table) -> list[float]:
    return [value / 1e6 for value in table["ts"].cast(pa.int64()).to_pylist()]


def test_oracle_trace_counts_rows_and_matches_as_a_loop_does(
    case: tuple[pa.Table, pa.Table, pa.Table],
) -> None:
    left, right, pairs = case
    trace = cell_trace(left, right, pairs=pairs, windows_s=(WINDOW_S, WINDOW_S), basic_window_s=BASIC_S)
    due = np.zeros_like(trace.due)
    for one, two in itertools.product(times_s(left), times_s(right)):
        if abs(one - two) <= WINDOW_S:
            probe, other = max(one, two), min(one, two)
            due[int(probe), 1 if two >= one else 0, int(probe // BASIC_S - other // BASIC_S)] += 1
    assert np.array_equal(trace.due, due)
    assert full_answer(trace) == pairs.num_rows == len(result_seconds(left, right, pairs))
    assert (trace.matches <= trace.rows).all()


def test_bounds_grow_with_the_budget_up_to_the_full_answer(
    case: tuple[pa.Table, pa.Table, pa.Table],
) -> None:
    left, right, pairs = case
    trace = cell_trace(left, right, pairs=pairs, windows_s=(WINDOW_S, WINDOW_S), basic_window_s=BASIC_S)
    budgets = (100.0, 500.0, 2_000.0, 1e9)
    by_cell = [best_by_cell(trace, budget) for budget in budgets]
    by_lag = [best_by_lag(trace, budget) for budget in budgets]
    assert by_cell == sorted(by_cell)
    assert by_lag == sorted(by_lag)
    assert by_cell[-1] == pytest.approx(pairs.num_rows)
    assert by_lag[-1] == pytest.approx(pairs.num_rows)
    assert all(cell >= lag for cell, lag in zip(by_cell[1:], by_lag[1:], strict=True))


def test_times_must_be_timestamps() -> None:
    table = pa.table({"ts": [1, 2]})
    with pytest.raises(wm.ConfigError, match="timestamp"):
        result_seconds(table, table, pa.table({"left_row": [0], "right_row": [0]}))
