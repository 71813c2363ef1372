"""Pathway on W1: `interval_join` on static tables, the cheaper of its two ways in. Far slower than the rest,
so it gets 200k rows per side, +-1 s and 200k keys, which leaves the matches per row as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.contract import Engine, Job, Sink, Variant
from bench.workloads import Case, load

__all__ = ["ENGINE", "prepare"]


def prepare(case: Case, options: Mapping[str, Any]) -> Job:
    import pandas as pd
    import pathway as pw

    tables = []
    for stream in range(2):
        data = load(case, stream)
        columns = {"row": np.arange(case.rows), "ts": np.asarray(data["ts"]), "key": np.asarray(data["key"])}
        tables.append(pw.debug.table_from_pandas(pd.DataFrame(columns)))
    one, two = tables
    interval = pw.temporal.interval(-case.window_us, case.window_us)
    joined = one.interval_join(two, one.ts, two.ts, interval, one.key == two.key)
    pairs = joined.select(left=one.row, right=two.row)

    def job(sink: Sink) -> None:
        found = pw.debug.table_to_pandas(pairs, include_id=False)
        sink.rows(found["left"].to_numpy(), found["right"].to_numpy())

    return job


ENGINE = Engine(
    kind="streaming",
    needs="pathway",
    prepare=prepare,
    warm=False,
    variants=(
        Variant(
            "static tables",
            resize={"rows": 200_000, "window_us": 1_000_000, "domain": 200_000},
            repeats=1,
        ),
    ),
)
