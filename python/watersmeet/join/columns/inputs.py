"""Whatever users have as a table, as Arrow: pyarrow, anything with the PyCapsule interface, pandas, NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.join.columns.layouts import no_rows

__all__ = ["as_batch", "as_table"]

_ALLOWED: Final = (
    "expected a pyarrow table or batch, anything with the Arrow PyCapsule interface (Polars, DuckDB, ...),"
    " a pandas DataFrame, or a dict of NumPy arrays"
)


def as_batch(source: Any, *, about: str) -> pa.RecordBatch:
    """The rows of `source` as one batch; a table in several chunks is copied into one."""
    kind = type(source)
    if kind is pa.RecordBatch:
        return source
    table = source if kind is pa.Table else as_table(source, about=about)
    batches = table.to_batches()
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return no_rows(table.schema)
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise SchemaError(f"{about}: {len(table):,} rows do not fit one Arrow batch; push them in parts")
    return batches[0]


def as_table(source: Any, *, about: str) -> pa.Table:
    """The rows of `source` as a table; SchemaError, naming `about`, if it is none."""
    if isinstance(source, pa.Table):
        return source
    try:
        table = _read(source)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(f"{about}: {_first_line(error)}; {_ALLOWED}") from error
    if table is None:
        raise SchemaError(f"{about}={_shown(source)}: {_ALLOWED}")
    return table


def _read(source: Any) -> pa.Table | None:
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    # NumPy and pandas may change a column in place later on; Arrow data never change.
    if isinstance(source, Mapping):
        return pa.table({name: _own_copy(values) for name, values in source.items()})
    if _is_pandas(source):
        return pa.Table.from_pandas(source.copy(), preserve_index=False).replace_schema_metadata(None)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        table = pa.table(source)
        return table if isinstance(table, pa.Table) else None
    return None


def _own_copy(values: Any) -> Any:
    return values.copy() if isinstance(values, np.ndarray) else values


def _is_pandas(source: Any) -> bool:
    """Whether this is a pandas DataFrame; asked without importing pandas."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _shown(source: object) -> str:
    text = repr(source)
    return text if len(text) <= 60 else f"{text[:57]}..."
