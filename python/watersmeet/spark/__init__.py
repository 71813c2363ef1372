"""The same joins on Spark DataFrames, batch and streaming. Needs the extra: watersmeet[spark]."""

from __future__ import annotations

try:
    import pyspark  # noqa: F401  # asked for by name, so that its absence is told in words
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "watersmeet.spark needs pyspark 4 and Java 17: pip install 'watersmeet[spark]'", name=error.name
    ) from error

from watersmeet.spark import functions
from watersmeet.spark.api import join
from watersmeet.spark.metrics import JoinMetrics, metrics
from watersmeet.spark.multi import multi_join
from watersmeet.spark.streaming import configure

__all__ = ["JoinMetrics", "configure", "functions", "join", "metrics", "multi_join"]
