"""Which rows of a batch are pushed where not all of them fit.

They are spread evenly over the batch. A row that is late by one that is not pushed is late all the same, or
the join would give pairs that the full answer has not; it is pushed without its time, which matches nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.join.memory.numbering import kept_places
from watersmeet.vocabulary import Span

if TYPE_CHECKING:
    from watersmeet.join.two_way.engine import Engine

__all__ = ["thinned"]


def thinned(engine: Engine, side: int, batch: pa.RecordBatch, kept: int) -> tuple[pa.RecordBatch, int, int]:
    """`kept` rows of the batch, and the first and the last time in all of it, in the join's unit."""
    intake, plan = engine.setup.intakes[side], engine.setup.plan
    assert intake is not None  # the schema is known
    assert plan is not None
    read = intake.core_batch(batch).column(0).cast(pa.int64())
    oldest = pc.min(read).as_py() or 0
    times = read.fill_null(oldest).to_numpy() * plan.multipliers[side]
    places = kept_places(batch.num_rows, kept)
    chosen = batch.take(pa.array(places))
    lateness = _lateness(engine, side)
    if kept and lateness is not None:
        newest = engine.setup.core.progress()[2][side][1]
        late = _late(times, newest=newest, lateness=lateness // plan.unit_ns)[places]
        if late.any():
            at = chosen.schema.get_field_index(engine.config.streams[side].time)
            column = pc.if_else(pa.array(late), None, chosen.column(at))
            chosen = chosen.set_column(at, chosen.schema.field(at), column)
    return chosen, int(times.min()), int(times.max())


def _late(times: npt.NDArray[np.int64], *, newest: int, lateness: int) -> npt.NDArray[np.bool_]:
    """Which rows are late by those before them, `newest` being the newest before the batch."""
    before = np.maximum.accumulate(np.concatenate([[newest], times[:-1]]))
    return np.asarray(times < before.astype(np.float64) - lateness)


def _lateness(engine: Engine, side: int) -> int | None:
    """Nanoseconds that rows may be late now; None where there is no bound, or rows may not be late at all."""
    lateness = engine.config.streams[side].lateness
    if isinstance(lateness, Span):
        return lateness.amount
    seconds = None if lateness is None or engine.pace is None else engine.pace.lateness_s(side)
    return None if seconds is None or math.isinf(seconds) else round(seconds * 1e9)
