"""Pairs of row numbers as the table that a user asked for: row numbers, or the columns of both sides."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from watersmeet._core import _native
from watersmeet.errors import SchemaError
from watersmeet.join.columns.layouts import no_rows
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.join.two_way.config import JoinConfig

__all__ = ["Results", "output_schema", "row_schema", "row_table"]

_import: Final = pa.RecordBatch._import_from_c
_as_table: Final = pa.Table.from_batches
_ONE_SIDED: Final = ("semi", "anti")
# Whose row may be missing from a result.
_MISSING: Final = {"left": (False, True), "right": (True, False), "full": (True, True)}


def row_schema(how: str) -> pa.Schema:
    """The columns of output="rows"."""
    names = ["left_row"] if how in _ONE_SIDED else ["left_row", "right_row"]
    return pa.schema([(name, pa.int64()) for name in names])


def output_schema(config: JoinConfig, left: pa.Schema | None, right: pa.Schema | None) -> pa.Schema:
    """The columns of output="columns": left's, then right's; those of a side not yet known are left out."""
    missing = _MISSING.get(config.how, (False, False))
    fields = [_field(field, field.name, missing[0]) for field in left or ()]
    if config.how not in _ONE_SIDED:
        taken = {field.name for field in fields}
        for field in right or ():
            name = field.name + config.suffix if field.name in taken else field.name
            fields.append(_field(field, name, missing[1]))
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(
                f"suffix={config.suffix!r} gives two output columns the name {name!r}; choose another suffix"
            )
    return pa.schema(fields)


def _field(field: pa.Field, name: str, may_miss: bool) -> pa.Field:
    return pa.field(name, field.type, nullable=field.nullable or may_miss)


def row_table(schema: pa.Schema, rows: tuple[Rows, Rows], outbox: _native.Outbox) -> pa.Table:
    """Row numbers as a table of one or both columns; -1 becomes null."""
    if len(schema) == 2:
        address = outbox.pairs(*rows)
    else:
        outbox.begin(len(rows[0]), 1)
        outbox.add_rows(rows[0])
        address = outbox.address
    return pa.Table.from_batches([pa.RecordBatch._import_from_c(address, schema)])


class Results:
    """Makes output tables; built anew when a stream's schema becomes known."""

    def __init__(self, config: JoinConfig, schemas: tuple[pa.Schema | None, pa.Schema | None]) -> None:
        """`schemas` are those of the stores: what is gathered, in the types in which it is kept."""
        self._as_rows = config.output == "rows"
        self._sides = (0,) if config.how in _ONE_SIDED else (0, 1)
        self._missing = _MISSING.get(config.how, (False, False))
        self.schema = row_schema(config.how) if self._as_rows else output_schema(config, *schemas)
        self.outbox = _native.Outbox()
        self._nothing = pa.Table.from_batches([no_rows(self.schema)])

    def batch_at(self, address: int | None) -> pa.Table:
        """The results that the core has put into the outbox; None if there are none."""
        return self._nothing if address is None else _as_table([_import(address, self.schema)])

    def table(
        self, rows: tuple[Rows, Rows], stores: tuple[PayloadStore | None, PayloadStore | None]
    ) -> pa.Table:
        """The results with these left and right rows."""
        if len(rows[0]) == 0:
            return self._nothing
        if self._as_rows:
            return row_table(self.schema, rows, self.outbox)
        sides = [
            (store, rows[side], self._missing[side])
            for side, store in enumerate(stores)
            if store is not None and side in self._sides
        ]
        if all(store.is_fixed for store, _, _ in sides):
            self.outbox.begin(len(rows[0]), len(self.schema))
            for store, own, may_miss in sides:
                store.gather_into(self.outbox, own, may_miss=may_miss)
            return pa.Table.from_batches([pa.RecordBatch._import_from_c(self.outbox.address, self.schema)])
        arrays = [column for store, own, miss in sides for column in store.gather(own, may_miss=miss)]
        return pa.Table.from_arrays(arrays, schema=self.schema)
