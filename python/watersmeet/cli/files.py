"""Reading and writing streams of Arrow batches: parquet, csv, jsonl and Arrow IPC, from files and pipes.

A source is read batch by batch, so that files larger than memory can be joined; only parquet and Arrow IPC
files that come through a pipe are loaded whole, since their footers stand at the end. A sink writes beside
its target and takes the target's name when it is complete, so that an interrupted run leaves nothing
behind.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.ipc as pa_ipc
import pyarrow.json as pa_json
import pyarrow.parquet as pa_parquet

from watersmeet.errors import ConfigError, SchemaError

__all__ = ["FORMATS", "Sink", "Source", "open_sink", "open_source", "resolve_format"]

FORMATS: Final = ("parquet", "csv", "tsv", "jsonl", "arrow", "arrows")
_ENDINGS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrows",
}
_IPC_FILE_MAGIC: Final = b"ARROW1"
_BLOCK_BYTES: Final = 4 << 20


def resolve_format(path: str, given: str | None, *, option: str) -> str:
    """The format of a file: as stated, or by its name's ending. A pipe has no ending."""
    if given is not None:
        if given not in FORMATS:
            raise ConfigError(f"{option} {given!r}: expected one of {', '.join(FORMATS)}")
        return given
    if path == "-":
        raise ConfigError(f"'-' has no ending that tells its format: add {option} ({', '.join(FORMATS)})")
    found = _ENDINGS.get(Path(path).suffix.lower())
    if found is None:
        endings = ", ".join(_ENDINGS)
        raise ConfigError(f"{path!r}: the ending tells no format: add {option}, or use one of {endings}")
    return found


@dataclass(slots=True)
class Source:
    """One input: its name for messages, its batches, and how far it has been read."""

    name: str
    batches: Generator[pa.RecordBatch, None, None]
    total: int | None  # bytes, or None for a pipe
    position: Callable[[], float] = field(default=lambda: 0.0)  # share of the whole that has been read

    @property
    def done(self) -> float:
        """How many of the total bytes have been read, about."""
        return 0.0 if self.total is None else self.total * min(1.0, self.position())

    def close(self) -> None:
        """Read no further, and let go of the file."""
        self.batches.close()


def open_source(path: str, format: str, *, batch_rows: int) -> Source:
    """Open a file, or standard input for '-'. An empty input gives one empty batch, which has the schema."""
    name = "standard input" if path == "-" else path
    with _telling(name):
        source = _pipe_source(name, format, batch_rows) if path == "-" else _file(path, format, batch_rows)
    return replace(source, batches=_told(name, source.batches))


@contextlib.contextmanager
def _telling(name: str) -> Iterator[None]:
    """What Arrow cannot read is an error that names the input."""
    try:
        yield
    except pa.ArrowException as error:
        raise SchemaError(f"{name}: {error}") from error


def _told(name: str, batches: Generator[pa.RecordBatch, None, None]) -> Generator[pa.RecordBatch, None, None]:
    with _telling(name):
        yield from batches


def _file(path: str, format: str, batch_rows: int) -> Source:
    size = Path(path).stat().st_size
    if format == "parquet":
        return _parquet_source(path, pa_parquet.ParquetFile(path), size, batch_rows)
    if format == "arrow" and _is_ipc_file(path):
        return _ipc_file_source(path, pa_ipc.open_file(pa.memory_map(path)), size, batch_rows)
    return _stream_source(path, format, size, batch_rows)


def _stream_source(path: str, format: str, size: int, batch_rows: int) -> Source:
    read = [0.0]

    def batches() -> Generator[pa.RecordBatch, None, None]:
        with Path(path).open("rb") as stream:
            for batch in _stream_batches(stream, format, path):
                read[0] = stream.tell() / size if size else 1.0
                yield batch
        read[0] = 1.0

    return Source(path, _sliced(batches(), batch_rows), size, lambda: read[0])


def _pipe_source(name: str, format: str, batch_rows: int) -> Source:
    stream: IO[bytes] = sys.stdin.buffer
    if format == "parquet":
        whole = pa_parquet.ParquetFile(pa.BufferReader(stream.read()))
        return _parquet_source(name, whole, None, batch_rows)
    if format == "arrow":
        head = stream.read(len(_IPC_FILE_MAGIC))
        if head == _IPC_FILE_MAGIC:
            whole_file = pa_ipc.open_file(pa.BufferReader(head + stream.read()))
            return _ipc_file_source(name, whole_file, None, batch_rows)
        stream = io.BufferedReader(_Rejoined(head, stream))
    return Source(name, _sliced(_stream_batches(stream, format, name), batch_rows), None)


