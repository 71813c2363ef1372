"""watersmeet's own job on every two-way workload: a live join through the public API, results as Arrow pairs
of row numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.arrow_input import alternating
from bench.contract import Job, Sink
from bench.workloads import Case

__all__ = ["prepare_live"]

_NAMES = ("one", "two")


def prepare_live(case: Case, options: Mapping[str, Any]) -> Job:
    """Batches cut and the join built beforehand; the job is push after push, and finish.

    Options: `batch` rows per push, `payload` columns to gather (row numbers otherwise), and WindowJoin's own
    `merge`, `index`, `order`.
    """
    import watersmeet as wm

    payload = options.get("payload", 0)
    batches = list(alternating(case, batch=options["batch"], payload=payload))
    join = wm.WindowJoin(
        *(wm.Stream(name, time="ts", window=case.window_us / 1e6) for name in _NAMES),
        on=_predicate(case),
        output="columns" if payload else "rows",
        **{name: options[name] for name in ("merge", "index", "order", "threads") if name in options},
    )

    def job(sink: Sink) -> None:
        for stream, batch in batches:
            _take(join.push(_NAMES[stream], batch), sink, payload=payload)
        _take(join.finish(), sink, payload=payload)

    return job


def _take(table: Any, sink: Sink, *, payload: int) -> None:
    if payload:
        sink.counted(table.num_rows)  # its columns are no row numbers
    else:
        sink.table(table)


def _predicate(case: Case) -> Any:
    import watersmeet as wm

    if case.kind == "keys":
        return wm.equal("key")
    if case.kind == "sets":
        return wm.overlap("items", at_least=int(case.threshold))
    if case.kind == "weighted":
        return wm.cosine(items="items", weights="weights", at_least=case.threshold)
    return wm.distance("image", metric="mean-abs", at_most=case.threshold)
