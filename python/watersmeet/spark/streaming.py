"""The join of two streaming DataFrames: packed, brought together per bucket, joined statefully."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it

from watersmeet.errors import ConfigError
from watersmeet.spark.counts import COUNTERS, MEASURES
from watersmeet.spark.operator import result_type
from watersmeet.spark.packing import packed
from watersmeet.spark.request import SIDES, Request
from watersmeet.spark.shipped import Processor
from watersmeet.spark.vectors import plain
from watersmeet.spark.watermarks import without_watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["OBSERVED", "configure", "streaming_join"]

OBSERVED: Final = "watersmeet"  # how names of observed metrics begin
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_ARROW_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_NO_BOUND: Final = (1 << 31) - 1  # Spark's word for it
_CHANGELOG: Final = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def configure(spark: Any, *, wide_rows: bool = False) -> None:
    """Set what Spark's stateful operators need: the RocksDB state store, with changelog checkpoints.

    Unless rows are wide (a batch of spark.sql.execution.arrow.maxRecordsPerBatch of them would not fit into
    memory), or the session says something of its own, batches on their way to Python are bounded by rows
    alone: to bound them by bytes as well, Spark sums up the batch anew at every row, which takes longer than
    to write the row. A bucket's part of a micro-batch must then stay below the 2 GB of an Arrow column.
    """
    spark.conf.set(_PROVIDER, _ROCKSDB)
    spark.conf.set(_CHANGELOG, "true")
    if not wide_rows and _ARROW_BYTES not in spark.conf.getAll:
        spark.conf.set(_ARROW_BYTES, str(_NO_BOUND))


def streaming_join(
    request: Request,
    sides: tuple[DataFrame, DataFrame],
    out_schema: Any,
    *,
    delays_ms: tuple[int | None, int | None],
    name: str,
) -> DataFrame:
    """The plan of a streaming join. A side without a delay has its watermark further down the plan."""
    _check_session(sides[0].sparkSession)
    left, right = (
        _blobs(request, side, place, delay)
        for place, (side, delay) in enumerate(zip(sides, delays_ms, strict=True))
    )
    processor = Processor("watersmeet.spark.operator", "Operator", request, plain(request.output_schema()))
    cells = (
        left.unionByName(right)
        .groupBy("label")
        .transformWithStateInPandas(processor, result_type(out_schema), "append", "EventTime")
    )
    total, buckets = _observed()
    observed = cells.observe(f"{OBSERVED}:{name}", total.alias("total"), buckets.alias("buckets"))
    # Spark itself makes rows of the cells: one more step in Python would cost each task a second worker.
    return observed.select(F.inline("data"))


def _blobs(request: Request, side: DataFrame, place: int, delay_ms: int | None) -> DataFrame:
    if delay_ms is None:
        return packed(request, side, place).drop("max_ts")
    bare = without_watermark(side, SIDES[place])
    marked = packed(request, bare, place).withWatermark("max_ts", f"{delay_ms} milliseconds")
    # The watermark has seen it. Kept, Spark would drop late blobs whole, and count no row.
    return marked.drop("max_ts")


def _observed() -> tuple[Any, Any]:
    """The counters in total, and by bucket.

    Tasks only gather what buckets report: an aggregate per counter would have to be set up in each of them.
    """
    report = F.when(F.col("counters").isNotNull(), F.struct("label", "counters", "measures"))
    reports = F.collect_list(report)

    def named(values: Callable[[str, int], Any]) -> list[Any]:
        return [
            values(column, place).alias(counter)
            for column, counters in (("counters", COUNTERS), ("measures", MEASURES))
            for place, counter in enumerate(counters)
        ]

    def summed(rows: Any) -> Any:
        def over(column: str, place: int) -> Any:
            zero = F.lit(0).cast("long" if column == "counters" else "double")
            return F.aggregate(rows, zero, lambda sum_, row: sum_ + row[column][place])

        sums = F.struct(*named(over))
        return F.transform(F.array(sums), _with_recall)[0]

    buckets = F.transform(reports, lambda row: F.struct(row["label"], *named(lambda c, n: row[c][n])))
    return F.transform(F.array(reports), summed)[0], buckets


def _with_recall(sums: Any) -> Any:
    counters = [sums[name].alias(name) for name in (*COUNTERS, *MEASURES)]
    return F.struct(
        *counters,
        _share(sums["results"], sums["missed_now"]).alias("recall"),
        _share(sums["found"], sums["missed"]).alias("recall_so_far"),
    )


def _share(found: Any, missed: Any) -> Any:
    """The share of the full answer that was found; 1 where nothing was to be found."""
    missing = F.greatest(missed, F.lit(0.0))
    return F.coalesce(found / F.nullif(found + missing, F.lit(0.0)), F.lit(1.0))


def _check_session(spark: Any) -> None:
    provider = spark.conf.get(_PROVIDER, "")
    if "RocksDB" not in provider:
        raise ConfigError(
            f"{_PROVIDER}={provider!r}: a stream of Spark's own state needs the RocksDB state store; call"
            " watersmeet.spark.configure(spark) before"
        )
