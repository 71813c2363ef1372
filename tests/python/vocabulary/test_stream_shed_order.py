from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable

import pytest

import watersmeet as wm
from watersmeet.errors import ConfigError
from watersmeet.vocabulary import PerBatch, Span, parse_order

SECOND = 10**9


def test_a_stream_holds_spans_whatever_was_written() -> None:
    stream = wm.Stream(
        "cnn", time="at", window="20s", lateness=2, idle_timeout="5s", freshness="30s", type="kind"
    )
    assert stream.window == Span(nanoseconds=20 * SECOND)
    assert stream.lateness == Span(nanoseconds=2 * SECOND)
    assert stream.idle_timeout == Span(nanoseconds=5 * SECOND)
    assert stream.freshness == Span(nanoseconds=30 * SECOND)
    assert (stream.time, stream.type, stream.on_late, stream.time_unit) == ("at", "kind", "count", "us")


def test_the_defaults_of_a_stream_are_those_of_the_contract() -> None:
    stream = wm.Stream("cnn")
    assert (stream.time, stream.window, stream.lateness, stream.on_late) == ("ts", None, None, "count")


def test_count_and_zero_windows_are_meaningful() -> None:
    assert wm.Stream("a", window="500i").window == Span(rows=500)
    assert wm.Stream("a", window=0).window == Span(nanoseconds=0)


def test_automatic_lateness_has_a_target() -> None:
    assert wm.Stream("a", lateness="auto").lateness == wm.Lateness()
    assert wm.Lateness(target=0.95, at_most="1m").at_most == Span(nanoseconds=60 * SECOND)


@pytest.mark.parametrize(
    "value",
    [
        wm.Stream("cnn", window="20s", lateness="auto"),
        wm.Shed(wm.comparisons(1e6, costs={"posting": 0.1}), utility={"sport": 0.1}),
        wm.Shed(budget=wm.per_batch("2s"), adapt=("rate",)),
        wm.AdaptiveOrder(alpha=0.5),
    ],
)
def test_values_are_frozen_and_can_be_copied_pickled_and_hashed(
    value: wm.Stream | wm.Shed | wm.AdaptiveOrder,
) -> None:
    assert dataclasses.replace(value) == value
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value) == hash(dataclasses.replace(value))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(value)[0].name, None)


def test_shed_has_the_defaults_of_the_contract() -> None:
    shed = wm.Shed()
    assert (shed.budget, shed.policy, shed.adapt) == ("cpu", "auto", ("rate", "time", "direction"))
    assert (shed.boost, shed.sampling) == (1.2, 0.1)
    assert shed.rate_period == shed.time_period == Span(nanoseconds=5 * SECOND)
    assert shed.input_buffer == Span(nanoseconds=SECOND)


def test_budgets_are_values() -> None:
    assert wm.comparisons(1e6).per_second == 1_000_000
    assert wm.comparisons(5).costs == {"comparison": 1.0, "posting": 1.0, "lookup": 1.0, "score": 1.0}
    assert wm.comparisons(5, costs={"score": 3}).costs["score"] == 3.0
    assert wm.per_batch("2s") == PerBatch(Span(nanoseconds=2 * SECOND))


def test_a_utility_table_is_copied() -> None:
    table = {"sport": 0.1}
    shed = wm.Shed(utility=table)
    table["sport"] = 9.0
    assert shed.utility == {"sport": 0.1}


@pytest.mark.parametrize("order", [None, "sync-filter", "filter-order", wm.AdaptiveOrder()])
def test_every_order_of_the_contract_is_read(order: object) -> None:
    assert parse_order(order) == order


def test_adaptive_order_has_hysteresis_unless_told_otherwise() -> None:
    assert wm.AdaptiveOrder().alpha is None, "whichever answers sooner"
    assert wm.AdaptiveOrder(alpha=0.3).alpha_down == pytest.approx(0.18)
    assert wm.AdaptiveOrder(alpha=0.5).alpha_down < 0.5
    assert wm.AdaptiveOrder(alpha=0.5, alpha_down=0.5).alpha_down == 0.5


@pytest.mark.parametrize(
    "make",
    [
        lambda: wm.Stream(""),
        lambda: wm.Stream(3),  # type: ignore[arg-type]
        lambda: wm.Stream("a", time=""),
        lambda: wm.Stream("a", window="-1s"),
        lambda: wm.Stream("a", window="1mo"),
        lambda: wm.Stream("a", window="0i"),
        lambda: wm.Stream("a", lateness="5i"),
        lambda: wm.Stream("a", lateness="soon"),
        lambda: wm.Stream("a", on_late="drop"),  # type: ignore[arg-type]
        lambda: wm.Stream("a", idle_timeout=0),
        lambda: wm.Stream("a", freshness="3i"),
        lambda: wm.Stream("a", time_unit="m"),  # type: ignore[arg-type]
        lambda: wm.Lateness(target=1.0),
        lambda: wm.Lateness(target=0),
        lambda: wm.Shed(budget=1e6),  # type: ignore[arg-type]
        lambda: wm.Shed(budget="gpu"),  # type: ignore[arg-type]
        lambda: wm.Shed(policy="best"),  # type: ignore[arg-type]
        lambda: wm.Shed(adapt=("time",)),
        lambda: wm.Shed(adapt=()),
        lambda: wm.Shed(adapt="time"),
        lambda: wm.Shed(utility={}),
        lambda: wm.Shed(utility={"sport": -1}),
        lambda: wm.Shed(utility=[1]),  # type: ignore[arg-type]
        lambda: wm.Shed(utility_of="sum"),  # type: ignore[arg-type]
        lambda: wm.Shed(rate_period=0),
        lambda: wm.Shed(boost=1.0),
        lambda: wm.Shed(sampling=0),
        lambda: wm.comparisons(0),
        lambda: wm.comparisons(float("nan")),
        lambda: wm.comparisons(1, costs={"guess": 1}),
        lambda: wm.comparisons(1, costs={"score": -1}),
        lambda: wm.comparisons(1, costs=3),  # type: ignore[arg-type]
        lambda: wm.per_batch("0s"),
        lambda: wm.AdaptiveOrder(alpha=0),
        lambda: wm.AdaptiveOrder(alpha_down=0.1),
        lambda: wm.AdaptiveOrder(alpha=0.3, alpha_down=0.4),
        lambda: parse_order("sorted"),
        lambda: parse_order(True),
    ],
)
def test_what_has_no_meaning_is_refused_when_it_is_written(make: Callable[[], object]) -> None:
    with pytest.raises(ConfigError, match="expected"):
        make()
