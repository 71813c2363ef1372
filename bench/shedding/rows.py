"""Shedding away from the model workload: no correlation, a jump, other arrivals, predicates, a real pair.

    python bench/shedding/rows.py [--seeds 21 22 23 24 25] [--rows kappa0 jump poisson ...]

Each row is a workload at a budget that is a share of the full join's comparisons; each policy's results are
given as a share of the full answer, of which every one is checked to be part. All is in stream time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import watersmeet as wm  # noqa: E402  the checkout has to be on the path first
from bench.shedding.table import feed, keys  # noqa: E402
from watersmeet.testing import gedik_streams  # noqa: E402
from watersmeet.testing.oracle import result_seconds  # noqa: E402

REUTERS = ROOT.parents[1] / "shared" / "data" / "reuters21578" / "docs.parquet"
POLICIES = ("random-drop", "gedik", "density", "content")


@dataclass(frozen=True)
class Work:
    """Two streams, how they are joined, and from which second on results count."""

    left: pa.Table
    right: pa.Table
    on: Any = field(default_factory=lambda: wm.overlap("items", at_least=3))
    windows: tuple[Any, Any] = (20.0, 20.0)
    index: str = "scan"
    basic_window: str | None = "1s"
    start_s: float = 40.0
    shares: tuple[float, ...] = (0.1, 0.3)
    stop_s: float = float("inf")
    policies: tuple[str, ...] = POLICIES
    input_buffer: str = "1s"


def weighted(table: pa.Table, seed: int) -> pa.Table:
    """The same sets with weights of eighths."""
    lists = table["items"].combine_chunks()
    drawn = np.random.default_rng(seed).integers(4, 12, len(lists.flatten())) / 8
    return table.append_column("w", pa.ListArray.from_arrays(lists.offsets, pa.array(drawn)))


def on_weights(seed: int) -> Work:
    left, right = gedik_streams(seed, 0.7, 300.0, 80.0)
    on = wm.dot(items="items", weights="w", at_least=2.5)
    return Work(weighted(left, seed), weighted(right, seed + 1), on=on)


def on_keys(seed: int) -> Work:
    left, right = gedik_streams(seed, 0.7, 300.0, 80.0, domain=500, size_mean=1.0, size_deviation=0.0)
    one, two = (t.set_column(1, "key", t["items"].combine_chunks().flatten()) for t in (left, right))
    return Work(one, two, on=wm.equal("key"))


def reuters(_: int) -> Work:
    """News of the USA and of the world that share a topic within a day; a day lasts 24 s here."""
    docs = pq.read_table(REUTERS, columns=["ts", "stream", "topics"])
    docs = docs.set_column(0, "ts", pa.array(docs["ts"].to_numpy()).cast(pa.timestamp("us")))
    sides = [
        docs.filter(pa.compute.equal(docs["stream"], name)).drop(["stream"]) for name in ("usa", "world")
    ]
    on = wm.overlap("topics", at_least=1)
    # Milliseconds read as microseconds: an hour lasts 3.6 s, ten months two hours.
    return Work(
        *sides, on=on, windows=("86400ms", "86400ms"), basic_window="3600ms", start_s=0.0, input_buffer="1m"
    )  # a row a second: in a second there is nothing to spread work over


ROWS: dict[str, Callable[[int], Work]] = {
    "kappa 0": lambda seed: Work(*gedik_streams(seed, 0.0, 500.0, 80.0), shares=(0.02, 0.1, 0.3)),
    "poisson": lambda seed: Work(*gedik_streams(seed, 0.7, 500.0, 80.0, poisson=True)),
    "rates 150 and 600": lambda seed: Work(*gedik_streams(seed, 0.7, (150.0, 600.0), 80.0)),
    "windows 8 s and 24 s": lambda seed: Work(*gedik_streams(seed, 0.7, 500.0, 80.0), windows=(8.0, 24.0)),
    "windows of 8000 rows": lambda seed: Work(
        *gedik_streams(seed, 0.7, 500.0, 80.0), windows=("8000i", "8000i"), basic_window=None
    ),
    "weighted sets": on_weights,
    "equality, no index": on_keys,
    "reuters topics": reuters,
}  # fmt: skip


def joined(work: Work, shed: wm.Shed | None, seed: int) -> tuple[wm.WindowJoin, pa.Table, list[Any]]:
    join = wm.WindowJoin(
        *(wm.Stream(name, window=window) for name, window in zip("ab", work.windows, strict=True)),
        on=work.on,
        basic_window=work.basic_window,
        shed=shed,
        index="auto" if shed is None else work.index,  # type: ignore[arg-type]
        output="rows",
        seed=seed,
    )
    pairs, history = feed(join, work.left, work.right)
    return join, pairs, history


def due_per_second(join: wm.WindowJoin, work: Work) -> float:
    spans = [np.asarray(table["ts"].cast(pa.int64())) for table in (work.left, work.right)]
    seconds = (max(s[-1] for s in spans) - min(s[0] for s in spans)) / 1e6
    return sum(direction.due for direction in join.metrics.directions) / float(seconds)


@dataclass(frozen=True)
class Outcome:
    part: float
    spent: float
    dropped: int
    error: float


def measured(work: Work, full: pa.Table, shed: wm.Shed, per_second: float, seed: int) -> Outcome:
    join, pairs, history = joined(work, shed, seed)
    found, whole = np.sort(keys(pairs)), np.sort(keys(full))
    assert np.isin(found, whole, assume_unique=True).all()
    assert (np.diff(found) > 0).all()
    counts = [
        float(((at >= work.start_s) & (at < work.stop_s)).sum())
        for at in (result_seconds(work.left, work.right, table) for table in (pairs, full))
    ]
    steady = [p for p in history if p["begin_s"] >= work.start_s] or history
    spent = sum(p["units"] for p in steady) / sum(p["elapsed_s"] for p in steady) / per_second
    dropped = sum(stream.dropped_rows for stream in join.metrics.streams)
    return Outcome(counts[0] / counts[1], spent, dropped, join.metrics.recall.value - found.size / whole.size)


def report(name: str, seeds: Sequence[int]) -> None:
    make = ROWS[name]
    works = {seed: make(seed) for seed in (seeds[:1] if name == "reuters topics" else seeds)}
    fulls = {seed: joined(work, None, seed) for seed, work in works.items()}
    for share in next(iter(works.values())).shares:
        baseline = 0.0
        for policy in next(iter(works.values())).policies:
            outcomes = []
            for seed, work in works.items():
                per_second = share * due_per_second(fulls[seed][0], work)
                shed = wm.Shed(
                    wm.comparisons(per_second),
                    policy=policy,  # type: ignore[arg-type]
                    input_buffer=work.input_buffer,
                )
                outcomes.append(measured(work, fulls[seed][1], shed, per_second, seed))
            mean = float(np.mean([o.part for o in outcomes]))
            baseline = baseline or mean
            print(
                f"{name:22} {share:5.2f}  {policy:12} {mean:6.3f} {np.std([o.part for o in outcomes]):6.3f}"
                f"  {mean / baseline:6.2f} {np.mean([o.spent for o in outcomes]):6.3f}"
                f" {sum(o.dropped for o in outcomes):7d}  {np.max(np.abs([o.error for o in outcomes])):.3f}",
                flush=True,
            )


def jump(seeds: Sequence[int]) -> None:
    """The time shift jumps from 5/8 to 1/8 of the cycle at 80 s; when is each policy back?"""
    print("jump of the time shift at 80 s, kappa .8, f=.1: share of the steady output per second of stream")
    for policy in ("gedik", "density", "content"):
        before, after = [], []
        for seed in seeds:
            one, two = gedik_streams(seed, 0.8, 500.0, 120.0, jump=(80.0, 5.0))
            work = Work(one, two)
            _, pairs, _ = joined(work, wm.Shed(wm.comparisons(1e6), policy=policy), seed)
            _, full, _ = joined(work, None, seed)
            counts = [
                np.histogram(result_seconds(one, two, table), np.arange(0, 121))[0] for table in (pairs, full)
            ]
            part = counts[0] / np.maximum(1, counts[1])
            before.append(part[60:80].mean())
            after.append(part / part[105:120].mean())
        late = np.mean(after, axis=0)
        back = next((s - 80 for s in range(80, 116) if late[s : s + 3].mean() >= 0.9), None)
        shown = " ".join(f"{value:.2f}" for value in late[80:92])
        print(f"  {policy:12} steady before {np.mean(before):.3f}; after the jump {shown}; back in {back} s")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="shedding away from the model workload")
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23, 24, 25])
    parser.add_argument("--rows", nargs="+", default=[*ROWS, "jump"], choices=[*ROWS, "jump"])
    options = parser.parse_args(arguments)
    print("workload               share  policy       of full   s.d.  / drop  spent dropped  recall error")
    for name in options.rows:
        if name == "jump":
            jump(options.seeds)
        elif name != "reuters topics" or REUTERS.exists():
            report(name, options.seeds)
        else:
            print(f"{name:22} not here: {REUTERS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
