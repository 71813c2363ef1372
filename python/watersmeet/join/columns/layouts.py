"""Arrow layouts that hold the same values in other forms, written out plainly.

The core reads plain layouts only, and pyarrow can gather rows of some layouts only; so dictionaries, runs and
views are decoded here. Types and arrays have one function each: what a column of a type becomes, and how.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["gatherable_type", "is_list", "list_of", "no_rows", "plain_type", "rewritten"]


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that the core reads: no dictionary, run-end, view, half-float or extension, at any depth."""
    kind = _storage(kind)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if is_list(kind):
        return list_of(kind, plain_type(kind.value_type))
    return _without_views(kind)


def gatherable_type(kind: pa.DataType) -> pa.DataType:
    """The type in which payload is kept: as it came, but for runs and views, which pyarrow cannot gather."""
    if pa.types.is_run_end_encoded(kind):
        return gatherable_type(kind.value_type)
    if pa.types.is_map(kind):
        key, item = gatherable_type(kind.key_type), gatherable_type(kind.item_type)
        return kind if (key, item) == (kind.key_type, kind.item_type) else pa.map_(key, item)
    if is_list(kind):
        inner = gatherable_type(kind.value_type)
        return kind if inner == kind.value_type else list_of(kind, inner)
    if pa.types.is_struct(kind):
        fields = [field.with_type(gatherable_type(field.type)) for field in kind]
        return (
            kind
            if all(one.type == two.type for one, two in zip(fields, kind, strict=True))
            else pa.struct(fields)
        )
    return _without_views(kind)


def rewritten(array: pa.Array, target: pa.DataType) -> pa.Array:
    """The same values in the layout `target`; ArrowException where a value does not fit it."""
    if isinstance(array, pa.ExtensionArray) and array.type != target:
        array = array.storage
    kind = array.type
    if kind == target:
        return array
    if pa.types.is_run_end_encoded(kind):
        return rewritten(pc.run_end_decode(array), target)
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(target):
        return rewritten(array.dictionary_decode(), target)
    if _is_list_view(kind):
        return rewritten(_list_of_view(array), target)
    if is_list(kind) and is_list(target) and not pa.types.is_fixed_size_list(kind):
        return _list_with(array, rewritten(array.values, target.value_type))
    return array.cast(target)


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """An empty batch. Not by schema.empty_table(), which fails for unions and for lists of dictionaries."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists: of 32 or 64-bit offsets, of fixed size, or views. A map is none."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or _is_list_view(kind)
    )


def list_of(kind: pa.DataType, inner: pa.DataType) -> pa.DataType:
    """The plain list type like `kind`, of values of the type `inner`."""
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inner, kind.list_size)
    large = pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind)
    return pa.large_list(inner) if large else pa.list_(inner)


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _storage(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _without_views(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    return kind


def _list_with(array: pa.Array, values: pa.Array) -> pa.Array:
    """The same lists over other values, item for item."""
    maker = pa.LargeListArray if pa.types.is_large_list(array.type) else pa.ListArray
    if array.null_count == 0:
        return maker.from_arrays(array.offsets, values)
    offsets = array.offsets
    if offsets.offset:  # pyarrow wants offsets that begin their buffer when a mask is given
        offsets = pa.array(offsets.to_numpy(), offsets.type)
    return maker.from_arrays(offsets, values, mask=pc.is_null(array))


def _list_of_view(array: pa.Array) -> pa.Array:
    """A list view as a list. Not by cast(): pyarrow 26 loses the items when it casts one."""
    large = pa.types.is_large_list_view(array.type)
    sizes = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64 if large else np.int32)
    maker = pa.LargeListArray if large else pa.ListArray
    mask = pc.is_null(array) if array.null_count else None
    return maker.from_arrays(pa.array(offsets), array.flatten(), mask=mask)
