"""watersmeet on W4: `MultiJoin`, exact, on a tree of two joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.arrow_input import alternating
from bench.contract import Engine, Job, Sink, UnavailableError, Variant
from bench.workloads import Case

__all__ = ["ENGINE"]

_NAMES = ("one", "two", "three")


def _prepare(case: Case, options: Mapping[str, Any]) -> Job:
    import watersmeet as wm

    if not hasattr(wm, "MultiJoin"):
        raise UnavailableError("wm.MultiJoin is not in this build yet")
    batches = list(alternating(case, batch=options["batch"]))
    streams = [wm.Stream(name, time="ts", window=case.window_us / 1e6) for name in _NAMES]
    equal = wm.equal("key")
    on = {("one", "two"): equal, ("two", "three"): equal}
    join = wm.MultiJoin(streams, tree=(("one", "two"), "three"), on=on, budget=None, output="rows")

    def job(sink: Sink) -> None:
        for stream, batch in batches:
            out = join.push(_NAMES[stream], batch)
            if out.num_rows:
                sink.table(out)
        sink.table(join.finish())

    return job


ENGINE = Engine(
    kind="streaming",
    needs="watersmeet",
    prepare=_prepare,
    variants=(Variant("64k batch", {"batch": 65_536}, rehearsed=True),),
)
