"""A live join that runs for a long time: memory must stay level and the answers exact.

Usage: python tools/soak.py --minutes 30

The items of its string sets drift and never come back, so every structure that remembers strings is kept
busy. Every so often one second of the answer is computed again by brute force, and the counts must agree.
Prints one line per check; fails when the resident memory after a warm-up has grown by more than a tenth, or
when an answer is wrong.
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

ROWS = 400  # per stream and batch
STEP_US = 2_500  # so a batch lasts a second, and so does the window: only neighbouring batches meet
WINDOW = "1s"
PREDICATE = wm.overlap("tags", at_least=2)


def resident_mib() -> float:
    """The memory this process holds, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


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


def soak(*, minutes: float, seed: int, check_every: int) -> str | None:
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
        found, memory = counts[number - 2], resident_mib()
        print(
            f"{elapsed:8.0f} s {2 * number * ROWS:>14,} rows {found:>8,} pairs {memory:9.1f} MiB", flush=True
        )
        if found != expected:
            return f"batch {number - 2} gave {found} pairs, brute force {expected}"
        if level is None and elapsed > 0.2 * minutes * 60:
            level = memory
        if level is not None and memory > 1.1 * level + 16:
            return f"memory grew from {level:.1f} to {memory:.1f} MiB"
    return None


def main() -> int:
    """Run, and say how it went."""
    parser = argparse.ArgumentParser(description="A live join for a long time: level memory, exact answers.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check-every", type=int, default=200, help="batches between two checks")
    arguments = parser.parse_args()
    wrong = soak(minutes=arguments.minutes, seed=arguments.seed, check_every=arguments.check_every)
    if wrong:
        print(f"soak: {wrong} (seed {arguments.seed})", file=sys.stderr)
        return 1
    print(f"soak: {arguments.minutes:g} min, memory level, every checked answer exact")
    return 0


if __name__ == "__main__":
    sys.exit(main())
