"""From the arguments of join() and the DataFrames' schemas to a checked Request."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ByteType,
    IntegerType,
    LongType,
    ShortType,
    TimestampNTZType,
    TimestampType,
)

from watersmeet.errors import ConfigError, SchemaError
from watersmeet.join.two_way.config import HOWS, pair_of
from watersmeet.spark.keys import key_terms
from watersmeet.spark.labels import labels
from watersmeet.spark.request import SIDES, By, Request
from watersmeet.vocabulary import Comparisons, PerBatch, Predicate, Shed, Span, Stream, TimeUnit, parse_span
from watersmeet.vocabulary.duration import NANOSECONDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["asked", "shuffle_partitions"]

_INTEGERS: Final = (ByteType, ShortType, IntegerType, LongType)


def asked(
    sides: tuple[DataFrame, DataFrame],
    *,
    on: Predicate | None,
    window: Any,
    between: Any,
    time: Any,
    how: Any,
    suffix: str,
    time_unit: TimeUnit,
    partitions: int | None,
    slice_span: Any,
    skew: Any,
    shed: Shed | None,
    type_columns: Any,
    streaming: bool,
) -> Request:
    """The arguments as a value, or ConfigError or SchemaError naming the first that has no meaning."""
    if (window is None) == (between is None):
        raise ConfigError(f"window={window!r}, between={between!r}: expected exactly one of them")
    if on is not None and not isinstance(on, Predicate):
        raise ConfigError(f"on={on!r}: expected a predicate such as wm.equal('key'), or None for every pair")
    if how not in HOWS:
        raise ConfigError(f"how={how!r}: expected one of {', '.join(map(repr, HOWS))}")
    if skew not in (None, "slice"):
        raise ConfigError(f"skew={skew!r}: expected None, or 'slice' to divide hot keys by time")
    _check_shed(shed, how)
    types = (None, None) if type_columns is None else pair_of(type_columns, argument="type")
    times = pair_of(time, argument="time")
    for name in times:
        Stream("left", time=name, time_unit=time_unit)  # checks both
    steps_ns = [_step_ns(side, times[n], n, time_unit) for n, side in enumerate(sides)]
    unit: TimeUnit = "ns" if min(steps_ns) < NANOSECONDS["us"] else "us"
    low, high, rows = _bounds(window, between)
    if shed is not None and rows is not None:
        raise ConfigError(f"window={window!r} with shed=: plans go by age; expected a window of time")
    by = _by(on, how, rows is not None, skew)
    shuffles = shuffle_partitions(sides[0])
    buckets = _buckets(partitions, by, shuffles)
    lower, upper = -(-low // NANOSECONDS[unit]), high // NANOSECONDS[unit]
    return Request(
        on=on,
        how=how,
        suffix=suffix,
        lower=lower,
        upper=upper,
        rows_windows=rows,
        times=(times[0], times[1]),
        time_unit=time_unit,
        unit=unit,
        steps=(steps_ns[0] // NANOSECONDS[unit], steps_ns[1] // NANOSECONDS[unit]),
        schemas=(_arrow(sides[0]), _arrow(sides[1])),
        by=by,
        labels=labels(buckets, shuffles),
        width=_width(slice_span, upper - lower, unit, buckets if streaming or shed is not None else 1),
        streaming=streaming,
        shed=shed,
        types=(types[0], types[1]),
        waves=-(-buckets // _cores(sides[0])),
        identity=uuid.uuid4().hex,
    )


def _check_shed(shed: Any, how: str) -> None:
    if shed is None:
        return
    if not isinstance(shed, Shed):
        raise ConfigError(f"shed={shed!r}: expected wm.Shed(...), or None to shed nothing")
    if how != "inner":
        raise ConfigError(
            f"how={how!r} with shed=: a row without partner may only have missed it; expected 'inner'"
        )
    if not isinstance(shed.budget, PerBatch | Comparisons):
        raise ConfigError(
            f"Shed(budget)={shed.budget!r}: on Spark rows come in micro-batches, and nothing follows the wall"
            " clock; expected wm.per_batch('2s') or wm.comparisons(n)"
        )


def _cores(side: DataFrame) -> int:
    """How many tasks run at once; one, where the session does not tell (Spark Connect)."""
    context = getattr(side.sparkSession, "_sc", None)
    return 1 if context is None else max(1, int(context.defaultParallelism))


def shuffle_partitions(side: DataFrame) -> int:
    """spark.sql.shuffle.partitions of the DataFrame's session."""
    return int(side.sparkSession.conf.get("spark.sql.shuffle.partitions"))  # type: ignore[arg-type]


