"""Before the shuffle: each split of one side becomes a few Arrow blobs, one per bucket it has rows for.

The shuffle and the state store then move a handful of binary cells, and no row ever becomes a Python object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.spark.blobs import to_blob
from watersmeet.spark.destinations import destinations
from watersmeet.spark.request import Request
from watersmeet.spark.vectors import fixed
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["BUCKET", "PACKED", "PACKED_DDL", "instants", "pack"]

BUCKET: Final = "__watersmeet_bucket"  # where the join is divided by key: the hash, made by Spark
PACKED: Final = pa.schema(
    [
        ("label", pa.int32()),
        ("side", pa.int32()),
        ("role", pa.int32()),
        ("rows", pa.int64()),
        ("bad_rows", pa.int64()),
        ("max_ts", pa.timestamp("us", tz="UTC")),
        ("data", pa.binary()),
    ]
)
PACKED_DDL: Final = "label int, side int, role int, rows long, bad_rows long, max_ts timestamp, data binary"
_MOST_BYTES: Final = 1 << 26  # of a split that are held at once


def pack(request: Request, side: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The blobs of one split."""
    schema = request.schema(side)
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _MOST_BYTES:
            yield from _packed(request, side, schema, held)
            held, size = [], 0
    if held:
        yield from _packed(request, side, schema, held)


def instants(request: Request, side: int, column: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """A time column in the join's unit, and which rows have a time at all."""
    numbers = column.cast(pa.int64())
    if numbers.null_count == 0:
        return np.asarray(numbers) * request.steps[side], np.ones(len(numbers), np.bool_)
    return np.asarray(numbers.fill_null(0)) * request.steps[side], np.asarray(numbers.is_valid())


def _packed(
    request: Request, side: int, schema: pa.Schema, held: list[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    names = [*schema.names, BUCKET] if request.by == "key" else schema.names
    table = pa.Table.from_batches(held).rename_columns(names)
    times, has_time = instants(request, side, table[request.times[side]])
    keys = None
    if request.by == "key":
        keys = np.asarray(table[BUCKET]).astype(np.int64)
        table = table.drop_columns([BUCKET])
    table = fixed(table, schema)
    bad = len(times) - int(has_time.sum())
    if bad and request.streaming:  # an event without a time has no place in a stream: counted, not kept
        kept = pa.array(np.flatnonzero(has_time))
        table, times = table.take(kept), times[has_time]
        keys = None if keys is None else keys[has_time]
    copies = destinations(request, side, times, keys)
    lots = (copies.buckets * 2 + copies.roles).astype(np.int16 if request.partitions < 1 << 14 else np.int64)
    order = _sorting(times[copies.rows], lots)
    lots = lots[order]
    sent = table.take(pa.array(copies.rows[order])).combine_chunks()
    starts = np.flatnonzero(np.diff(lots, prepend=-1))
    ends = np.append(starts[1:], len(lots))
    latest = int(times.max(initial=0)) * NANOSECONDS[request.unit] // NANOSECONDS["us"]
    rows = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        bucket, role = divmod(int(lots[start]), 2)
        blob = to_blob(sent.slice(start, end - start))
        rows.append((request.labels[bucket], side, role, end - start, 0, latest, blob))
    if bad and rows:
        rows[0] = (*rows[0][:4], bad, *rows[0][5:])
    if rows:
        columns = [
            pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), PACKED.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=PACKED)


def _sorting(times: npt.NDArray[np.int64], lots: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """By lot, then time, then as they came."""
    if np.all(times[1:] >= times[:-1]):
        return np.argsort(lots, kind="stable")
    order = np.argsort(times, kind="stable")
    return order[np.argsort(lots[order], kind="stable")]
