"""Runs a random case through the engine and through the definition, and compares."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from tests.reference.cases import Advance, Case, Push

import watersmeet as wm
from watersmeet.testing import matching_rows

__all__ = ["LiveRun", "expected_pairs", "live_join", "pairs_of", "run_live", "run_table"]

Pairs = list[tuple[int | None, int | None]]


@dataclass(slots=True)
class LiveRun:
    """What a live join gave: pairs in order of release, the join itself, and rows kept as late."""

    join: Any
    pairs: Pairs = field(default_factory=list)
    released: list[int] = field(default_factory=list)


def expected_pairs(case: Case) -> Pairs:
    """The answer by definition; late rows are not part of their stream."""
    return matching_rows(
        case.left,
        case.right,
        on=case.on,
        how=case.how,  # type: ignore[arg-type]  # a drawn word
        time_unit=case.time_unit,
        admitted=(case.admissions[0].admitted, case.admissions[1].admitted),
        **case.bounds,
    )


def pairs_of(table: pa.Table) -> Pairs:
    """Rows of an output="rows" table; semi and anti have no right row."""
    left = table.column("left_row").to_pylist()
    right = table.column("right_row").to_pylist() if "right_row" in table.column_names else [None] * len(left)
    return list(zip(left, right, strict=True))


def live_join(case: Case, **overrides: Any) -> Any:
    """A WindowJoin set up as the case says; overrides win."""
    streams = []
    for place, name in enumerate(("left", "right")):
        lateness = case.lateness[place]
        streams.append(
            wm.Stream(
                name,
                time="ts",
                window=case.windows[place],
                lateness=None if lateness is None else f"{lateness}ns",
                time_unit=case.time_unit,  # type: ignore[arg-type]  # a drawn word
            )
        )
    options: dict[str, Any] = {"how": case.how, "output": "rows", **case.options, **case.live_options}
    options.update(overrides)
    if "between" in case.bounds:
        options["between"] = case.bounds["between"]
    return wm.WindowJoin(streams[0], streams[1], on=case.on, **options)


def run_live(case: Case, *, snapshot_before: int | None = None, **overrides: Any) -> LiveRun:
    """Play the case's steps; `snapshot_before` swaps the join for its restored snapshot before that step."""
    run = LiveRun(live_join(case, **overrides))
    for place, step in enumerate(case.steps):
        if place == snapshot_before:
            run.join = wm.WindowJoin.restore(run.join.snapshot())
        _collect(run, play(run.join, case, step))
    if snapshot_before is not None and snapshot_before >= len(case.steps):
        run.join = wm.WindowJoin.restore(run.join.snapshot())
    _collect(run, run.join.finish())
    return run


def play(join: Any, case: Case, step: Push | Advance) -> pa.Table:
    """Make one call."""
    if isinstance(step, Push):
        return join.push(step.side, case.table(step.side).slice(step.begin, step.end - step.begin))
    return join.advance(step.side, to=promise_value(step.to, case.table(step.side).schema.field("ts").type))


def promise_value(to: int, kind: pa.DataType) -> Any:
    """The promise in the form a user would give it: a number for integers, a datetime for timestamps."""
    if not pa.types.is_timestamp(kind):
        return to
    if kind.unit == "ns":
        return np.datetime64(to, "ns")
    zone = dt.UTC if kind.tz else None
    return dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(**{_DELTAS[kind.unit]: to})


_DELTAS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}


def run_table(case: Case, **overrides: Any) -> Pairs:
    """The same join by the one-call API (no lateness: a table has no order of arrival)."""
    options: dict[str, Any] = {"how": case.how, "output": "rows", "time_unit": case.time_unit, **case.bounds}
    options.update(case.options)
    options.update(overrides)
    return pairs_of(wm.join(case.left, case.right, on=case.on, **options))


def _collect(run: LiveRun, out: pa.Table) -> None:
    run.pairs.extend(pairs_of(out))
    run.released.append(out.num_rows)


def difference(actual: Pairs, expected: Pairs) -> str:
    """Empty when equal as multisets; otherwise what is missing and what is too much."""
    wanted, got = Counter(expected), Counter(actual)
    if wanted == got:
        return ""
    missing, extra = sorted(map(str, wanted - got)), sorted(map(str, got - wanted))
    return f"missing {missing[:10]}, extra {extra[:10]}"
