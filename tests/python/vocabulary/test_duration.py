from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.errors import ConfigError
from watersmeet.vocabulary.duration import INT64_MAX, INT64_MIN, NANOSECONDS, Span, parse_span

SECOND = NANOSECONDS["s"]


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [
        ("10s", 10 * SECOND),
        ("1h30m", 5_400 * SECOND),
        ("500ms", SECOND // 2),
        ("2us", 2_000),
        ("2µs", 2_000),
        ("5ns", 5),
        ("1d", 86_400 * SECOND),
        ("1w", 7 * 86_400 * SECOND),
        ("1m1ms", 60 * SECOND + 1_000_000),
        ("0s", 0),
        (dt.timedelta(days=1, microseconds=3), 86_400 * SECOND + 3_000),
        (np.timedelta64(3, "ms"), 3_000_000),
        (np.timedelta64(2, "W"), 14 * 86_400 * SECOND),
        (np.timedelta64(7, "ns"), 7),
        (10, 10 * SECOND),
        (0.1, SECOND // 10),
        (1e-9, 1),
        (2.5, 5 * SECOND // 2),
        (np.int32(4), 4 * SECOND),
        (np.float64(0.3), 3 * SECOND // 10),
        (np.float32(0.5), SECOND // 2),
        (Decimal("0.000000001"), 1),
        (Fraction(1, 4), SECOND // 4),
        (10**12, 10**12 * SECOND),
    ],
)
def test_every_way_to_write_a_time_is_read_exactly(value: object, nanoseconds: int) -> None:
    assert parse_span(value, argument="window") == Span(nanoseconds=nanoseconds)


def test_rows_are_read_from_the_index_unit() -> None:
    assert parse_span("5000i", argument="window") == Span(rows=5000)


def test_pandas_timedelta_keeps_its_nanoseconds() -> None:
    pandas = pytest.importorskip("pandas")
    assert parse_span(pandas.Timedelta(1_000_000_007, "ns"), argument="window").nanoseconds == 1_000_000_007


def test_a_span_is_its_own_reading() -> None:
    span = Span(rows=3)
    assert parse_span(span, argument="window") is span


@pytest.mark.parametrize(
    "value",
    [
        *("", "s", "10", "10 s", "10x", "1s-1s", "1.5s", "-", "ten", "1s5i", "٣s", b"1s"),
        *(None, True, object(), [1]),
        *(math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("inf")),
        *(np.timedelta64("NaT"), np.timedelta64(1, "Y"), np.timedelta64(1, "M"), np.timedelta64(5)),
    ],
)
def test_what_is_not_a_span_is_refused_by_name_and_value(value: object) -> None:
    with pytest.raises(ConfigError, match="lateness="):
        parse_span(value, argument="lateness", signed=True)


@pytest.mark.parametrize(
    ("text", "unit"), [("1mo", "month"), ("2q", "quarter"), ("1y", "year"), ("1d1mo", "month")]
)
def test_calendar_units_are_refused_with_the_reason(text: str, unit: str) -> None:
    with pytest.raises(ConfigError, match=f"{unit} has no fixed length"):
        parse_span(text, argument="window")


@pytest.mark.parametrize("value", ["-1s", -1, -0.5, dt.timedelta(seconds=-1), Span(nanoseconds=-1)])
def test_a_negative_span_needs_leave(value: object) -> None:
    with pytest.raises(ConfigError, match="not negative"):
        parse_span(value, argument="window")
    assert parse_span(value, argument="between", signed=True).amount < 0


def test_a_negative_number_of_rows_is_never_allowed() -> None:
    with pytest.raises(ConfigError, match="not negative"):
        parse_span("-3i", argument="between", signed=True)


def test_rows_are_refused_where_time_is_needed() -> None:
    with pytest.raises(ConfigError, match="span of time, not a number of rows"):
        parse_span("3i", argument="lateness", rows=False)


@pytest.mark.parametrize(
    ("nanoseconds", "unit", "floor", "ceil"),
    [
        (1_500, "us", 1, 2),
        (-1_500, "us", -2, -1),
        (2_000, "us", 2, 2),
        (1, "s", 0, 1),
        (10**40, "ns", INT64_MAX, INT64_MAX),
        (-(10**40), "ns", INT64_MIN, INT64_MIN),
    ],
)
def test_a_unit_is_rounded_as_asked_and_clamped_to_int64(
    nanoseconds: int, unit: str, floor: int, ceil: int
) -> None:
    span = Span(nanoseconds=nanoseconds)
    assert span.in_unit(unit, rounding="floor") == floor  # type: ignore[arg-type]
    assert span.in_unit(unit, rounding="ceil") == ceil  # type: ignore[arg-type]


def test_rows_have_no_unit_of_time() -> None:
    with pytest.raises(ConfigError, match="counts rows"):
        Span(rows=3).in_unit("us")
    with pytest.raises(ConfigError, match="counts rows"):
        _ = Span(rows=3).seconds


def test_a_span_is_time_or_rows_and_not_both() -> None:
    with pytest.raises(ConfigError, match="one of nanoseconds, rows"):
        Span()
    with pytest.raises(ConfigError, match="one of nanoseconds, rows"):
        Span(nanoseconds=1, rows=1)


@given(st.integers(-(10**30), 10**30))
def test_a_printed_time_reads_back_equal(nanoseconds: int) -> None:
    span = Span(nanoseconds=nanoseconds)
    assert parse_span(str(span), argument="window", signed=True) == span


@given(st.integers(0, 10**12))
def test_printed_rows_read_back_equal(rows: int) -> None:
    assert parse_span(str(Span(rows=rows)), argument="window") == Span(rows=rows)


@given(st.decimals(min_value=0, max_value=10**9, places=9))
def test_decimal_seconds_and_their_text_in_nanoseconds_agree(seconds: Decimal) -> None:
    assert parse_span(seconds, argument="window") == Span(nanoseconds=int(seconds.scaleb(9)))
