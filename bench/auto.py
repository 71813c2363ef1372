"""Is index="auto" near the best fixed choice of indexes?

    python -m bench.auto [--seconds 5] [--random 20] [--first-seed 0] [--only W1,W2]
                         [--state FILE --stop-after 100]

Prefixes of W1, W1z, W2, W2b and W3, and random mixed workloads (keys and sets, rates 1:1 to 1:50, windows of
tens to tens of thousands of rows, few and many keys). Each is joined with index="auto" and with every fixed
pair of indexes that its predicate allows; those that would make more comparisons than can be waited for, and
so cannot be the best, are left out. All must find as many pairs. A time is the processor time of the pushing
thread, the median of several turns that auto and the fixed pairs take one after the other: one run in some
sixty is up to a fifth faster than all others of its kind, whatever its indexes, so that the least of the
turns, which is shown beside, is often a draw between such runs. Exit code 1 unless auto takes at most 1.10
times the best. With --state it can be run in pieces: 2 says that there is more to do.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import pyarrow as pa

import watersmeet as wm
from bench.arrow_input import alternating
from bench.live import _predicate
from bench.machine import card
from bench.workloads import WORKLOADS

WORST = 1.10
MOST_COMPARISONS = {"hash": 3e9, "inverted": 3e8}  # beside the index that would avoid them
_FEWEST_TURNS: Final = 3
_HOPELESS: Final = 1.5
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


def measured(workload: Workload, *, seconds: float, most: int) -> dict[str, list[float]]:
    """Times of auto and of each fixed pair, by choice; they take turns, so a disturbance meets all.

    A choice that is beaten by half in two turns cannot be the best and sits out the others.
    """
    choices: list[Any] = ["auto", *fixed(workload)]
    times: dict[Any, list[float]] = {choice: [] for choice in choices}
    pairs = set()
    begin, turn = time.monotonic(), 0
    while turn < _FEWEST_TURNS or (turn < most and time.monotonic() - begin < seconds):
        for at in range(len(choices)):
            choice = choices[(turn + at) % len(choices)]
            gc.collect()
            taken, found = run(workload, choice)
            times[choice].append(taken)
            pairs.add(found)
        turn += 1
        if turn == _FEWEST_TURNS - 1:
            limit = _HOPELESS * min(min(own) for choice, own in times.items() if choice != "auto")
            choices = [choice for choice in choices if choice == "auto" or min(times[choice]) <= limit]
    if len(pairs) != 1:
        raise AssertionError(f"{workload.name}: {pairs} pairs, by index")
    return {choice if choice == "auto" else "/".join(choice): own for choice, own in times.items()}


def shown(name: str, times: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """Print one line; the time of auto over that of the best fixed choice, and how sure that is.

    Behind it, the same ratio from every other turn and from the rest, whose distance is what the machine
    adds; and that of the least times.
    """
    fixed_times = {choice: own for choice, own in times.items() if choice != "auto"}
    best = min(fixed_times, key=lambda choice: median(fixed_times[choice]))
    ratio, *halves = (
        median(times["auto"][part]) / median(fixed_times[best][part])
        for part in (slice(None), slice(0, None, 2), slice(1, None, 2))
    )
    least = min(times["auto"]) / min(min(own) for own in fixed_times.values())
    each = "  ".join(f"{choice} {median(own) * 1e3:.1f}" for choice, own in times.items())
    mark = "" if ratio <= WORST else "  <--"
    between = "/".join(f"{half:.2f}" for half in halves)
    turns = len(times["auto"])
    print(
        f"{ratio:5.3f} ({between}, {turns} turns; least {least:.2f})  {name:44} {each} ms{mark}", flush=True
    )
    return ratio, max(halves) / min(halves) - 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run those that are still to be run, as far as the time goes, and show all that have been."""
    parser = argparse.ArgumentParser(description="auto against every fixed pair of indexes")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each workload")
    parser.add_argument("--turns", type=int, default=15, help="at most, for each workload")
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0, help="of the random ones")
    parser.add_argument("--only", default=",".join(SCALES))
    parser.add_argument("--state", type=Path, help="file to go on from, and to keep what was measured")
    parser.add_argument("--stop-after", type=float, default=math.inf, help="seconds, for all; with --state")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    names = [name for name in options.only.split(",") if name]
    todo: dict[str, Callable[[], Workload]] = {name: partial(named, name) for name in names}
    seeds = range(options.first_seed, options.first_seed + options.random)
    todo |= {f"#{seed}": partial(drawn, seed) for seed in seeds}
    known: dict[str, Any] = {}
    if options.state is not None and options.state.exists():
        known = json.loads(options.state.read_text())
    print(card())
    ratios: list[tuple[float, float]] = []
    for key, made in todo.items():
        if key not in known:
            if time.monotonic() - begin > options.stop_after:
                print(f"{len(ratios)} of {len(todo)} workloads are measured: run it again")
                return 2
            workload = made()
            times = measured(workload, seconds=options.seconds, most=options.turns)
            known[key] = {"name": workload.name, "times": times}
            if options.state is not None:
                options.state.write_text(json.dumps(known))
        ratios.append(shown(known[key]["name"], known[key]["times"]))
    far = sum(ratio > WORST for ratio, _ in ratios)
    apart = sorted(error for _, error in ratios)
    print(
        f"{len(ratios)} workloads: auto at most {max(ratio for ratio, _ in ratios):.3f} x the best;"
        f" {far} beyond {WORST}. Between halves of the turns a ratio differs by {apart[len(apart) // 2]:.1%}"
        f" in the median, {apart[-1]:.1%} at most"
    )
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