class _Rejoined(io.RawIOBase):
    """A pipe whose first bytes were read to recognise it, whole again."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        piece = self._head[: len(target)] or self._rest.read(len(target))
        self._head = self._head[len(piece) :] if self._head else b""
        target[: len(piece)] = piece
        return len(piece)


def _is_ipc_file(path: str) -> bool:
    with Path(path).open("rb") as stream:
        return stream.read(len(_IPC_FILE_MAGIC)) == _IPC_FILE_MAGIC


def _parquet_source(name: str, file: pa_parquet.ParquetFile, size: int | None, batch_rows: int) -> Source:
    rows = file.metadata.num_rows
    read = [0]

    def batches() -> Generator[pa.RecordBatch, None, None]:
        if rows == 0:
            yield _empty(file.schema_arrow)
        for batch in file.iter_batches(batch_size=batch_rows):
            read[0] += batch.num_rows
            yield batch

    return Source(name, batches(), size, lambda: read[0] / rows if rows else 1.0)


def _ipc_file_source(
    name: str, file: pa_ipc.RecordBatchFileReader, size: int | None, batch_rows: int
) -> Source:
    count = file.num_record_batches
    read = [0]

    def batches() -> Generator[pa.RecordBatch, None, None]:
        if count == 0:
            yield _empty(file.schema)
        for place in range(count):
            read[0] = place + 1
            yield file.get_batch(place)

    return Source(name, _sliced(batches(), batch_rows), size, lambda: read[0] / count if count else 1.0)


def _stream_batches(stream: IO[bytes], format: str, name: str) -> Iterator[pa.RecordBatch]:
    if format == "jsonl":
        yield from _jsonl_batches(stream, name)
        return
    if format in ("csv", "tsv"):
        parse = pa_csv.ParseOptions(delimiter="\t" if format == "tsv" else ",")
        reader = pa_csv.open_csv(stream, pa_csv.ReadOptions(block_size=_BLOCK_BYTES), parse)
    else:
        reader = pa_ipc.open_stream(stream)
    empty = True
    for batch in reader:
        empty = False
        yield batch
    if empty:
        yield _empty(reader.schema)


def _jsonl_batches(stream: IO[bytes], name: str) -> Iterator[pa.RecordBatch]:
    """Whole lines in blocks; the first block's columns and types hold for all."""
    options = None
    for block in _blocks_of_lines(stream):
        table = pa_json.read_json(pa.BufferReader(block), parse_options=options)
        if options is None:
            options = pa_json.ParseOptions(explicit_schema=table.schema, unexpected_field_behavior="error")
        yield from table.combine_chunks().to_batches() or [_empty(table.schema)]
    if options is None:
        raise SchemaError(f"{name}: empty; a jsonl input without a line has no columns")