def _arrow(side: DataFrame) -> bytes:
    schema = to_arrow_schema(side.schema, timezone="UTC")
    # A stream of files cannot promise that no value is null, whatever the source declares.
    fields = [field.with_nullable(True).remove_metadata() for field in schema]
    return pa.schema(fields).serialize().to_pybytes()  # type: ignore[no-any-return]


def _step_ns(side: DataFrame, time: str, place: int, time_unit: TimeUnit) -> int:
    if time not in side.columns:
        raise SchemaError(
            f"stream {SIDES[place]!r}: there is no column {time!r}; the columns are"
            f" {', '.join(map(repr, side.columns))}"
        )
    kind = side.schema[time].dataType
    if isinstance(kind, TimestampType | TimestampNTZType):
        return NANOSECONDS["us"]
    if isinstance(kind, _INTEGERS):
        return NANOSECONDS[time_unit]
    raise SchemaError(
        f"stream {SIDES[place]!r}: time column {time!r} is {kind.simpleString()}; expected timestamp,"
        f" timestamp_ntz, or integers in {time_unit!r} (time_unit=)"
    )


def _bounds(window: Any, between: Any) -> tuple[int, int, tuple[Span, Span] | None]:
    """Lowest and highest ts_right - ts_left in nanoseconds; or windows of which one counts rows."""
    if between is not None:
        if not isinstance(between, tuple | list) or len(between) != 2:
            raise ConfigError(f"between={between!r}: expected (lowest, highest) of ts_right - ts_left")
        low, high = (parse_span(end, argument="between", signed=True, rows=False) for end in between)
        if low.amount > high.amount:
            raise ConfigError(f"between={between!r}: the lower bound is above the upper one")
        return low.amount, high.amount, None
    left, right = (parse_span(span, argument="window") for span in pair_of(window, argument="window"))
    rows = (left, right) if left.is_rows or right.is_rows else None
    return -(right.nanoseconds or 0), left.nanoseconds or 0, rows


def _by(on: Predicate | None, how: str, counts_rows: bool, skew: str | None) -> By:
    """How the work can be divided: "one" where a result may depend on rows of every bucket."""
    if counts_rows:
        return "one"
    if key_terms(on) and skew is None:
        return "key"
    return "one" if how == "full" else "slice"


def _buckets(partitions: Any, by: By, shuffles: int) -> int:
    if partitions is None:
        partitions = shuffles
    if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
        raise ConfigError(f"partitions={partitions!r}: expected a whole number, at least 1")
    if partitions >= 1 << 20:
        raise ConfigError(f"partitions={partitions!r}: expected less than a million")
    return 1 if by == "one" else partitions


def _width(given: Any, extent: int, unit: TimeUnit, buckets: int) -> int:
    """The length of a slice. Streams: the window spread over all buckets. Batches: two copies of a row."""
    if given is not None:
        span = parse_span(given, argument="slice", rows=False)
        if span.amount == 0:
            raise ConfigError(f"slice={given!r}: expected a span of time above 0")
        return max(1, span.amount // NANOSECONDS[unit])
    least = NANOSECONDS["ms"] // NANOSECONDS[unit]
    return max(least, -(-extent // buckets))
