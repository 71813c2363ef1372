"""From a batch as it was pushed to the batch that the core reads: its join columns, in plain layouts."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.schema import StreamSchema

__all__ = ["Intake", "handed_over"]


class Intake:
    """The way of one stream's batches into the core; made once per schema, since every push goes this way."""

    __slots__ = ("_about", "_handovers", "_places", "is_whole", "names")

    def __init__(self, schema: StreamSchema, handovers: Sequence[Handover]) -> None:
        self._about = schema.about
        self._handovers = handovers
        places = [schema.schema.get_field_index(handover.name) for handover in handovers]
        self._places = places if all(handover.is_direct for handover in handovers) else None
        self.is_whole = self._places == list(range(len(schema.schema)))
        self.names = tuple(dict.fromkeys(name for handover in handovers for name in handover.columns))

    def core_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The core's columns of a batch that has the stream's columns in their first order."""
        if self.is_whole:
            return batch
        if self._places is not None:
            return batch.select(self._places)
        return handed_over(batch, self._handovers, about=self._about)


def handed_over(batch: pa.RecordBatch, handovers: Sequence[Handover], *, about: str) -> pa.RecordBatch:
    """The core's columns of a batch, found by name."""
    arrays = [handover.of_batch(batch, about=about) for handover in handovers]
    return pa.RecordBatch.from_arrays(arrays, names=[handover.name for handover in handovers])