def _blocks_of_lines(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while block := stream.read(_BLOCK_BYTES):
        whole, newline, tail = (rest + block).rpartition(b"\n")
        rest = tail
        if whole.strip():
            yield whole + newline
    if rest.strip():
        yield rest


def _sliced(batches: Iterator[pa.RecordBatch], batch_rows: int) -> Generator[pa.RecordBatch, None, None]:
    """No batch above `batch_rows`: what is pushed at once bounds memory and the time to the first result."""
    for batch in batches:
        yield batch.slice(0, batch_rows)
        for start in range(batch_rows, batch.num_rows, batch_rows):
            yield batch.slice(start, batch_rows)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


class Writer(Protocol):
    """What a format needs to be written: tables, then the end."""

    def write(self, table: pa.Table) -> None:
        """Append the rows of a table."""
        ...

    def close(self) -> None:
        """Write what ends the format."""
        ...


class Sink:
    """One output. Nothing has the target's name until `commit`; `abandon` removes what was written."""

    def __init__(self, path: str, format: str) -> None:
        self._path = path
        self._format = format
        self._partial = (
            None if path == "-" else Path(path).with_name(f".{Path(path).name}.{os.getpid()}.partial")
        )
        self._stream: IO[bytes] | None = None
        self._writer: Writer | None = None
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        """Append the rows of a table; the first table, which may be empty, sets the schema."""
        if self._writer is None:
            self._stream = _standard_output() if self._partial is None else self._partial.open("wb")
            self._writer = _open_writer(self._stream, self._format, table.schema)
        if table.num_rows:
            self._writer.write(table)
        self.rows += table.num_rows

    def commit(self) -> None:
        """End the output and give it its name."""
        self._close()
        if self._partial is not None and self._partial.exists():
            self._partial.replace(self._path)

    def abandon(self) -> None:
        """Remove what was written so far."""
        with contextlib.suppress(OSError, pa.ArrowException):
            self._close()
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        stream, self._stream = self._stream, None
        try:
            if writer is not None:
                writer.close()
        finally:
            if stream is not None:
                stream.flush()
                if self._partial is not None:
                    stream.close()


def open_sink(path: str, format: str) -> Sink:
    """An output file, or standard output for '-'. The file is made at the first write."""
    if path != "-" and not Path(path).absolute().parent.is_dir():
        raise ConfigError(f"-o {path!r}: the folder {str(Path(path).absolute().parent)!r} does not exist")
    return Sink(path, format)


class _Whole(io.RawIOBase):
    """A raw file whose write() takes everything: a bare pipe may take a part, and only its count tells."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            rest = rest[self._raw.write(rest) or 0 :]
        return size


def _standard_output() -> IO[bytes]:
    stream: Any = sys.stdout.buffer
    # With PYTHONUNBUFFERED or python -u this is the bare file descriptor.
    return cast("IO[bytes]", _Whole(stream)) if isinstance(stream, io.RawIOBase) else stream


def _open_writer(stream: IO[bytes], format: str, schema: pa.Schema) -> Writer:
    if format == "parquet":
        return _ArrowWriter(pa_parquet.ParquetWriter(stream, schema))
    if format == "arrow":
        # An Arrow file, unlike a stream, cannot replace a dictionary between batches.
        return _ArrowWriter(pa_ipc.new_file(stream, _decoded(schema)), _decoded(schema))
    if format == "arrows":
        return _ArrowWriter(pa_ipc.new_stream(stream, schema))
    if format == "jsonl":
        return _JsonlWriter(stream)
    return _CsvWriter(stream, schema, "\t" if format == "tsv" else ",")


class _ArrowWriter:
    """Parquet and Arrow IPC: pyarrow's writers, which take tables as they are."""

    def __init__(self, writer: Any, schema: pa.Schema | None = None) -> None:
        self._writer = writer
        self._schema = schema

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table if self._schema is None else table.cast(self._schema))

    def close(self) -> None:
        self._writer.close()


class _CsvWriter:
    """CSV, which has no nested values: lists, maps and structs are written as JSON text."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema, delimiter: str) -> None:
        self._nested = [name for name, kind in zip(schema.names, schema.types, strict=True) if _nested(kind)]
        flat = [pa.field(f.name, pa.string()) if f.name in self._nested else _plain(f) for f in schema]
        self._schema = pa.schema(flat)
        options = pa_csv.WriteOptions(delimiter=delimiter)
        self._writer = pa_csv.CSVWriter(stream, self._schema, write_options=options)

    def write(self, table: pa.Table) -> None:
        columns = [
            pa.array([None if value is None else _json(value) for value in column.to_pylist()], pa.string())
            if name in self._nested
            else column.cast(self._schema.field(name).type)
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class _JsonlWriter:
    """One JSON object per line.

    Timestamps are ISO 8601 with all their digits, binary is hexadecimal, decimals are text, NaN is null.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, table: pa.Table) -> None:
        columns = [
            column.cast(pa.string()) if _is_moment(column.type) else column for column in table.columns
        ]
        rows = pa.Table.from_arrays(columns, names=table.column_names).to_pylist()
        lines = "\n".join(map(_json, rows))
        self._stream.write(lines.encode() + b"\n")

    def close(self) -> None:
        self._stream.flush()


def _nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind))


def _is_moment(kind: pa.DataType) -> bool:
    # As Python objects these would lose what is below a microsecond.
    return bool(pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def _decoded(schema: pa.Schema) -> pa.Schema:
    return pa.schema([_plain(column) for column in schema])


def _plain(column: pa.Field) -> pa.Field:
    return column.with_type(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _json(value: Any) -> str:
    try:
        return json.dumps(value, default=_json_scalar, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_without_nan(value), default=_json_scalar, ensure_ascii=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _json_scalar(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat()) if isoformat is not None else str(value)
