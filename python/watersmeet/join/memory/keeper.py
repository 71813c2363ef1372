"""Keeps a join under its memory limit.

With on_memory="raise" the core is told how much it may take, and refuses a batch that needs more. With
"shrink" room for the next batch is made after each one: when windows, payload and all else come near the
limit, the rows least likely to match are given up, oldest first, the two windows sharing what there is as
their measured match densities say (cost.rows_to_keep). Only if a batch finds no room although that was done,
having grown much larger than those before it, rows are given up before it is taken; and only if it could not
fit beside empty windows is it thinned, as [Kang] 4.2 says whose rows to drop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from watersmeet._core import _native
from watersmeet.cost import (
    WindowNeed,
    lost_results,
    regulate,
    rows_to_keep,
    share_of_answer,
)
from watersmeet.errors import MemoryLimitError
from watersmeet.join.memory.counts import Counts, counted_ages
from watersmeet.join.memory.given_up import GivenUp
from watersmeet.vocabulary import Estimate

if TYPE_CHECKING:
    from watersmeet.join.two_way.engine import Engine

__all__ = ["MemoryKeeper"]

_ROW_BYTES: Final = 128  # of the core for a row, beside its values: index, numbers, ranges
_LOW_WATER: Final = 15 / 16  # of what may be filled; so far windows are cut, once they have to be
_LARGEST_BATCH: Final = 0.5  # of the limit; a larger one is thinned
_RESERVE: Final = 0.25  # of the limit, at most, kept free for the next batch
_LATE_SHARE: Final = 0.125  # of the limit, for late rows that nobody has fetched
_ATTEMPTS: Final = 24
_EMPTY_BYTES: Final = 32 << 10  # of the core whatever it holds, at least what it takes with empty windows
_EXPLORED: Final = 1 / 64  # of the memory goes to either window now and then, so that its density is known
_EXPLORE_EVERY: Final = 8
_RELEASED: Final = 8 << 20  # bytes in and out after which freed memory goes back to the system
_DECAY: Final = 0.75  # of the rates known, at each look


class MemoryKeeper:
    """What one join has taken of its memory limit, and what it gives up."""

    def __init__(self, limit: int, *, may_shrink: bool) -> None:
        self.limit = limit
        self.may_shrink = may_shrink
        self.fixed_split: float | None = None  # the left window's share, to compare with: figures, benches
        self.given_up = GivenUp()
        self._others = (0, 0)  # rows of each stream when its last batch began
        self._reserve = 0.0
        self._recent = (Counts(), Counts())
        self._cuts = 0
        self._since_release = 0.0
        self._progress = (0, 0, 0.0)  # at the last look
        self._lately = (0.0, 0.0, 0.0)  # the same, what was long ago weighing less

    def taken(self, engine: Engine) -> int:
        """Bytes of all that the join keeps."""
        core = engine.setup.core
        held = 0 if core is None else core.memory_bytes
        return int(held) + sum(engine.payload_bytes()) + engine.kept_bytes()

    # --- before a batch ---------------------------------------------------------------------------------

    def kept_of(self, engine: Engine, side: int, batch: pa.RecordBatch) -> int:
        """How many rows of the batch may be taken; room is made for them."""
        if not self.may_shrink:
            return int(batch.num_rows)
        needed = _needs(batch)
        self._since_release += needed
        if engine.config.streams[side].on_late == "keep":
            needed += batch.nbytes
        self._reserve = max(needed, 0.95 * self._reserve)
        most = _LARGEST_BATCH * self.limit
        free = self.limit - self.taken(engine)
        if needed > free:
            self._cut(engine, self.limit - min(needed, most))
            free = self.limit - self.taken(engine)
        if needed <= min(free, most):
            return int(batch.num_rows)
        return self._thinned(engine, side, batch, max(0.0, min(free, most)) / needed)

    def let_in(self, engine: Engine) -> None:
        """Tell the core how much it may take; called when the batch's payload is in its store."""
        core = engine.setup.core
        self._others = (engine.pushed[0], engine.pushed[1])
        others = self.taken(engine) - core.memory_bytes
        # What cannot be given up must leave room for windows that are empty, since they stay.
        if self.may_shrink:
            others += _EMPTY_BYTES
        core.set_room(max(0, self.limit - others), may_evict=self.may_shrink)
        if self.may_shrink and hasattr(core, "measure_ages"):
            core.measure_ages()

    def gave_way(self, engine: Engine) -> bool:
        """Halve both windows, so that a batch finds fewer results at once; False where they are empty."""
        rows = engine.window_rows()
        if not self.may_shrink or not any(rows):
            return False
        for side in (0, 1):
            if rows[side]:
                engine.setup.core.evict(side, rows[side] // 2)
        self._note_given_up(engine, others=(engine.pushed[0], engine.pushed[1]))
        _release(engine)
        return True

    def refusal(self, engine: Engine, side: int, rows: int, error: MemoryLimitError) -> MemoryLimitError:
        """The core's error in words for the user."""
        name = engine.config.names[side]
        advice = (
            "push smaller batches, or raise memory_limit"
            if self.may_shrink
            else "raise memory_limit, push smaller batches, or let windows shrink with on_memory='shrink'"
        )
        return MemoryLimitError(
            f"stream {name!r}: a batch of {rows:,} rows does not fit under memory_limit={self.limit:,}:"
            f" {error}, beside {sum(engine.payload_bytes()):,} of payload; nothing was taken."
            f" To go on, {advice}"
        )

    def _thinned(self, engine: Engine, side: int, batch: pa.RecordBatch, fits: float) -> int:
        """Rows to take of a batch of which a share fits; less where the other stream earns more by it."""
        rates = self._rates(engine)
        share = fits
        if rates is not None and min(rates) > 0.0:
            sizes = _needs(batch) / batch.num_rows, self._row_bytes(engine, 1 - side)
            costs = sizes if side == 0 else (sizes[1], sizes[0])
            demand = rates[0] * costs[0] + rates[1] * costs[1]
            allowed = regulate(rates, demand * fits, probe_costs=costs)
            share = min(fits, allowed[side] / rates[side])
        return int(share * batch.num_rows)

    # --- after a change ---------------------------------------------------------------------------------

    def settle(self, engine: Engine, *, given: int) -> None:
        """Give up what does not fit, with room for another batch; results of `given` bytes went out."""
        if engine.setup.core is None:
            return
        if not self.may_shrink:
            if self.taken(engine) > self.limit:  # by what stands empty, since what is needed was refused
                _release(engine)
            return
        self._note_given_up(engine, others=self._others)  # by the core, while it took the batch
        self._forget_late(engine)
        self._since_release += given
        if self._since_release > min(_RELEASED, self.limit / 8):
            self._since_release = 0.0
            _native.release_memory()
            pa.default_memory_pool().release_unused()
        reserve = min(self._reserve, _RESERVE * self.limit)
        if self.taken(engine) > self.limit - reserve:
            self._cut(engine, self.limit - reserve)

    def _cut(self, engine: Engine, target: float) -> None:
        """Shrink to somewhat below `target` bytes, or to empty windows."""
        core = engine.setup.core
        if core is None:
            return
        if engine.log is not None and engine.log_bytes > 0:
            engine.log = None
        target *= _LOW_WATER
        _release(engine)
        for attempt in range(_ATTEMPTS):
            taken = self.taken(engine)
            sizes = engine.window_bytes()
            rows = engine.window_rows()
            if taken <= target or not any(rows):
                return
            kept = self._kept(engine, (target - (taken - sum(sizes))) * 0.95**attempt)
            kept = min(kept[0], rows[0]), min(kept[1], rows[1])
            if kept == rows:  # they should fit, and do not: what a row takes is not what it took on average
                kept = int(rows[0] * 0.9), int(rows[1] * 0.9)
            for side in (0, 1):
                if kept[side] < rows[side]:
                    core.evict(side, kept[side])
            self._note_given_up(engine, others=(engine.pushed[0], engine.pushed[1]))
            _release(engine)

    def _note_given_up(self, engine: Engine, *, others: tuple[int, int]) -> None:
        for side, stream in enumerate(engine.setup.core.statistics()["streams"]):
            end = engine.pushed[side] - stream["pending_rows"] - stream["window_rows"]
            self.given_up.note(side, end=end, evicted=stream["evicted_rows"], others=others[1 - side])

    def _kept(self, engine: Engine, memory: float) -> tuple[int, int]:
        if memory <= 0.0:
            return 0, 0
        needs = self._needs(engine)
        if needs is None:  # no time has passed: nothing is known of rates
            rows, sizes = engine.window_rows(), engine.window_bytes()
            share = memory / max(1, sum(sizes))
            return int(rows[0] * min(1.0, share)), int(rows[1] * min(1.0, share))
        if self.fixed_split is not None:
            parts = memory * self.fixed_split, memory * (1.0 - self.fixed_split)
            return int(parts[0] / needs[0].row_bytes), int(parts[1] / needs[1].row_bytes)
        first, second = rows_to_keep(needs, memory, present=engine.window_rows())
        self._cuts += 1
        if self._cuts % _EXPLORE_EVERY == 1:
            explored = [int(_EXPLORED * memory / each.row_bytes) for each in needs]
            if first < explored[0]:
                return explored[0], int((1.0 - _EXPLORED) * second)
            if second < explored[1]:
                return int((1.0 - _EXPLORED) * first), explored[1]
        return first, second

    def _needs(self, engine: Engine) -> tuple[WindowNeed, WindowNeed] | None:
        rates = self._rates(engine)
        if rates is None:
            return None
        # Direction n is stream n's rows in the other window.
        ages = [recent.updated(now) for recent, now in zip(self._recent, counted_ages(engine), strict=True)]
        self._recent = (ages[0], ages[1])
        spans = engine.window_spans_s(rates)
        first, second = (
            WindowNeed(rates[side], spans[side], self._row_bytes(engine, side), ages[1 - side].decayed)
            for side in (0, 1)
        )
        return first, second

    def _rates(self, engine: Engine) -> tuple[float, float] | None:
        """Rows of each stream per second of stream time, lately; None while no time has passed."""
        now = engine.arrivals()
        left, right, seconds = (
            _DECAY * known + max(0.0, current - before)
            for known, current, before in zip(self._lately, now, self._progress, strict=True)
        )
        if now[2] > self._progress[2]:
            self._lately, self._progress = (left, right, seconds), now
        left, right, seconds = self._lately
        return (left / seconds, right / seconds) if seconds > 0.0 else None

    def _row_bytes(self, engine: Engine, side: int) -> float:
        rows = engine.window_rows()[side]
        return engine.window_bytes()[side] / rows if rows else float(_ROW_BYTES)

    def _forget_late(self, engine: Engine) -> None:
        for late in engine.late:
            late.keep_at_most(int(_LATE_SHARE * self.limit))

    # --- what it costs ----------------------------------------------------------------------------------

    def recall(self, engine: Engine, counted: dict[str, Any]) -> tuple[Estimate, Estimate, Estimate]:
        """The share of the answer that memory left: of all, and of each direction."""
        ages = counted_ages(engine)
        known = [each.density for each in ages]
        common = next((density for density in known if density is not None), None)
        lost = [
            lost_results(each, direction["lost"], otherwise=common)
            for each, direction in zip(ages, counted["directions"], strict=True)
        ]
        found = [sum(each.matches) for each in ages]
        whole = share_of_answer(counted["results"] + counted["held"], lost)
        return whole, share_of_answer(found[0], lost[:1]), share_of_answer(found[1], lost[1:])

    def plain(self) -> dict[str, Any]:
        """What it remembers, as numbers and lists."""
        return {
            "reserve": self._reserve,
            "cuts": self._cuts,
            "progress": self._progress,
            "lately": self._lately,
            "recent": [recent.plain() for recent in self._recent],
        }

    def resume(self, plain: dict[str, Any]) -> None:
        """Go on from what plain() gave."""
        self._reserve, self._cuts = plain["reserve"], plain["cuts"]
        self._progress, self._lately = tuple(plain["progress"]), tuple(plain["lately"])
        first, second = (Counts.from_plain(recent) for recent in plain["recent"])
        self._recent = (first, second)


def _needs(batch: pa.RecordBatch) -> float:
    """About what a batch will take while it is pushed."""
    return 1.5 * float(batch.nbytes) + _ROW_BYTES * float(batch.num_rows)


def _release(engine: Engine) -> None:
    """Let go of what no result needs, here and in the core, and give it back to the system."""
    engine.setup.core.trim()
    engine.trim()
    for store in engine.setup.stores:
        if store is not None:
            store.trim()
    pa.default_memory_pool().release_unused()
