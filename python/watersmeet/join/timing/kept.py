"""Rows that wait, in order, until every stream of a join has been heard of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.timing.arrival import time_values
from watersmeet.join.timing.sources import Ready
from watersmeet.vocabulary import Stream

__all__ = ["KeptRows"]


class KeptRows:
    """The rows of each stream so far, and how many were given up since no partner could come any more."""

    def __init__(self, streams: int) -> None:
        self.rows: list[list[Ready]] = [[] for _ in range(streams)]
        self.expired = [0] * streams

    def count(self, stream: int) -> int:
        """Rows of a stream that wait."""
        return sum(ready.batch.num_rows for ready in self.rows[stream])

    def keep(self, ready: tuple[Ready, ...]) -> None:
        """Let rows wait."""
        for each in ready:
            self.rows[each.stream].append(each)

    def with_more(self, ready: tuple[Ready, ...]) -> tuple[Ready, ...]:
        """All rows that wait, and these, one batch a stream."""
        found = []
        for stream, kept in enumerate(self.rows):
            parts = [*kept, *(each for each in ready if each.stream == stream)]
            if parts:
                found.append(_combined(stream, parts))
        return tuple(found)

    def clear(self) -> None:
        """No row waits any more."""
        self.rows = [[] for _ in self.rows]

    def drop_before(self, stream: Stream, place: int, schema: StreamSchema | None, low_ns: int) -> None:
        """Give up batches that have left their window by the time that all streams have reached."""
        window, kept = stream.window, self.rows[place]
        if schema is None or window is None or window.is_rows:
            return
        while kept:
            newest = int(time_values(stream, schema, kept[0].batch)[-1]) * schema.time_ns
            if newest + window.amount >= low_ns:
                return
            self.expired[place] += kept[0].batch.num_rows
            del kept[0]


def _combined(stream: int, parts: list[Ready]) -> Ready:
    if len(parts) == 1:
        return parts[0]
    table = pa.Table.from_batches([part.batch for part in parts]).combine_chunks()
    return Ready(stream, table.to_batches()[0], np.concatenate([part.came for part in parts]))
