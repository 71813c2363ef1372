"""The join of two streaming DataFrames: packed, brought together per bucket, joined statefully, unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  # as every Spark program calls it

from watersmeet.errors import ConfigError
from watersmeet.spark.counts import COUNTERS, MEASURES
from watersmeet.spark.operator import RESULT_DDL
from watersmeet.spark.packing import packed
from watersmeet.spark.request import SIDES, Request
from watersmeet.spark.shipped import Processor, by_split
from watersmeet.spark.watermarks import without_watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["OBSERVED", "configure", "streaming_join"]

OBSERVED: Final = "watersmeet"  # how names of observed metrics begin
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGELOG: Final = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def configure(spark: Any) -> None:
    """Set what Spark's stateful operators need: the RocksDB state store, with changelog checkpoints."""
    spark.conf.set(_PROVIDER, _ROCKSDB)
    spark.conf.set(_CHANGELOG, "true")


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
    blobs = (
        left.unionByName(right)
        .groupBy("label")
        .transformWithStateInPandas(
            Processor("watersmeet.spark.operator", "Operator", request), RESULT_DDL, "append", "EventTime"
        )
    )
    counters = (*COUNTERS, *MEASURES)
    own = F.when(F.col("results").isNotNull(), F.struct("label", *counters))
    observed = blobs.observe(
        f"{OBSERVED}:{name}",
        *(F.sum(counter).alias(counter) for counter in counters),
        _share(F.sum("results"), F.sum("missed_now")).alias("recall"),
        _share(F.sum("found"), F.sum("missed")).alias("recall_so_far"),
        F.collect_list(own).alias("buckets"),
    )
    return observed.select("data").mapInArrow(
        by_split("watersmeet.spark.pack", "unpack", request.output_schema()), out_schema
    )


def _blobs(request: Request, side: DataFrame, place: int, delay_ms: int | None) -> DataFrame:
    if delay_ms is None:
        return packed(request, side, place).drop("max_ts")
    bare = without_watermark(side, SIDES[place])
    marked = packed(request, bare, place).withWatermark("max_ts", f"{delay_ms} milliseconds")
    # The watermark has seen it. Kept, Spark would drop late blobs whole, and count no row.
    return marked.drop("max_ts")


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
