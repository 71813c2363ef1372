"""Copies of a log's entries on this machine's disk, for a worker that is some batches behind.

Reading a megabyte back from Spark's state store takes 20 ms, from here one. A copy is only a shortcut: it is
named by the token of the batch that wrote it, which the log's index knows too, so that an attempt that was
lost leaves copies that nobody asks for; what is missing here is read from the store. The folder is in Spark's
own scratch space on this machine, which Spark removes when the executor ends.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

import pyarrow as pa

__all__ = ["Copies"]

_SCRATCH: Final = "SPARK_LOCAL_DIRS"  # Spark tells its Python workers


class Copies:
    """The copies of one bucket's entries; none, where there is no scratch folder."""

    def __init__(self, owner: str, label: int) -> None:
        scratch = os.environ.get(_SCRATCH, "").split(",")[0]
        self._folder = Path(scratch) / f"watersmeet-{owner}-{label}" if scratch else None

    def put(self, number: int, token: str, data: bytes) -> None:
        """Keep a copy, if the disk takes it."""
        if self._folder is None:
            return
        hidden = self._folder / f".{number}-{token}"
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            hidden.write_bytes(data)
            hidden.rename(self._folder / f"{number}-{token}")

    def get(self, number: int, token: str) -> pa.Buffer | None:
        """The bytes of an entry, as the batch with this token wrote it; None: there is no copy."""
        if self._folder is None:
            return None
        with contextlib.suppress(OSError):
            return pa.memory_map(str(self._folder / f"{number}-{token}")).read_buffer()
        return None

    def drop(self, number: int) -> None:
        """Remove what there is of an entry."""
        if self._folder is None:
            return
        for copy in self._folder.glob(f"*{number}-*"):
            if copy.name.lstrip(".").partition("-")[0] == str(number):
                copy.unlink(missing_ok=True)
