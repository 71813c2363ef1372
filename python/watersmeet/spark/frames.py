"""Arrow arrays as a pandas frame, for Spark's stateful operator, which takes nothing else from Python.

Spark turns every column of such a frame into Arrow, and nested values one by one, in a Python function that
it hands to Series.apply. Here the values are Arrow already, of the type that Spark is about to make, so that
apply() leaves them alone. A Spark that goes another way would convert them: slowly, with the same result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

__all__ = ["frame_of"]


class _Column(pd.Series):  # type: ignore[misc]  # pandas has no types here
    @property
    def _constructor(self) -> Any:
        return _Column

    def apply(self, *args: Any, **options: Any) -> Any:
        """The column as it is."""
        del args, options
        return self


class _Frame(pd.DataFrame):  # type: ignore[misc]
    @property
    def _constructor(self) -> Any:
        return _Frame

    @property
    def _constructor_sliced(self) -> Any:
        return _Column


def frame_of(columns: Mapping[str, pa.Array]) -> pd.DataFrame:
    """A frame over Arrow arrays of one length. No value becomes a Python object."""
    return _Frame(
        {name: pd.arrays.ArrowExtensionArray(pa.chunked_array([array])) for name, array in columns.items()},
        copy=False,
    )
