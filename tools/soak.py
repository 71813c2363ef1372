"""A live join under a memory limit and five times more input than it can keep, for a long time.

Usage: python tools/soak.py --minutes 10 [--limit 256] [--exact]

Streams have hot keys (Zipf), long strings that never come back, and bring in each window of time five times
what the limit holds. The process may grow, over what it takes before the join is made, by at most 1.10 x the
limit + 64 MiB, as the system counts it; the join's own count may never pass the limit; and every result must
be one of the full answer: its key, its distance in time and its being new are checked.

--exact soaks a small exact join instead: memory must stay level, and seconds of the answer, computed again by
brute force, must agree. Prints a line every few seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, deque
from pathlib import Path

import numpy as np
import pyarrow as pa

import watersmeet as wm
from watersmeet.testing import brute_force_join

MIB = 2**20
ROWS = 400  # per stream and batch, of the exact soak
STEP_US = 2_500  # so a batch lasts a second, and so does the window: only neighbouring batches meet
WINDOW = "1s"
PREDICATE = wm.overlap("tags", at_least=2)

HOT_ROWS = 250  # per stream and batch, of the soak under a limit
HOT_KEYS = 500_000
NOTE_BYTES = 1_200  # on average
OVERLOAD = 5.0


def resident_bytes() -> int:
    """The memory this process holds."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


