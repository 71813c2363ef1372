"""The frame of a join's snapshot: a JSON header and sections of bytes, Arrow data as IPC streams.

Inside what the core seals (version, length, checksum): the length of the header in 8 bytes, the header, then
the sections whose lengths it names. The same state gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from watersmeet._core import _native
from watersmeet.errors import SnapshotError, WatersmeetError
from watersmeet.join.columns.payload import PayloadStore
from watersmeet.join.columns.schema import StreamSchema

__all__ = [
    "BROKEN",
    "batch_of",
    "bytes_of_batch",
    "bytes_of_rows",
    "bytes_of_schema",
    "bytes_of_table",
    "checked",
    "opened",
    "sealed",
    "table_of",
    "unsealed",
]

# What reading bytes that no join has written may raise.
BROKEN = (
    WatersmeetError,
    pa.ArrowException,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def sealed(header: Mapping[str, Any], sections: Sequence[bytes]) -> bytes:
    """Header and sections in the core's frame."""
    whole = {**header, "sections": [len(section) for section in sections]}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()
    return bytes(_native.seal(b"".join([len(text).to_bytes(8, "little"), text, *sections])))


def unsealed(blob: Any) -> bytes:
    """What is in the core's frame; SnapshotError for bytes that are damaged or no snapshot."""
    try:
        return bytes(_native.unseal(bytes(memoryview(blob))))
    except TypeError:
        raise SnapshotError(f"snapshot of type {type(blob).__name__}: expected bytes") from None


def opened(body: bytes, kind: str) -> tuple[dict[str, Any], list[bytes]]:
    """Header and sections of a snapshot of this kind of join."""
    start = 8 + int.from_bytes(body[:8], "little")
    header = json.loads(body[8:start])
    if header.get("kind", "two-way") != kind:  # the first two-way joins' snapshots named none
        raise SnapshotError("a snapshot of another kind of join")
    sections = []
    for length in header["sections"]:
        sections.append(body[start : start + length])
        start += length
    if start != len(body):
        raise SnapshotError(f"{len(body)} bytes, expected {start}")
    return header, sections


def bytes_of_table(table: pa.Table) -> bytes:
    """A table as an IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def bytes_of_batch(batch: pa.RecordBatch | None) -> bytes:
    """A batch as an IPC stream, nothing for none."""
    return b"" if batch is None else bytes_of_table(pa.Table.from_batches([batch]))


def bytes_of_schema(schema: StreamSchema | None) -> bytes:
    """A stream's columns, nothing where they are not known yet."""
    return b"" if schema is None else schema.schema.serialize().to_pybytes()


def bytes_of_rows(store: PayloadStore | None) -> bytes:
    """The rows that a store keeps."""
    return b"" if store is None else bytes_of_table(store.kept())


def table_of(section: bytes) -> pa.Table:
    """The table that bytes_of_table() was given, checked."""
    table = pa.ipc.open_stream(pa.py_buffer(section)).read_all()
    table.validate(full=True)
    return table


def batch_of(section: bytes) -> pa.RecordBatch | None:
    """The batch that bytes_of_batch() was given."""
    if not section:
        return None
    batches = table_of(section).combine_chunks().to_batches()
    return batches[0] if batches else None


def checked(batch: pa.RecordBatch | None, schema: StreamSchema | None) -> pa.RecordBatch | None:
    """A batch of the stream's columns."""
    if batch is not None and (schema is None or not batch.schema.equals(schema.schema)):
        raise SnapshotError("rows that wait do not have their stream's columns")
    return batch
