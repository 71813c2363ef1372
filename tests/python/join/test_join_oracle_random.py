"""At least 10,000 random joins against the definition.

A case is drawn from a seed (tests/reference/cases.py): streams with ties and nulls, predicate, windows, how,
index, merge, expiry, batches, interleaving, promises, lateness. A failure prints the seed and all that was
drawn from it; `draw_case` makes it again. WATERSMEET_ORACLE_SCALE=10 multiplies the number of cases. The
end of a run says how many there were (tests/conftest.py), and a whole run with fewer has failed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.reference.cases import Case, draw_case
from tests.reference.driver import difference, expected_pairs, run_live, run_table
from tests.reference.predicates import FAMILIES

import watersmeet as wm
from watersmeet.testing import brute_force_join

SCALE = int(os.environ.get("WATERSMEET_ORACLE_SCALE", "1"))
CHUNKS = 10 * SCALE
LIVE_CASES, TABLE_CASES, SNAPSHOT_CASES = 45, 20, 10  # per family and chunk

each_family = pytest.mark.parametrize("family", FAMILIES)
each_chunk = pytest.mark.parametrize("chunk", range(CHUNKS))


def _cases(kind: int, family: str, chunk: int, count: int, *, live: bool = True) -> Iterator[Case]:
    first = ((kind * 100 + list(FAMILIES).index(family)) * 1000 + chunk) * 1000
    for seed in range(first, first + count):
        yield draw_case(seed, family=family, live=live)


def _explain(case: Case, problem: str) -> str:
    return f"{problem}\ndraw_case({case.seed}, family={case.family!r}, ...)\n{case.describe()}"


@each_chunk
@each_family
def test_oracle_live_join_gives_the_full_answer_once(
    family: str, chunk: int, count_case: Callable[[], None]
) -> None:
    for case in _cases(1, family, chunk, LIVE_CASES):
        try:
            run = run_live(case)
        except wm.WatersmeetError as error:
            pytest.fail(_explain(case, f"{type(error).__name__}: {error}"))
        problem = difference(run.pairs, expected_pairs(case)) or _unbalanced(
            case, run.join.metrics, run.pairs
        )
        assert not problem, _explain(case, problem)
        count_case()


def _unbalanced(case: Case, metrics: wm.Metrics, pairs: list[tuple[int | None, int | None]]) -> str:
    """The counters after finish() against the model's; empty when all is well."""
    wrong = [] if metrics.results == len(pairs) else [f"results {metrics.results}, came out {len(pairs)}"]
    for stream, table, admission in zip(
        metrics.streams, (case.left, case.right), case.admissions, strict=True
    ):
        counted = (stream.rows, stream.bad_rows, stream.late_rows, stream.pending_rows)
        wanted: list[Any] = (len(table), admission.bad_rows, admission.late_rows, 0)
        if counted != wanted:
            wrong.append(f"{stream.name}: (rows, bad, late, pending) {counted}, expected {wanted}")
        kept = stream.window_rows + stream.expired_rows
        if kept != len(table) - admission.bad_rows - admission.late_rows:
            wrong.append(
                f"{stream.name}: window {stream.window_rows} + expired {stream.expired_rows} != joined rows"
            )
    return "; ".join(wrong)


@each_chunk
@each_family
def test_oracle_table_join_gives_the_full_answer_in_order(
    family: str, chunk: int, count_case: Callable[[], None]
) -> None:
    for case in _cases(2, family, chunk, TABLE_CASES, live=False):
        expected = brute_force_join(
            case.left,
            case.right,
            on=case.on,
            how=case.how,  # type: ignore[arg-type]  # a drawn word
            time_unit=case.time_unit,
            **case.bounds,
        )
        actual = run_table(case)
        columns = [column.to_pylist() for column in expected.columns]
        wanted: list[Any] = (
            list(zip(*columns, strict=True)) if len(columns) == 2 else [(row, None) for row in columns[0]]
        )
        assert not (problem := difference(actual, wanted)), _explain(case, problem)
        if case.how == "inner":
            assert actual == wanted, _explain(case, "not in order of result time, left row, right row")
        count_case()


@each_chunk
@each_family
def test_oracle_snapshot_taken_anywhere_continues_identically(
    family: str, chunk: int, count_case: Callable[[], None]
) -> None:
    for case in _cases(3, family, chunk, SNAPSHOT_CASES):
        if case.family in ("where", "and") and "where" in str(case.on):
            continue  # a user's function is no part of a snapshot; see test_join_snapshot.py
        place = case.seed % (len(case.steps) + 1)
        run = run_live(case, snapshot_before=place)
        problem = difference(run.pairs, expected_pairs(case)) or _unbalanced(
            case, run.join.metrics, run.pairs
        )
        assert not problem, _explain(case, f"snapshot before step {place}: {problem}")
        count_case()


@each_family
def test_oracle_columns_hold_the_values_of_the_rows(family: str, count_case: Callable[[], None]) -> None:
    for case in _cases(4, family, 0, 10, live=False):
        expected = brute_force_join(
            case.left,
            case.right,
            on=case.on,
            how=case.how,  # type: ignore[arg-type]  # a drawn word
            time_unit=case.time_unit,
            output="columns",
            **case.bounds,
        )
        actual = wm.join(
            case.left,
            case.right,
            on=case.on,
            how=case.how,
            time_unit=case.time_unit,
            **case.bounds,
            **case.options,
        )
        assert actual.schema.names == expected.schema.names, case.describe()
        assert actual.schema.types == expected.schema.types, case.describe()
        assert _bag(actual) == _bag(expected), case.describe()
        count_case()


def _bag(table: pa.Table) -> list[str]:
    """The rows in no order; values by their text, so that NaN equals NaN."""
    return sorted(map(str, table.to_pylist()))
