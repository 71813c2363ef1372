"""Rows as Arrow IPC bytes, and back: what travels through shuffles and rests in the state store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

__all__ = ["from_blob", "pieces", "table_of", "to_blob"]


def to_blob(table: pa.Table) -> bytes:
    """The table as an Arrow IPC stream of one batch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def from_blob(blob: Any) -> pa.Table:
    """The table of an Arrow IPC stream, over its memory."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def table_of(blobs: Iterable[Any], schema: pa.Schema) -> pa.Table:
    """All rows of some blobs."""
    tables = [from_blob(blob).cast(schema) for blob in blobs]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def pieces(table: pa.Table, *, most_bytes: int) -> Iterator[pa.Table]:
    """The table cut so that each piece is at most about so many bytes; one piece, if it is empty."""
    count = max(1, -(-table.nbytes // most_bytes))
    rows = max(1, -(-table.num_rows // count))
    for start in range(0, max(1, table.num_rows), rows):
        yield table.slice(start, rows)
