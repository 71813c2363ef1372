"""State machines: windows, indexes in lockstep, hold and reorder buffers, snapshots; against models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.reference.lateness import admit

import watersmeet as wm
from watersmeet.testing import matching_rows

SETTINGS = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
NAMES = ("left", "right")
SIDES = st.sampled_from([0, 1])
WINDOWS = st.sampled_from(["0s", "3us", "10us", "2i", "5i"])
HOWS = st.sampled_from(["inner", "left", "right", "full", "semi", "anti"])
ITEMS = st.lists(st.integers(0, 5), max_size=4)
WEIGHTED = st.dictionaries(st.integers(0, 5), st.integers(-1, 3).map(lambda half: half / 2), max_size=4).map(
    lambda weights: list(weights.items())
)


def _pairs(table: pa.Table) -> list[tuple[int | None, int | None]]:
    left = table["left_row"].to_pylist()
    right = table["right_row"].to_pylist() if "right_row" in table.column_names else [None] * len(left)
    return list(zip(left, right, strict=True))


def _key(pair: tuple[int | None, int | None]) -> tuple[int, int]:
    return tuple(-1 if row is None else row for row in pair)  # type: ignore[return-value]


class _Machine(RuleBasedStateMachine):
    """Pushes and promises on both streams; subclasses say which joins run and what a row holds."""

    joins: dict[str, Any]
    on: Any
    kind: pa.DataType
    how: Any
    windows: tuple[str, str]

    def _begin(self, windows: tuple[str, str], how: str, variants: dict[str, dict[str, Any]]) -> None:
        self.windows, self.how = windows, how
        self.times: tuple[list[int], list[int]] = ([], [])
        self.values: tuple[list[Any], list[Any]] = ([], [])
        self.clock = [0, 0]  # no row of that side may be older
        self.floors = [-1, -1]  # the same, -1 before anything has come or been promised
        self.answers: dict[str, list[tuple[int | None, int | None]]] = {name: [] for name in variants}
        self.joins = {
            name: wm.WindowJoin(
                wm.Stream("left", window=windows[0]),
                wm.Stream("right", window=windows[1]),
                on=self.on,
                how=how,
                output="rows",
                **options,
            )
            for name, options in variants.items()
        }

    def _push(self, side: int, rows: Sequence[tuple[int, Any]]) -> None:
        """Push rows given as (units after the row before, value)."""
        times, values = [], []
        for gap, value in rows:
            self.clock[side] += gap
            times.append(self.clock[side])
            values.append(value)
            self.floors[side] = self.clock[side]
        self.times[side].extend(times)
        self.values[side].extend(values)
        batch = pa.table({"ts": pa.array(times, pa.int64()), "v": pa.array(values, self.kind)})
        for name, join in self.joins.items():
            self.answers[name] += _pairs(join.push(NAMES[side], batch))

    @rule(side=SIDES, ahead=st.integers(0, 30))
    def advance(self, side: int, ahead: int) -> None:
        self.clock[side] += ahead
        self.floors[side] = self.clock[side]
        for name, join in self.joins.items():
            self.answers[name] += _pairs(join.advance(NAMES[side], to=self.clock[side]))

    def _table(self, side: int) -> pa.Table:
        return pa.table(
            {"ts": pa.array(self.times[side], pa.int64()), "v": pa.array(self.values[side], self.kind)}
        )

    def _expected(self) -> list[tuple[int | None, int | None]]:
        return matching_rows(self._table(0), self._table(1), on=self.on, window=self.windows, how=self.how)

    @invariant()
    def variants_hold_the_same_state_and_never_say_anything_twice(self) -> None:
        if not getattr(self, "joins", None):
            return
        first = next(iter(self.joins))
        for name, answer in self.answers.items():
            assert sorted(answer, key=_key) == sorted(self.answers[first], key=_key), (first, name)
            assert len(set(answer)) == len(answer)
            for own, stream in zip(self.times, self.joins[name].metrics.streams, strict=True):
                assert stream.rows == len(own)
                assert stream.window_rows + stream.expired_rows + stream.pending_rows == len(own), stream

    def teardown(self) -> None:
        if not getattr(self, "joins", None):
            return
        expected = sorted(self._expected(), key=_key)
        for name, join in self.joins.items():
            answer = self.answers[name] + _pairs(join.finish())
            assert sorted(answer, key=_key) == expected, name


class Windows(_Machine):
    """Each window holds exactly the rows that a row still to come may meet."""

    on = None
    kind = pa.int64()

    @initialize(spans=st.tuples(st.integers(0, 10), st.integers(0, 10)))
    def begin(self, spans: tuple[int, int]) -> None:
        self.spans = spans
        self._begin((f"{spans[0]}us", f"{spans[1]}us"), "inner", {"active": {}, "lazy": {"expiry": "lazy"}})

    @rule(side=SIDES, gaps=st.lists(st.integers(0, 6), min_size=1, max_size=6))
    def push(self, side: int, gaps: list[int]) -> None:
        self._push(side, [(gap, 0) for gap in gaps])

    @invariant()
    def windows_hold_what_may_still_be_met(self) -> None:
        if not getattr(self, "joins", None):
            return
        for side in (0, 1):
            floor = self.floors[1 - side]
            own = self.times[side]
            needed = sum(time + self.spans[side] >= floor for time in own)
            active, lazy = (self.joins[name].metrics.streams[side].window_rows for name in ("active", "lazy"))
            assert active == needed
            assert needed <= lazy <= len(own)


class HoldBuffer(_Machine):
    """Results leave in order, as soon as no earlier one can come, and not before."""

    on = wm.equal("v")
    kind = pa.int64()

    @initialize(windows=st.tuples(WINDOWS, WINDOWS))
    def begin(self, windows: tuple[str, str]) -> None:
        variants = {order: {"order": order} for order in ("filter-order", "sync-filter")}
        self._begin(windows, "inner", variants)

    @rule(side=SIDES, rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=6))
    def push(self, side: int, rows: list[tuple[int, int]]) -> None:
        self._push(side, rows)

    @invariant()
    def results_are_those_before_the_lower_clock(self) -> None:
        if not getattr(self, "joins", None):
            return
        timed = [(max(self.times[0][a], self.times[1][b]), a, b) for a, b in self._expected()]
        free = sorted(result for result in timed if result[0] < min(self.floors))
        assert self.answers["filter-order"] == [(left, right) for _, left, right in free]


class KeyIndexes(_Machine):
    """Scan and hash windows, active and lazy expiry, tiny and large basic windows, in lockstep."""

    on = wm.equal("v")
    kind = pa.int64()

    @initialize(windows=st.tuples(WINDOWS, WINDOWS), how=HOWS)
    def begin(self, windows: tuple[str, str], how: str) -> None:
        self._begin(
            windows,
            how,
            {
                "scan": {"index": "scan"},
                "hash": {"index": "hash"},
                "mixed": {"index": ("hash", "scan"), "expiry": "lazy"},
                "small basic windows": {"index": "hash", "basic_window": "1us", "expiry": "active"},
            },
        )

    @rule(side=SIDES, rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3) | st.none()), max_size=6))
    def push(self, side: int, rows: list[tuple[int, int | None]]) -> None:
        self._push(side, rows)


class SetIndexes(_Machine):
    """Scan, time-ordered and id-ordered posting lists, and every merge, in lockstep."""

    on = wm.overlap("v", at_least=2)
    kind = pa.list_(pa.int64())

    @initialize(windows=st.tuples(WINDOWS, WINDOWS), how=HOWS)
    def begin(self, windows: tuple[str, str], how: str) -> None:
        self._begin(
            windows,
            how,
            {
                "scan": {"index": "scan"},
                "heap": {"index": "inverted", "merge": "heap"},
                "count": {"index": "inverted", "merge": "count", "expiry": "lazy"},
                "bitmap": {"index": "inverted", "merge": "bitmap"},
                "by id": {"index": "inverted-by-id"},
                "mixed": {"index": ("inverted-by-id", "inverted"), "basic_window": "2us"},
            },
        )

    @rule(side=SIDES, rows=st.lists(st.tuples(st.integers(0, 4), ITEMS | st.none()), max_size=6))
    def push(self, side: int, rows: list[tuple[int, Any]]) -> None:
        self._push(side, rows)


class WeightedIndexes(_Machine):
    """Scanned and indexed weighted sets in lockstep; weights are halves, so that sums are exact."""

    on = wm.dot("v", at_least=1.0)
    kind = pa.map_(pa.int64(), pa.float64())

    @initialize(windows=st.tuples(WINDOWS, WINDOWS), how=HOWS)
    def begin(self, windows: tuple[str, str], how: str) -> None:
        self._begin(
            windows,
            how,
            {
                "scan": {"index": "scan"},
                "inverted": {"index": "inverted"},
                "mixed": {"index": ("inverted", "scan"), "expiry": "lazy", "basic_window": "2us"},
            },
        )

    @rule(side=SIDES, rows=st.lists(st.tuples(st.integers(0, 4), WEIGHTED | st.none()), max_size=6))
    def push(self, side: int, rows: list[tuple[int, Any]]) -> None:
        self._push(side, rows)


class Snapshots(_Machine):
    """A join that is replaced by its restored snapshot at any time, in lockstep with one that is not."""

    on = wm.equal("v")
    kind = pa.string()

    @initialize(
        windows=st.tuples(WINDOWS, WINDOWS),
        how=HOWS,
        options=st.sampled_from(
            [{}, {"order": "filter-order"}, {"order": "sync-filter"}, {"expiry": "lazy", "index": "scan"}]
        ),
    )
    def begin(self, windows: tuple[str, str], how: str, options: dict[str, Any]) -> None:
        self._begin(windows, how, {"plain": options, "restored": options})

    @rule(
        side=SIDES, rows=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["x", "y", None])), max_size=6)
    )
    def push(self, side: int, rows: list[tuple[int, str | None]]) -> None:
        self._push(side, rows)

    @rule()
    def restore(self) -> None:
        blob = self.joins["restored"].snapshot()
        self.joins["restored"] = wm.WindowJoin.restore(blob)
        assert self.joins["restored"].snapshot() == blob
        assert self.joins["restored"].metrics == self.joins["plain"].metrics


class ReorderBuffer(RuleBasedStateMachine):
    """Disordered rows: exactly the rows that the model admits are joined, whatever the batches."""

    @initialize(lateness=st.integers(0, 8), window=WINDOWS, cut=st.integers(1, 3))
    def begin(self, lateness: int, window: str, cut: int) -> None:
        self.lateness, self.window, self.cut = lateness, window, cut
        self.times: list[int | None] = []
        self.other: list[int] = []
        self.promises: list[tuple[int, int]] = []
        self.whole, self.cut_up = self._join(), self._join()
        self.answers: dict[str, list[tuple[int | None, int | None]]] = {"whole": [], "cut up": []}

    def _join(self) -> Any:
        return wm.WindowJoin(
            wm.Stream("left", window=self.window, lateness=f"{self.lateness}us", on_late="keep"),
            wm.Stream("right", window=self.window),
            on=None,
            output="rows",
        )

    def _both(self, call: Any) -> None:
        for name, join in (("whole", self.whole), ("cut up", self.cut_up)):
            self.answers[name] += _pairs(call(join))

    @rule(times=st.lists(st.none() | st.integers(0, 12), max_size=6), base=st.integers(0, 40))
    def push(self, times: list[int | None], base: int) -> None:
        drawn = [None if time is None else base + time for time in times]
        self.times += drawn
        batch = pa.table({"ts": pa.array(drawn, pa.int64())})
        self.answers["whole"] += _pairs(self.whole.push("left", batch))
        for begin in range(0, len(drawn), self.cut):
            self.answers["cut up"] += _pairs(self.cut_up.push("left", batch.slice(begin, self.cut)))

    @rule(gap=st.integers(0, 9))
    def push_other(self, gap: int) -> None:
        self.other.append((self.other[-1] if self.other else 0) + gap)
        self._both(lambda join: join.push("right", pa.table({"ts": [self.other[-1]]})))

    @rule(to=st.integers(0, 50))
    def advance(self, to: int) -> None:
        self.promises.append((len(self.times), to))
        self._both(lambda join: join.advance("left", to=to))

    @precondition(lambda self: self.times)
    @rule()
    def late_rows_are_the_models(self) -> None:
        judged = admit(self.times, lateness=self.lateness, promises=self.promises)
        for join in (self.whole, self.cut_up):
            stream = join.metrics.stream("left")
            assert (stream.late_rows, stream.bad_rows) == (judged.late_rows, judged.bad_rows)
            assert stream.rows == len(self.times)

    def teardown(self) -> None:
        if not hasattr(self, "times"):
            return
        judged = admit(self.times, lateness=self.lateness, promises=self.promises)
        left = pa.table({"ts": pa.array(self.times, pa.int64())})
        right = pa.table({"ts": pa.array(self.other, pa.int64())})
        expected = matching_rows(left, right, window=self.window, admitted=(judged.admitted, None))
        late = [time for time, kept in zip(self.times, judged.admitted, strict=True) if not kept]
        for name, join in (("whole", self.whole), ("cut up", self.cut_up)):
            answer = self.answers[name] + _pairs(join.finish())
            assert sorted(answer, key=_key) == sorted(expected, key=_key), name
            assert join.late("left")["ts"].to_pylist() == late if late else join.late("left").num_rows == 0


TestWindows = Windows.TestCase
TestHoldBuffer = HoldBuffer.TestCase
TestKeyIndexes = KeyIndexes.TestCase
TestSetIndexes = SetIndexes.TestCase
TestWeightedIndexes = WeightedIndexes.TestCase
TestSnapshots = Snapshots.TestCase
TestReorderBuffer = ReorderBuffer.TestCase
TestWindows.settings = SETTINGS
TestHoldBuffer.settings = SETTINGS
TestKeyIndexes.settings = SETTINGS
TestSetIndexes.settings = SETTINGS
TestWeightedIndexes.settings = SETTINGS
TestSnapshots.settings = SETTINGS
TestReorderBuffer.settings = SETTINGS
