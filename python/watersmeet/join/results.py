"""Pairs of row numbers as the table that a user asked for: row numbers, or the columns of both sides."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.join.config import JoinConfig
from watersmeet.join.payload import PayloadStore, Rows

__all__ = ["Results", "output_schema", "row_schema", "row_table"]

_INT64: Final = pa.int64()
_ONE_SIDED: Final = ("semi", "anti")
# Whose row may be missing from a result.
_MISSING: Final = {"left": (False, True), "right": (True, False), "full": (True, True)}


def row_schema(how: str) -> pa.Schema:
    """The columns of output="rows"."""
    names = ["left_row"] if how in _ONE_SIDED else ["left_row", "right_row"]
    return pa.schema([(name, _INT64) for name in names])


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


def row_table(schema: pa.Schema, how: str, rows: tuple[Rows, Rows]) -> pa.Table:
    """Row numbers as a table, over the memory of the arrays given; -1 becomes null."""
    missing = _MISSING.get(how, (False, False))
    sides = zip(rows, missing, strict=True) if how not in _ONE_SIDED else ((rows[0], False),)
    return pa.Table.from_arrays([_numbers(own, may_miss) for own, may_miss in sides], schema=schema)


def _numbers(rows: Rows, may_miss: bool) -> pa.Array:
    if may_miss:
        missing = rows < 0
        if missing.any():
            return pa.array(rows, mask=missing)
    return pa.Array.from_buffers(_INT64, len(rows), [None, pa.py_buffer(rows)], 0)


class Results:
    """Makes output tables; built anew when a stream's schema becomes known."""

    def __init__(self, config: JoinConfig, schemas: tuple[pa.Schema | None, pa.Schema | None]) -> None:
        """`schemas` are those of the stores: what is gathered, in the types in which it is kept."""
        self._how = config.how
        self._as_rows = config.output == "rows"
        self._sides = (0,) if config.how in _ONE_SIDED else (0, 1)
        self._missing = _MISSING.get(config.how, (False, False))
        self.schema = row_schema(config.how) if self._as_rows else output_schema(config, *schemas)
        self._nothing = self.schema.empty_table()

    def table(
        self, rows: tuple[Rows, Rows], stores: tuple[PayloadStore | None, PayloadStore | None]
    ) -> pa.Table:
        """The results with these left and right rows."""
        if len(rows[0]) == 0:
            return self._nothing
        if self._as_rows:
            return row_table(self.schema, self._how, rows)
        arrays = []
        for side in self._sides:
            store = stores[side]
            if store is not None:
                arrays += store.gather(rows[side], may_miss=self._missing[side])
        return pa.Table.from_arrays(arrays, schema=self.schema)
