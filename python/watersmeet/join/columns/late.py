"""Late rows that are kept for the user, whole, in order of arrival."""

from __future__ import annotations

import pyarrow as pa

from watersmeet.join.columns.layouts import gatherable_type, no_rows, rewritten
from watersmeet.join.columns.payload import Rows

__all__ = ["LateRows"]


class LateRows:
    """The late rows of one stream since they were last asked for."""

    def __init__(self, kept: pa.Table | None = None) -> None:
        self._tables: list[pa.Table] = [] if kept is None else [kept]
        self._unpicked: list[tuple[pa.RecordBatch, Rows]] = []

    def keep(self, batch: pa.RecordBatch, places: Rows) -> None:
        """Keep the rows at these places of a batch; the whole batch, while there is no memory to pick."""
        self._unpicked.append((batch, places))
        try:
            self._pick()
        except MemoryError:
            return  # until they are asked for: the join has counted them already

    def _pick(self) -> None:
        while self._unpicked:
            self._tables.append(_picked(*self._unpicked[0]))
            del self._unpicked[0]

    @property
    def bytes(self) -> int:
        """Memory held by these rows."""
        return sum(table.nbytes for table in self._tables)

    def keep_at_most(self, most_bytes: int) -> None:
        """Forget the oldest ones beyond so many bytes."""
        while len(self._tables) > 1 and self.bytes > most_bytes:
            del self._tables[0]
        if self.bytes > most_bytes:
            only = self._tables[0]
            kept = int(only.num_rows * most_bytes / only.nbytes)
            self._tables = [pa.concat_tables([only.slice(only.num_rows - kept)]).combine_chunks()]

    def table(self, schema: pa.Schema | None) -> pa.Table:
        """What is kept; `schema` is the stream's, None before it is known."""
        self._pick()
        if not self._tables:
            return pa.table({}) if schema is None else pa.Table.from_batches([no_rows(kept_schema(schema))])
        if len(self._tables) > 1:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]
        return self._tables[0]

    def clear(self) -> None:
        """Forget what is kept."""
        self._tables = []


def _picked(batch: pa.RecordBatch, places: Rows) -> pa.Table:
    schema = kept_schema(batch.schema)
    chosen = pa.array(places)
    columns = [
        rewritten(column, kind).take(chosen) for column, kind in zip(batch.columns, schema.types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def kept_schema(schema: pa.Schema) -> pa.Schema:
    """A stream's schema in layouts of which rows can be gathered."""
    return pa.schema([field.with_type(gatherable_type(field.type)) for field in schema])
