"""The workloads as Arrow tables, and as the alternating batches that a live join is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.workloads import Case, load

__all__ = ["PAYLOAD", "alternating", "table"]

PAYLOAD = 6  # columns


def table(case: Case, stream: int, *, payload: int = 0) -> Any:
    """One stream as a pyarrow table: `ts`, the join column(s), and `payload` float64 columns p0, p1, ..."""
    import pyarrow as pa

    data = load(case, stream)
    columns = {"ts": pa.array(data["ts"], pa.timestamp("us"))}
    if case.kind == "keys":
        columns["key"] = pa.array(np.asarray(data["key"]))
    elif case.kind == "images":
        image = np.ascontiguousarray(data["image"])
        buffers = [None, pa.py_buffer(image)]
        columns["image"] = pa.Array.from_buffers(pa.binary(case.domain), case.rows, buffers)
    else:
        offsets = pa.array(np.asarray(data["offsets"]).astype(np.int32))
        columns["items"] = pa.ListArray.from_arrays(offsets, pa.array(np.asarray(data["items"])))
        if case.kind == "weighted":
            columns["weights"] = pa.ListArray.from_arrays(offsets, pa.array(np.asarray(data["weights"])))
    rng = np.random.default_rng(case.seeds[stream])
    columns |= {f"p{number}": pa.array(rng.random(case.rows)) for number in range(payload)}
    return pa.table(columns)


def alternating(case: Case, *, batch: int, payload: int = 0) -> Iterator[tuple[int, Any]]:
    """(stream, batch) in time order: rows [0, batch) of every stream, then the next ones."""
    tables = [table(case, stream, payload=payload) for stream in range(case.streams)]
    for start in range(0, case.rows, batch):
        for stream, whole in enumerate(tables):
            yield stream, whole.slice(start, batch)
