"""wm.why_not: the first stage at which a pair fails to come out, in words.

The stages, in order: the rows must be known, have a time, satisfy every part of the predicate, lie inside the
window, not be late; then they may wait to be processed, be held for their order, have been given up for want
of memory, be shed, or be out already.
Predicates are asked of a fresh core with the two rows alone, so the answer is the join's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from watersmeet.errors import ConfigError
from watersmeet.join.asked_row import AskedRow, asked_row
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.join.two_way.engine import Engine
from watersmeet.join.window_join import WindowJoin
from watersmeet.vocabulary import Predicate, Span

__all__ = ["Reason", "why_not"]

_EVER = Span(nanoseconds=2**62)


class Reason(str):
    """Why a pair is not out: the words, and the stage that they are about."""

    __slots__ = ("stage",)
    stage: str

    def __new__(cls, stage: str, words: str) -> Reason:
        """`stage` is a word.

        One of unknown, bad, key, window, late, waiting, held, memory, shed, out, gone, free, how.
        """
        reason = super().__new__(cls, words)
        reason.stage = stage
        return reason


def why_not(join: WindowJoin, left_row: Any, right_row: Any) -> Reason:
    """Tell why this pair of rows is not among the results, or that it is.

    A row is named by its number, counted from 0 as it was pushed to its stream, or given as a dict of its
    columns or a table of one row, for one that the join no longer has or never had.
    """
    if not isinstance(join, WindowJoin):
        raise ConfigError(
            f"why_not(join): {type(join).__name__}: expected a WindowJoin; of a join of several streams,"
            " metrics.why_waiting() tells what waits, and a WindowJoin of two of them why a pair fails"
        )
    with join._guard:
        engine = join._engine
        left = asked_row(engine, 0, left_row, argument="left_row")
        right = asked_row(engine, 1, right_row, argument="right_row")
        for stage in (_unknown, _bad, _key, _window, _late, _waiting, _held, _memory, _shed):
            for reason in stage(engine, left, right):
                return reason
        return _out(engine, left, right)


def _unknown(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    for row in (left, right):
        pushed = engine.pushed[row.side] + engine.numberings[row.side].dropped
        if row.number is not None and not 0 <= row.number < pushed:
            yield Reason(
                "unknown", f"Stream {row.stream!r} has no row {row.number}: {pushed:,} have been pushed."
            )
    if engine.config.how in ("semi", "anti"):
        yield Reason("how", f"how={engine.config.how!r} gives rows of {left.stream!r} alone, never pairs.")


def _bad(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    for row in (left, right):
        if row.batch is not None and row.time_ns is None:
            time = engine.config.streams[row.side].time
            yield Reason(
                "bad", f"The time column {time!r} of {row} is null: a row without a time meets nothing."
            )


def _key(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    if left.batch is None or right.batch is None:
        return
    for leaf in engine.config.leaves:
        if _holds(engine.config, leaf, left.batch, right.batch):
            continue
        for row, columns in ((left, leaf.left_columns), (right, leaf.right_columns)):
            if row.is_null(columns):
                yield Reason("key", f"Key miss: {leaf} meets no null, and {row} has {row.shown(columns)}.")
        shown = f"{left.shown(leaf.left_columns)} and {right.shown(leaf.right_columns)}"
        yield Reason("key", f"Key miss: {leaf} does not hold for {shown}.")


def _holds(config: JoinConfig, leaf: Predicate, left: pa.RecordBatch, right: pa.RecordBatch) -> bool:
    streams = [_timeless(stream) for stream in config.streams]
    alone = Engine(
        replace(
            config,
            streams=(streams[0], streams[1]),
            on=leaf,
            how="inner",
            output="rows",
            between=(-_EVER, _EVER),
            basic_window=None,
            order=None,
            memory_limit=None,
            shed=None,
        )
    )
    found = [alone.push_rows(0, left), alone.push_rows(1, right), alone.finish_rows()]
    return any(len(rows[0]) for rows in found)


def _timeless(stream: Any) -> Any:
    """The stream without what only matters over time."""
    return type(stream)(stream.name, time=stream.time, time_unit=stream.time_unit)


def _window(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    if left.time_ns is None or right.time_ns is None:
        return
    apart = right.time_ns - left.time_ns
    config = engine.config
    yield from _stale(config, left, right, apart)
    if config.between is not None:
        low, high = config.between
        if not low.amount <= apart <= high.amount:
            words = f"ts_right - ts_left is {_span(apart)}, and between=({low}, {high})"
            yield Reason("window", f"Window miss: {words}.")
        return
    older, newer = (left, right) if apart >= 0 else (right, left)
    window = config.streams[older.side].window
    assert window is not None  # the configuration was checked
    if not window.is_rows and abs(apart) > window.amount:
        yield Reason(
            "window",
            f"Window miss: {older} is {_span(abs(apart))} older than {newer}, and the window of"
            f" {older.stream!r} is {window}: {_span(abs(apart) - window.amount)} too old.",
        )


def _stale(config: JoinConfig, left: AskedRow, right: AskedRow, apart: int) -> Iterator[Reason]:
    older, newer = (left, right) if apart >= 0 else (right, left)
    freshness = config.streams[older.side].freshness
    if freshness is not None and abs(apart) > freshness.amount:
        yield Reason(
            "window",
            f"Not fresh enough: {older} is {_span(abs(apart))} older than {newer}, and results take rows of"
            f" {older.stream!r} only up to an age of {freshness}.",
        )


def _late(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    for row in (left, right):
        if row.number is not None and row.number in engine.late_rows[row.side]:
            yield Reason(
                "late", f"{_upper(row)} was late: behind the watermark when it came, and so not joined."
            )
        watermark = _clock(engine, row.side, 2)
        if (
            row.number is None
            and row.time_ns is not None
            and watermark is not None
            and row.time_ns < watermark
        ):
            by = _span(watermark - row.time_ns)
            yield Reason(
                "late",
                f"{_upper(row)} would be late: it is {by} behind the stream's watermark.{_number(engine)}",
            )


def _number(engine: Engine) -> str:
    """What to do if the row that was given by its values is one that came before."""
    if engine.memory is None or not engine.memory.may_shrink:
        return ""
    return (
        " If it came in time, give its number instead: it may have left its window early, to keep the join"
        f" under memory_limit={engine.memory.limit:,}."
    )


def _waiting(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    for row in (left, right):
        low = _clock(engine, row.side, 3)
        if row.number is None or row.time_ns is None or low is None or engine.is_finished:
            continue
        if row.time_ns >= low and engine.setup.core.progress()[2][row.side][4]:
            yield Reason("waiting", f"{_upper(row)} waits to be processed: see metrics.why_waiting().")


def _held(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    if left.core_number is None or right.core_number is None:
        return
    if engine.setup.core is not None and engine.setup.core.holds(left.core_number, right.core_number):
        yield Reason(
            "held",
            "The pair was found and is held for its order: one with a smaller timestamp could still come."
            " metrics.why_waiting() tells for whom it waits.",
        )


def _memory(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    if engine.memory is None:
        return
    limit = f"memory_limit={engine.memory.limit:,}"
    for row, other in ((left, right), (right, left)):
        if row.number is not None and engine.numberings[row.side].was_dropped(row.number):
            yield Reason(
                "memory",
                f"{_upper(row)} was not taken in: its batch did not fit under {limit}, and was thinned.",
            )
        if row.core_number is None or other.core_number is None:
            continue
        if engine.memory.given_up.before(row.side, row.core_number, other.core_number):
            yield Reason(
                "memory",
                f"{_upper(row)} left its window early, before {other} came, to keep the join under {limit}."
                " Metrics estimate the share that came out (recall).",
            )


def _shed(engine: Engine, left: AskedRow, right: AskedRow) -> Iterator[Reason]:
    counted = engine.counted()
    if engine.config.shed is None or counted is None:
        return
    shed = sum(direction["shed"] for direction in counted["directions"])
    dropped = sum(stream.get("dropped_rows", 0) for stream in counted["streams"])
    if shed or dropped:
        yield Reason(
            "shed",
            f"Nothing is wrong with the pair, but the budget did not do for all: {shed:,} comparisons were"
            f" shed and {dropped:,} rows dropped so far. Metrics estimate the share that came out (recall).",
        )


def _out(engine: Engine, left: AskedRow, right: AskedRow) -> Reason:
    for row in (left, right):
        if row.batch is None and row.number is not None:
            return Reason(
                "gone",
                f"The values of {row} are not kept any more (or never were, with output='rows'): the pair is"
                " out already or never was one; give the row itself, a dict of its columns, to learn which.",
            )
    if left.number is None or right.number is None:
        return Reason("free", "Nothing stands in the way: pushed to this join, the pair comes out.")
    return Reason("out", "The pair is out already: it was among the results of an earlier call.")


def _clock(engine: Engine, side: int, which: int) -> int | None:
    """A moment of the core's progress() in nanoseconds; None before there is one."""
    plan = engine.setup.plan
    if plan is None:
        return None
    moment = int(engine.setup.core.progress()[2][side][which])
    return None if moment == -(2**63) else moment * plan.unit_ns


def _span(nanoseconds: int) -> str:
    return str(Span(nanoseconds=nanoseconds))


def _upper(row: AskedRow) -> str:
    words = str(row)
    return words[0].upper() + words[1:]
