"""Watermarks: how late a stream's rows may be, taken from the DataFrame and moved to its blobs.

Spark tells a watermark's column by its metadata, which does not pass through mapInArrow, and refuses a second
watermark above the first. So the delay is read from the DataFrame, its watermark is taken out of the plan,
and the blobs get one with the same delay over their latest time: the same watermark, one operator further on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from watersmeet.errors import ConfigError
from watersmeet.spark.request import SIDES
from watersmeet.vocabulary import SpanLike, parse_span
from watersmeet.vocabulary.duration import NANOSECONDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["delay_of", "delays", "without_watermark"]

_DELAY: Final = "spark.watermarkDelayMs"
_WATERMARK: Final = "EventTimeWatermark"
# Operators that keep state by a watermark below them, which must stay.
_STATEFUL: Final = ("Aggregate", "Join", "Deduplicate", "TransformWithState", "MapGroups", "WithState")


def delays(
    sides: tuple[DataFrame, DataFrame], times: tuple[str, str], lateness: SpanLike | None
) -> tuple[int, int]:
    """How late rows may be, per stream in milliseconds: lateness=, or what withWatermark() said."""
    if lateness is not None:
        span = parse_span(lateness, argument="lateness", rows=False)
        whole = -(-span.amount // NANOSECONDS["ms"])
        return whole, whole
    out = []
    for name, side, time in zip(SIDES, sides, times, strict=True):
        out.append(delay_of(side, time, name))
    return out[0], out[1]


def delay_of(side: DataFrame, time: str, name: str) -> int:
    """How late a stream's rows may be by its own watermark, in milliseconds."""
    known = side.schema[time].metadata.get(_DELAY)
    if known is None:
        raise ConfigError(
            f"{name}: the time column {time!r} of a stream needs a watermark, or its state would grow"
            f" without end; call {name}.withWatermark({time!r}, '10 seconds') before, or give lateness="
        )
    return int(known)


def without_watermark(side: DataFrame, name: str) -> DataFrame:
    """The same stream without its watermark; ConfigError where an operator below needs it."""
    if not any(_DELAY in field.metadata for field in side.schema.fields):
        return side
    if not hasattr(side, "_jdf"):
        raise ConfigError(
            f"{name}: on Spark Connect a watermark cannot be moved; give lateness= instead of withWatermark()"
        )
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    session: Any = side.sparkSession
    plan = side._jdf.queryExecution().analyzed()
    bare = _stripped(plan, session._jvm, name)
    made = session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, bare)
    return ClassicDataFrame(made, session)


def _stripped(plan: Any, jvm: Any, name: str) -> Any:
    kind = plan.getClass().getSimpleName()
    if kind == _WATERMARK:
        return _stripped(plan.child(), jvm, name)
    if any(word in kind for word in _STATEFUL):
        raise ConfigError(
            f"{name}: its watermark serves a stateful operator below this join ({kind}); write that result to"
            " a table first, and join the table as a stream"
        )
    children = plan.children()
    if children.size() == 0:
        return plan
    below = [_stripped(children.apply(place), jvm, name) for place in range(children.size())]
    return plan.withNewChildren(jvm.PythonUtils.toSeq(below))
