"""NumPy on W5: each new image against the other window at once, in bytes. What a user without an engine would
write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.contract import Engine, Job, Sink, Variant
from bench.workloads import Case, load

__all__ = ["ENGINE"]


def _prepare(case: Case, options: Mapping[str, Any]) -> Job:
    left, right = (np.ascontiguousarray(load(case, stream)["image"]) for stream in (0, 1))
    reach = case.window_us // case.spacing_us
    bound = case.threshold * case.domain

    def job(sink: Sink) -> None:
        for row in range(case.rows):
            low = max(0, row - reach)
            older = _near(left[row], right[low:row], bound) + low
            sink.rows(np.full(len(older), row), older)
            older = _near(right[row], left[low : row + 1], bound) + low
            sink.rows(older, np.full(len(older), row))

    return job


def _near(image: Any, window: Any, bound: float) -> Any:
    difference = np.maximum(window, image) - np.minimum(window, image)
    return np.flatnonzero(difference.sum(axis=1, dtype=np.uint32) <= bound)


ENGINE = Engine(
    kind="batch", needs=None, prepare=_prepare, variants=(Variant("max - min", scale=0.2, repeats=2),)
)
