"""The join of two batch DataFrames: packed into buckets, each bucket joined whole by the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from watersmeet.join import join as table_join
from watersmeet.spark.blobs import table_of
from watersmeet.spark.live import Arrived, Live, in_order
from watersmeet.spark.meter import Meter
from watersmeet.spark.pack import instants
from watersmeet.spark.packing import packed
from watersmeet.spark.request import OWNED, VISITING, Request
from watersmeet.spark.shipped import by_groups
from watersmeet.spark.vectors import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["batch_join", "join_bucket"]


def batch_join(request: Request, sides: tuple[DataFrame, DataFrame], out_schema: Any) -> DataFrame:
    """The plan: pack both sides, bring buckets together, join each."""
    left, right = (packed(request, side, place).groupBy("label") for place, side in enumerate(sides))
    return left.cogroup(right).applyInArrow(
        by_groups("watersmeet.spark.batch", "join_bucket", request), out_schema
    )


def join_bucket(request: Request, left: pa.Table, right: pa.Table) -> pa.Table:
    """The results of one bucket, on a worker."""
    tables = [
        table_of((blob.as_buffer() for blob in packed["data"]), request.schema(side))
        for side, packed in enumerate((left, right))
    ]
    if request.shed is not None:
        return _within_budget(request, left, right).cast(plain(request.output_schema()))
    out = table_join(
        *tables,
        on=request.on,
        time=request.times,
        time_unit=request.time_unit,
        how=request.how,
        suffix=request.suffix,
        **request.windows(),
    )
    return out.cast(plain(request.output_schema()))


def _within_budget(request: Request, left: pa.Table, right: pa.Table) -> pa.Table:
    """The same, as one large micro-batch of which everything is known."""
    rows = []
    for side, sent in enumerate((left, right)):
        for role in (OWNED, VISITING):
            mine = sent.filter(pc.equal(sent["role"], role))
            blobs = [blob.as_buffer() for blob in mine["data"]]
            table = table_of(blobs, request.schema(side))
            times, has_time = instants(request, side, table[request.times[side]])
            if not has_time.all():  # as in any inner join, they match nothing
                table, times = table.filter(pa.array(has_time)), times[has_time]
            if len(times):
                rows.append(Arrived(side, role, *in_order(table, times)))
    found = Meter(request, {}, 0).join(Live(request, 0), rows)
    return pa.concat_tables(found) if found else request.output_schema().empty_table()
