"""Stream: one named, timestamped input of a join, and how its order and lateness are treated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.vocabulary import _check
from watersmeet.vocabulary.duration import Span, SpanLike, TimeUnit, parse_span

if TYPE_CHECKING:  # the pure rooms do without Arrow
    import pyarrow as pa

__all__ = ["Lateness", "OnLate", "Stream"]

OnLate: TypeAlias = Literal["count", "keep", "raise"]


@dataclass(frozen=True, slots=True, init=False)
class Lateness:
    """A reorder bound that the join finds by itself: the smallest that keeps enough rows from being late.

    target    share of rows that must come in time, above 0 and below 1
    at_most   the bound never grows beyond this span; None sets no limit
    period    how often the bound is set anew, in stream time
    """

    target: float
    at_most: Span | None
    period: Span

    def __init__(
        self, *, target: float = 0.99, at_most: SpanLike | None = None, period: SpanLike = "5s"
    ) -> None:
        share = _check.share(target, argument="Lateness(target)")
        if share == 1.0:
            raise ConfigError(
                f"Lateness(target)={target!r}: expected a number above 0 and below 1;"
                " no finite bound keeps every row from being late"
            )
        object.__setattr__(self, "target", share)
        bound = None if at_most is None else parse_span(at_most, argument="Lateness(at_most)", rows=False)
        object.__setattr__(self, "at_most", bound)
        object.__setattr__(self, "period", positive_span(period, argument="Lateness(period)"))


@dataclass(frozen=True, slots=True, init=False)
class Stream:
    """A named input of a join.

    name           how push(), metrics and messages call it
    time           the timestamp column: an Arrow timestamp of any unit and zone, or integers in `time_unit`
    window         how long its rows stay matchable: time ("20s") or rows ("5000i"); None: the join says
    lateness       rows may come out of order by up to this span; "auto" or Lateness(...) finds the bound;
                   None: a row out of order is an error
    on_late        what to do with a row later than that: "count" it, "keep" it for late(), or "raise"
    idle_timeout   after so long without a row the stream no longer holds back the others
    type           the column with the row's type, which Shed(utility=...) values
    freshness      the oldest a row may be when a result containing it comes out
    time_unit      the unit of integer timestamps: "s", "ms", "us" or "ns"
    schema         its columns, as an Arrow schema: results then have them all from the first push on; None:
                   as its first batch has them
    """

    name: str
    time: str
    window: Span | None
    lateness: Span | Lateness | None
    on_late: OnLate
    idle_timeout: Span | None
    type: str | None
    freshness: Span | None
    time_unit: TimeUnit
    schema: pa.Schema | None

    def __init__(
        self,
        name: str,
        *,
        time: str = "ts",
        window: SpanLike | None = None,
        lateness: SpanLike | Lateness | Literal["auto"] | None = None,
        on_late: OnLate = "count",
        idle_timeout: SpanLike | None = None,
        type: str | None = None,
        freshness: SpanLike | None = None,
        time_unit: TimeUnit = "us",
        schema: pa.Schema | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"Stream(name)={name!r}: expected a string that is not empty")
        about = f"Stream {name!r}:"
        values = {
            "name": name,
            "time": _check.column_name(time, argument=f"{about} time"),
            "window": _optional_window(window, argument=f"{about} window"),
            "lateness": _lateness(lateness, argument=f"{about} lateness"),
            "on_late": _check.one_of(on_late, ("count", "keep", "raise"), argument=f"{about} on_late"),
            "idle_timeout": _optional_span(idle_timeout, argument=f"{about} idle_timeout"),
            "type": None if type is None else _check.column_name(type, argument=f"{about} type"),
            "freshness": _optional_span(freshness, argument=f"{about} freshness"),
            "time_unit": _check.one_of(time_unit, ("s", "ms", "us", "ns"), argument=f"{about} time_unit"),
            "schema": _arrow_schema(schema, argument=f"{about} schema"),
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)


def positive_span(value: object, *, argument: str) -> Span:
    """A span of time longer than nothing."""
    span = parse_span(value, argument=argument, rows=False)
    if span.amount == 0:
        raise ConfigError(f"{argument}={value!r}: expected a span of time above 0")
    return span


def _optional_window(value: object, *, argument: str) -> Span | None:
    """Of no length a window still holds the rows of the same time; of no rows it would hold none."""
    window = None if value is None else parse_span(value, argument=argument)
    if window is not None and window.rows == 0:
        raise ConfigError(f"{argument}={value!r}: expected at least one row")
    return window


def _optional_span(value: object, *, argument: str) -> Span | None:
    return None if value is None else positive_span(value, argument=argument)


def _lateness(value: object, *, argument: str) -> Span | Lateness | None:
    if value is None or isinstance(value, Lateness):
        return value
    if value == "auto":
        return Lateness()
    return parse_span(value, argument=argument, rows=False)


def _arrow_schema(value: Any, *, argument: str) -> Any:
    if value is None or hasattr(value, "__arrow_c_schema__"):
        return value
    raise ConfigError(f"{argument}={value!r}: expected an Arrow schema, as pa.schema(...) makes it, or None")
