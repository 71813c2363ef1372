"""Is index="auto" near the best fixed choice of indexes?

    python -m bench.auto [--repeats 3] [--random 20] [--only W1,W2]

Prefixes of W1, W1z, W2, W2b and W3, and random mixed workloads (keys and sets, rates 1:1 to 1:50, windows of
tens to tens of thousands of rows, few and many keys). Each is joined with index="auto" and with every fixed
pair of indexes that its predicate allows; those that would make more comparisons than can be waited for, and
so cannot be the best, are left out. All must find as many pairs. A time is the processor time of the pushing
thread, the best of repeats that take turns. Exit code 1 unless auto takes at most 1.10 times the best.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import watersmeet as wm
from bench.arrow_input import alternating
from bench.live import _predicate
from bench.machine import card
from bench.workloads import WORKLOADS

WORST = 1.10
MOST_COMPARISONS = {"hash": 3e9, "inverted": 3e8}  # beside the index that would avoid them
SCALES = {"W1": 0.5, "W1z": 0.2, "W2": 0.3, "W2b": 0.1, "W3": 0.06}


@dataclass(frozen=True, slots=True)
class Workload:
    """Batches of two streams, their windows in seconds, and how many pairs a scan of everything compares."""

    name: str
    on: Any
    windows: tuple[float, float]
    pushes: tuple[tuple[int, pa.Table], ...]
    comparisons: tuple[float, float]  # by rows of each stream in a scanned window of the other
    indexes: tuple[str, ...]


def fixed(workload: Workload) -> list[tuple[str, str]]:
    """The pairs of indexes that can be waited for: index n is of window n, which stream 1 - n scans."""
    most = MOST_COMPARISONS[workload.indexes[0]]

    def scanned(pair: tuple[str, ...]) -> float:
        return sum(workload.comparisons[1 - window] for window in (0, 1) if pair[window] == "scan")

    pairs = itertools.product(workload.indexes, repeat=2)
    return [(pair[0], pair[1]) for pair in pairs if scanned(pair) < most]


def run(workload: Workload, index: Any) -> tuple[float, int]:
    """Seconds of processor time, and pairs found."""
    streams = [wm.Stream(name, window=span) for name, span in zip("ab", workload.windows, strict=True)]
    join = wm.WindowJoin(*streams, on=workload.on, index=index, output="rows")
    found, start = 0, time.thread_time()
    for stream, batch in workload.pushes:
        found += join.push("ab"[stream], batch).num_rows
    taken = time.thread_time() - start
    return taken, found + join.finish().num_rows


def named(name: str) -> Workload:
    """A prefix of one of the standard workloads."""
    case = WORKLOADS[name].scaled(SCALES[name])
    window = case.window_us / 1e6
    compared = case.rows * min(case.rows, case.window_us / case.spacing_us)
    indexes = ("hash", "scan") if case.kind == "keys" else ("inverted", "scan")
    pushes = tuple(alternating(case, batch=8_192))
    return Workload(name, _predicate(case), (window, window), pushes, (compared, compared), indexes)


def drawn(seed: int) -> Workload:
    """A random workload."""
    rng = np.random.default_rng(seed)
    is_set = seed % 3 == 2
    ratio = float(np.exp(rng.uniform(0.0, np.log(50.0))))
    rows = 40_000 if is_set else 600_000
    fast = 10_000.0
    rates = (fast / ratio, fast) if rng.random() < 0.5 else (fast, fast / ratio)
    spans = [float(np.exp(rng.uniform(np.log(30.0), np.log(3e4)))) / fast for _ in range(2)]
    domain = int(np.exp(rng.uniform(np.log(50.0), np.log(1e5))))
    seconds = rows / sum(rates)
    tables = []
    for rate in rates:
        count = max(2, int(rate * seconds))
        ts = pa.array((np.arange(count) * (1e6 / rate)).astype(np.int64))
        if is_set:
            items = np.sort(rng.integers(0, max(60, domain // 10), (count, 6)), axis=1).reshape(-1)
            column = pa.ListArray.from_arrays(np.arange(0, 6 * count + 1, 6, dtype=np.int32), pa.array(items))
        else:
            column = pa.array(rng.integers(0, domain, count))
        tables.append(pa.table({"ts": ts, "k": column}))
    pushes = []
    count = max(1, rows // 4096)
    for at in range(count):
        for stream, table in enumerate(tables):
            begin, end = table.num_rows * at // count, table.num_rows * (at + 1) // count
            pushes.append((stream, table.slice(begin, end - begin)))
    compared = [tables[own].num_rows * rates[1 - own] * spans[1 - own] for own in (0, 1)]
    held = "/".join(f"{rate * span:,.0f}" for rate, span in zip(rates, spans, strict=True))
    title = f"{'sets' if is_set else 'keys'} 1:{ratio:.0f} {held} rows"
    return Workload(
        f"#{seed} {title} {domain:,}",
        wm.overlap("k", at_least=3) if is_set else wm.equal("k"),
        (spans[0], spans[1]),
        tuple(pushes),
        (compared[0], compared[1]),
        ("inverted", "scan") if is_set else ("hash", "scan"),
    )


def compare(workload: Workload, repeats: int) -> float:
    """Print one line; the time of auto over that of the best."""
    choices: list[Any] = ["auto", *fixed(workload)]
    times = dict.fromkeys(choices, float("inf"))
    pairs = set()
    for _ in range(repeats):
        for choice in choices:
            taken, found = run(workload, choice)
            times[choice] = min(times[choice], taken)
            pairs.add(found)
    if len(pairs) != 1:
        raise AssertionError(f"{workload.name}: {pairs} pairs, by index")
    auto = times.pop("auto")
    best = min(times, key=lambda choice: times[choice])
    shown = "  ".join(f"{'/'.join(choice)} {taken * 1e3:.0f}" for choice, taken in times.items())
    mark = "" if auto <= WORST * times[best] else "  <--"
    print(
        f"{auto / times[best]:5.2f}  {workload.name:44} auto {auto * 1e3:.0f}  {shown} ms{mark}", flush=True
    )
    return auto / times[best]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them all."""
    parser = argparse.ArgumentParser(description="auto against every fixed pair of indexes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--only", default=",".join(SCALES))
    options = parser.parse_args(arguments)
    print(card())
    names = [name for name in options.only.split(",") if name]
    ratios = [compare(named(name), options.repeats) for name in names]
    ratios += [compare(drawn(seed), options.repeats) for seed in range(options.random)]
    far = sum(ratio > WORST for ratio in ratios)
    print(f"{len(ratios)} workloads: auto at most {max(ratios):.3f} x the best; {far} beyond {WORST}")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
