"""A stream's columns as its first batch had them, and later batches held against that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.join.columns.layouts import no_rows, plain_type
from watersmeet.vocabulary import Stream
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["StreamSchema", "check_zones", "declare"]


class StreamSchema:
    """The names and types that every batch of one stream must have, in whatever order."""

    def __init__(self, stream: Stream, schema: pa.Schema, *, needed: Iterable[str]) -> None:
        """Check a first schema: every name once, the needed ones there, a time column that holds times."""
        self.about = f"stream {stream.name!r}"
        self.schema = schema.remove_metadata()
        twice = [name for name, count in Counter(schema.names).items() if count > 1]
        if twice:
            raise SchemaError(f"{self.about}: more than one column is named {twice[0]!r}")
        for name in (stream.time, *needed):
            if name not in schema.names:
                raise SchemaError(
                    f"{self.about}: there is no column {name!r}; the columns are"
                    f" {', '.join(map(repr, schema.names)) or 'none'}"
                )
        self.kinds: dict[str, pa.DataType] = dict(zip(schema.names, schema.types, strict=True))
        self.time_kind = plain_type(self.kinds[stream.time])
        self.time_ns = _time_ns(stream, self.kinds[stream.time], self.time_kind, self.about)
        self._seen = self.schema
        self._in_order = True

    def aligned(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with its columns in the first order; SchemaError naming a column that has changed."""
        if not batch.schema.equals(self._seen):
            batch = self._compare(batch)
            self._seen, self._in_order = batch.schema, batch.schema.names == self.schema.names
        return batch if self._in_order else batch.select(self.schema.names)

    def _compare(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        names = Counter(batch.schema.names)
        for name in self.kinds:
            if name not in names:
                raise SchemaError(f"{self.about}: column {name!r} was there before and is missing now")
        for name, count in names.items():
            if count > 1:
                raise SchemaError(f"{self.about}: more than one column is named {name!r}")
            if name not in self.kinds:
                raise SchemaError(f"{self.about}: column {name!r} is new; expected {', '.join(self.kinds)}")
            field = batch.schema.field(name)
            if field.type != self.kinds[name]:
                batch = self._with_first_index(batch, field)
        return batch

    def _with_first_index(self, batch: pa.RecordBatch, field: pa.Field) -> pa.RecordBatch:
        """Dictionaries may grow: the width of their indexes is no part of a column's type."""
        first = self.kinds[field.name]
        if (
            pa.types.is_dictionary(first)
            and pa.types.is_dictionary(field.type)
            and first.value_type == field.type.value_type
        ):
            place = batch.schema.get_field_index(field.name)
            try:
                return batch.set_column(place, field.with_type(first), batch.column(place).cast(first))
            except pa.ArrowException as error:
                raise SchemaError(f"{self.about}: column {field.name!r}: {error}") from error
        raise SchemaError(f"{self.about}: column {field.name!r} was {first} before and is {field.type} now")


def declare(streams: Sequence[Stream], push: Callable[[int, pa.RecordBatch], object]) -> None:
    """Push an empty batch of each stream whose schema is given, so that its columns are known at once."""
    for place, stream in enumerate(streams):
        if stream.schema is not None:
            push(place, no_rows(pa.schema(stream.schema)))


def check_zones(schemas: Iterable[StreamSchema | None]) -> None:
    """SchemaError where some streams' times have a zone and others' have none.

    How far apart two such times are, nobody knows.
    """
    with_zone: dict[bool, StreamSchema] = {}
    for schema in schemas:
        if schema is not None and pa.types.is_timestamp(schema.time_kind):
            with_zone.setdefault(schema.time_kind.tz is not None, schema)
    if len(with_zone) == 2:
        raise SchemaError(
            f"{with_zone[False].about}: the time column is {with_zone[False].time_kind}, without a zone, and"
            f" that of {with_zone[True].about} is {with_zone[True].time_kind}: they cannot be compared; give"
            " both a zone, or neither"
        )


def _time_ns(stream: Stream, given: pa.DataType, kind: pa.DataType, about: str) -> int:
    """How many nanoseconds one step of the time column stands for."""
    if pa.types.is_timestamp(kind):
        return NANOSECONDS[kind.unit]
    if pa.types.is_integer(kind) or pa.types.is_null(kind):  # of a column without any value no type is known
        return NANOSECONDS[stream.time_unit]
    raise SchemaError(
        f"{about}: time column {stream.time!r} is {given}; expected an Arrow timestamp, or integers in"
        f" {stream.time_unit!r} (time_unit=)"
    )