class HotStreams:
    """Batches of two streams: hot string keys, and notes long and never the same."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        shares = 1.0 / np.arange(1, HOT_KEYS + 1) ** 0.7
        self._cumulated = np.cumsum(shares / shares.sum())
        self._keys = np.array([f"customer-{number:06d}-of-the-north" for number in range(HOT_KEYS)])
        self._number = {"left": 0, "right": 0}

    def batch(self, name: str, second: int) -> pa.Table:
        """One second of a stream."""
        rng, first = self._rng, self._number[name]
        self._number[name] += HOT_ROWS
        keys = self._keys[np.searchsorted(self._cumulated, rng.random(HOT_ROWS))]
        letters = rng.integers(97, 123, 2 * NOTE_BYTES * HOT_ROWS, dtype=np.uint8).tobytes()
        ends = np.cumsum(rng.integers(NOTE_BYTES // 2, 2 * NOTE_BYTES - NOTE_BYTES // 2, HOT_ROWS))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        notes = pa.StringArray.from_buffers(
            HOT_ROWS, pa.py_buffer(offsets), pa.py_buffer(letters[: offsets[-1]])
        )
        notes = pa.concat_arrays([notes, notes.slice(0, 0)])  # in Arrow's own memory, as input mostly is
        ts = second * 1_000_000 + np.sort(rng.integers(0, 1_000_000, HOT_ROWS))
        numbers = np.arange(first, first + HOT_ROWS)
        return pa.table({"ts": ts, "customer": pa.array(keys), "number": numbers, "note": notes})


def wrong_results(out: pa.Table, window_us: int) -> str | None:
    """What is not as it should be about some results, or None."""
    if out.num_rows == 0:
        return None
    if not out["customer"].equals(out["customer_right"]):
        return "a pair of two customers"
    apart = np.abs(out["ts"].to_numpy() - out["ts_right"].to_numpy())
    if apart.max() > window_us:
        return f"a pair {apart.max()} us apart"
    pairs = out["number"].to_numpy() * (1 << 32) + out["number_right"].to_numpy()
    return "a pair that came twice" if len(np.unique(pairs)) != len(pairs) else None


def soak_under_limit(*, minutes: float, limit: int, seed: int) -> str | None:
    """Run until the time is up. Returns what went wrong, or None."""
    source = HotStreams(seed)
    warm = wm.WindowJoin(
        wm.Stream("left", window="1s"), wm.Stream("right", window="1s"), on=wm.equal("customer")
    )
    for name in ("left", "right"):  # all that is imported and compiled is there before the baseline is taken
        warm.push(name, HotStreams(0).batch(name, 0))
    row_bytes = source.batch("left", 0).nbytes / HOT_ROWS + 60
    seconds = OVERLOAD * limit / (2 * HOT_ROWS * row_bytes)
    del warm
    streams = [wm.Stream(name, window=f"{seconds:.0f}s") for name in ("left", "right")]
    baseline = resident_bytes()
    bound = baseline + 1.1 * limit + 64 * MIB
    live = wm.WindowJoin(*streams, on=wm.equal("customer"), memory_limit=limit)
    print(
        f"baseline {baseline / MIB:.1f} MiB, limit {limit / MIB:.0f} MiB, may grow to {bound / MIB:.1f} MiB;"
        f" windows of {seconds:.0f} s hold {OVERLOAD:g} x the limit",
        flush=True,
    )
    start, shown, number, peak, results = time.monotonic(), 0.0, 0, 0, 0
    while (elapsed := time.monotonic() - start) < minutes * 60:
        for name in ("left", "right"):
            out = live.push(name, source.batch(name, 1 + number))
            results += out.num_rows
            memory, counted = resident_bytes(), live.metrics.memory_bytes
            peak = max(peak, memory)
            if memory > bound:
                return f"{memory / MIB:.1f} MiB resident, allowed {bound / MIB:.1f}"
            if counted > limit:
                return f"the join counts {counted} bytes, its limit is {limit}"
            wrong = wrong_results(out, round(seconds) * 1_000_000) if number % 10 == 0 else None
            if wrong is not None:
                return wrong
            del out
        number += 1
        if elapsed - shown >= 5.0 or number == 1:
            shown = elapsed
            found = live.metrics
            kept = "/".join(f"{stream.window_rows / HOT_ROWS:.0f} s" for stream in found.streams)
            print(
                f"{elapsed:6.0f} s {2 * number * HOT_ROWS:>12,} rows {results:>12,} pairs"
                f"  counted {found.memory_bytes / MIB:7.1f}  resident +{(memory - baseline) / MIB:7.1f} MiB"
                f"  kept {kept}  recall {found.recall}",
                flush=True,
            )
    due, done, lost = (
        sum(getattr(each, name) for each in live.metrics.directions) for name in ("due", "done", "lost")
    )
    if due != done + lost:
        return f"{due} pairs due, {done} done and {lost} lost"
    print(
        f"soak: {minutes:g} min, {2 * number * HOT_ROWS:,} rows; growth at most"
        f" {(peak - baseline) / MIB:.1f} MiB of {(bound - baseline) / MIB:.1f} allowed;"
        f" windows seen {number / seconds:.1f} times"
    )
    return None


def batch(rng: np.random.Generator, number: int) -> pa.Table:
    """One second of a stream: sets of strings from a vocabulary that drifts and never returns."""
    ts = (number * ROWS + np.arange(ROWS)) * STEP_US
    items = number * 20 + rng.integers(0, 100, (ROWS, 6))
    sets = [[f"item-{item}" for item in row] for row in items]
    return pa.table({"ts": pa.array(ts, pa.int64()), "tags": pa.array(sets, pa.list_(pa.string()))})


def pairs_of_newest(left: list[pa.Table], right: list[pa.Table]) -> int:
    """How many pairs have their later row in the second of the two batches given of each stream."""

    def pairs(own: pa.Table, other: pa.Table) -> int:
        rows = brute_force_join(own, other, on=PREDICATE, window=WINDOW, time="ts", output="rows")
        return int(rows.num_rows)

    return pairs(left[1], right[1]) + pairs(left[1], right[0]) + pairs(left[0], right[1])


def count_by_batch(counts: Counter[int], out: pa.Table) -> None:
    """Add each pair to the count of the batch that its later row came in."""
    later = np.maximum(out["left_row"].to_numpy(), out["right_row"].to_numpy()) // ROWS
    for number, pairs in zip(*np.unique(later, return_counts=True), strict=True):
        counts[int(number)] += int(pairs)


def soak_exact(*, minutes: float, seed: int, check_every: int) -> str | None:
    """Run until the time is up. Returns what went wrong, or None."""
    rng = np.random.default_rng(seed)
    streams = [wm.Stream(name, time="ts", window=WINDOW) for name in ("left", "right")]
    live = wm.WindowJoin(*streams, on=PREDICATE, output="rows")
    recent: dict[str, deque[pa.Table]] = {stream.name: deque(maxlen=3) for stream in streams}
    counts: Counter[int] = Counter()
    level: float | None = None
    start = time.monotonic()
    number = 0
    while (elapsed := time.monotonic() - start) < minutes * 60:
        for name, tables in recent.items():
            tables.append(batch(rng, number))
            count_by_batch(counts, live.push(name, tables[-1]))
        counts.pop(number - 3, None)
        number += 1
        if number < 3 or number % check_every:
            continue
        # The newest second may still be held back; the one before it is complete.
        expected = pairs_of_newest(list(recent["left"])[:2], list(recent["right"])[:2])
        found, memory = counts[number - 2], resident_bytes() / MIB
        print(
            f"{elapsed:8.0f} s {2 * number * ROWS:>14,} rows {found:>8,} pairs {memory:9.1f} MiB", flush=True
        )
        if found != expected:
            return f"batch {number - 2} gave {found} pairs, brute force {expected}"
        if level is None and elapsed > 0.2 * minutes * 60:
            level = memory
        if level is not None and memory > 1.1 * level + 16:
            return f"memory grew from {level:.1f} to {memory:.1f} MiB"
    print(f"soak: {minutes:g} min, memory level, every checked answer exact")
    return None


def main() -> int:
    """Run, and say how it went."""
    parser = argparse.ArgumentParser(description="A live join for a long time.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--limit", type=int, default=256, help="MiB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exact", action="store_true", help="a small join without a limit")
    parser.add_argument("--check-every", type=int, default=200, help="batches between two checks of --exact")
    arguments = parser.parse_args()
    if arguments.exact:
        wrong = soak_exact(minutes=arguments.minutes, seed=arguments.seed, check_every=arguments.check_every)
    else:
        wrong = soak_under_limit(minutes=arguments.minutes, limit=arguments.limit * MIB, seed=arguments.seed)
    if wrong:
        print(f"soak: {wrong} (seed {arguments.seed})", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
