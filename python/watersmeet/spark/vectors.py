"""Vectors of one length, which Spark's types cannot say: columns of arrays or bytes that users measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from watersmeet.errors import ConfigError, SchemaError
from watersmeet.vocabulary import Predicate
from watersmeet.vocabulary.predicate import Distance

__all__ = ["check_vectors", "fixed", "measured", "plain"]


def check_vectors(vectors: Any, on: Predicate | None, columns: tuple[list[str], list[str]]) -> dict[str, int]:
    """The lengths by column; ConfigError or SchemaError where they have no meaning or one is missing."""
    if vectors is None:
        vectors = {}
    if not isinstance(vectors, Mapping) or not all(
        isinstance(length, int) and not isinstance(length, bool) and length > 0 for length in vectors.values()
    ):
        raise ConfigError(f"vectors={vectors!r}: expected lengths by column, such as {{'image': 64}}")
    for name in vectors:
        if name not in columns[0] + columns[1]:
            raise SchemaError(f"vectors[{name!r}]: neither side has a column of that name")
    for leaf in () if on is None else on.leaves:
        if isinstance(leaf, Distance):
            for name in (leaf.left, leaf.right):
                if name not in vectors:
                    raise SchemaError(
                        f"{leaf}: Spark's types do not say how long the vectors of column {name!r} are;"
                        f" give vectors={{{name!r}: <numbers, or bytes of a binary>}}"
                    )
    return dict(vectors)


def measured(schema: pa.Schema, vectors: Mapping[str, int], *, about: str) -> pa.Schema:
    """The schema with the types of these columns fixed in length."""
    for name, length in vectors.items():
        place = schema.get_field_index(name)
        if place < 0:
            continue
        kind = schema.field(place).type
        if pa.types.is_list(kind):
            kind = pa.list_(kind.value_type, length)
        elif pa.types.is_binary(kind):
            kind = pa.binary(length)
        else:
            raise SchemaError(f"{about}: vectors[{name!r}]: the column is {kind}; expected array or binary")
        schema = schema.set(place, schema.field(place).with_type(kind))
    return schema


def fixed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the types of a measured schema; SchemaError if a vector has another length."""
    try:
        return table.cast(schema)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"a vector has not the length that vectors= says: {error}") from error


def plain(schema: pa.Schema) -> pa.Schema:
    """The schema as Spark knows it."""
    fields = []
    for field in schema:
        if pa.types.is_fixed_size_list(field.type):
            field = field.with_type(pa.list_(field.type.value_type))
        elif pa.types.is_fixed_size_binary(field.type):
            field = field.with_type(pa.binary())
        fields.append(field)
    return pa.schema(fields)
