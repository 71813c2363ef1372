"""join(): two DataFrames in, one out; batch or streaming by what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql.types import StructField, StructType

from watersmeet.errors import ConfigError
from watersmeet.spark.asking import asked
from watersmeet.spark.batch import batch_join
from watersmeet.spark.keys import with_key_bucket
from watersmeet.spark.request import How, Request
from watersmeet.spark.streaming import streaming_join
from watersmeet.spark.watermarks import delays
from watersmeet.vocabulary import Predicate, Shed, SpanLike, TimeUnit

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["join", "planned"]


def join(
    left: DataFrame,
    right: DataFrame,
    *,
    on: Predicate | None = None,
    window: SpanLike | tuple[SpanLike, SpanLike] | None = None,
    between: tuple[SpanLike, SpanLike] | None = None,
    time: str | tuple[str, str] = "ts",
    how: How = "inner",
    suffix: str = "_right",
    time_unit: TimeUnit = "us",
    partitions: int | None = None,
    slice: SpanLike | None = None,  # noqa: A002  # the word of ARCHITECTURE.md
    skew: Literal["slice"] | None = None,
    shed: Shed | None = None,
    type: str | tuple[str, str] | None = None,  # noqa: A002  # as in wm.Stream
    lateness: SpanLike | None = None,
    name: str = "join",
) -> DataFrame:
    """Join two DataFrames on a predicate, inside a window of time; the arguments of wm.join mean the same.

    left, right   two batch or two streaming DataFrames; streams have a watermark on their time column
    partitions    how many buckets the work is divided into (default: spark.sql.shuffle.partitions)
    slice         without equality: the stretch of time that one bucket owns before the next one's turn
    lateness      streams: how late a row may be, for both sides, instead of their watermarks' delays
    name          streams: under which the counters are observed, "watersmeet:<name>"
    skew          "slice": divide an equality by time as well, where few keys have most of the rows
    shed          wm.Shed(budget=wm.per_batch("2s")): each micro-batch's join within that time, by shedding
                  comparisons; wm.comparisons(n): per second of stream time, over all buckets
    type          the column that tells a row's type, for Shed(utility=...)

    Equality is divided by key; everything else by time; a window of rows, or a full join without equality,
    is not divided. The answer is the same for any number of partitions.
    """
    streaming = _is_stream(left, right)
    request = asked(
        (left, right),
        on=on,
        window=window,
        between=between,
        time=time,
        how=how,
        suffix=suffix,
        time_unit=time_unit,
        partitions=partitions,
        slice_span=slice,
        skew=skew,
        shed=shed,
        type_columns=type,
        streaming=streaming,
    )
    late = delays((left, right), request.times, lateness) if streaming else None
    return planned(request, (left, right), delays_ms=late, name=name)


def planned(
    request: Request,
    sides: tuple[DataFrame, DataFrame],
    *,
    delays_ms: tuple[int | None, int | None] | None,
    name: str,
) -> DataFrame:
    """The plan of a join. Streams have delays; None for one that comes out of another join."""
    out_schema = spark_schema(request, *sides)
    if request.by == "key":
        sides = with_key_bucket(sides, request.on, times=request.times, buckets=request.partitions)
    if delays_ms is None:
        return batch_join(request, sides, out_schema)
    return streaming_join(request, sides, out_schema, delays_ms=delays_ms, name=name)


def spark_schema(request: Request, left: DataFrame, right: DataFrame) -> StructType:
    """The result's columns: wm.join's names, Spark's own types."""
    out: pa.Schema = request.output_schema()
    kinds = [field.dataType for side in (left, right) for field in side.schema.fields]
    return StructType([StructField(name, kinds[place]) for place, name in enumerate(out.names)])


def _is_stream(left: Any, right: Any) -> bool:
    for name, side in (("left", left), ("right", right)):
        if not hasattr(side, "isStreaming"):
            raise ConfigError(f"{name}={side!r}: expected a Spark DataFrame")
    if left.isStreaming != right.isStreaming:
        stream, other = ("left", "right") if left.isStreaming else ("right", "left")
        raise ConfigError(
            f"{stream} is a stream and {other} is not: expected two streams or two batch DataFrames"
        )
    return bool(left.isStreaming)
