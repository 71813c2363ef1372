"""Shedding away from the model workload: no correlation, a jump, other arrivals, predicates, a real pair.

    python bench/shedding/rows.py [--seeds 21 22 23 24 25] [--rows "kappa 0" jump poisson ...] [--minutes 7]

Each row is a workload at a budget that is a share of the full join's comparisons per second in which rows
come; each policy's results are given as a share of the full answer, of which every one is checked to be
part. `spent` is what was spent of what could be: no more than is due in a period. All is in stream time.
Single runs are kept (store.py), so that the rows can be made in pieces.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
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
from bench.shedding.store import Store  # noqa: E402
from bench.shedding.table import feed, keys  # noqa: E402
from watersmeet.testing import gedik_streams  # noqa: E402
from watersmeet.testing.oracle import (  # noqa: E402
    best_by_cell,
    best_by_lag,
    cell_trace,
    full_answer,
    result_seconds,
)

REUTERS = ROOT.parent / "shared" / "data" / "reuters21578" / "docs.parquet"
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
    stop_s: float = float("inf")


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
    """News of the USA and of the world that share a topic within a day; an hour lasts 3.6 s here.

    Rows are rare and uneven: a few a second by day, none by night, pauses of weeks.
    """
    docs = pq.read_table(REUTERS, columns=["ts", "stream", "topics"])
    docs = docs.set_column(0, "ts", pa.array(docs["ts"].to_numpy()).cast(pa.timestamp("us")))
    sides = [
        docs.filter(pa.compute.equal(docs["stream"], name)).drop(["stream"]) for name in ("usa", "world")
    ]
    on = wm.overlap("topics", at_least=1)
    # Milliseconds read as microseconds.
    usa, world = sides
    return Work(usa, world, on=on, windows=("86400ms", "86400ms"), basic_window="3600ms", start_s=0.0)


ROWS: dict[str, Callable[[int], Work]] = {
    "kappa 0": lambda seed: Work(*gedik_streams(seed, 0.0, 500.0, 80.0)),
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
    """Comparisons of the full join per second of the minutes in which rows come."""
    times = [np.asarray(table["ts"].cast(pa.int64())) / 1e6 for table in (work.left, work.right)]
    at = np.concatenate(times) - min(one[0] for one in times)
    seconds = min(float(at.max()), 60.0 * np.unique(at // 60.0).size)
    return sum(direction.due for direction in join.metrics.directions) / seconds


def measured(work: Work, full: pa.Table, shed: wm.Shed, per_second: float, seed: int) -> dict[str, Any]:
    join, pairs, history = joined(work, shed, seed)
    found, whole = np.sort(keys(pairs)), np.sort(keys(full))
    assert np.isin(found, whole, assume_unique=True).all()
    assert (np.diff(found) > 0).all()
    counts = [
        float(((at >= work.start_s) & (at < work.stop_s)).sum())
        for at in (result_seconds(work.left, work.right, table) for table in (pairs, full))
    ]
    steady = [p for p in history if p["begin_s"] >= work.start_s] or history
    could = sum(
        min(per_second * p["elapsed_s"], float(sum(np.sum(d["due"]) for d in p["directions"])))
        for p in steady
    )
    recall, truth = join.metrics.recall, found.size / whole.size
    return {
        "part": counts[0] / counts[1],
        "spent": sum(p["units"] for p in steady) / could,
        "dropped": sum(stream.dropped_rows for stream in join.metrics.streams),
        "error": recall.value - truth,
        "covered": bool(recall.low <= truth <= recall.high),
    }


@lru_cache(maxsize=1)
def full_join(name: str, seed: int) -> tuple[Work, wm.WindowJoin, pa.Table]:
    work = ROWS[name](seed)
    return work, *joined(work, None, seed)[:2]


def one_run(name: str, seed: int, share: float, policy: str) -> dict[str, Any]:
    work, join, full = full_join(name, seed)
    per_second = share * due_per_second(join, work)
    shed = wm.Shed(wm.comparisons(per_second), policy=policy)  # type: ignore[arg-type]
    return measured(work, full, shed, per_second, seed)


def report(store: Store, name: str, seeds: Sequence[int]) -> bool:
    """A row; at kappa 0, is no policy below random drop?"""
    shares = (0.02, 0.1, 0.3) if name == "kappa 0" else (0.1, 0.3)
    cells = [(share, policy) for share in shares for policy in POLICIES]
    found: dict[tuple[float, str], list[dict[str, Any]]] = {cell: [] for cell in cells}
    for seed in seeds[:1] if name == "reuters topics" else seeds:
        for share, policy in cells:
            outcome = store.outcome(
                f"{name} {share} {policy} {seed}",
                partial(one_run, name, seed, share, policy),
            )
            if outcome is not None:
                found[share, policy].append(outcome)
    is_met, baseline = True, 0.0
    for (share, policy), outcomes in found.items():
        if not outcomes:
            continue
        column = {key: [float(outcome[key]) for outcome in outcomes] for key in outcomes[0]}
        mean = float(np.mean(column["part"]))
        baseline = mean if policy == "random-drop" else baseline
        against = mean / baseline if baseline else float("nan")
        is_below = name == "kappa 0" and against < 0.99
        is_met = is_met and not is_below
        print(
            f"{name:22} {share:5.2f}  {policy:12} {mean:6.3f} {np.std(column['part']):6.3f}"
            f"  {against:6.2f} {np.mean(column['spent']):6.3f}"
            f" {sum(column['dropped']):7.0f}  {np.max(np.abs(column['error'])):.3f}"
            f" {np.mean(column['covered']):8.2f} {len(outcomes):5d}{'  BELOW' if is_below else ''}",
            flush=True,
        )
    return is_met


JUMP_S, STEADY_S = 80, 105


def jump_run(seed: int, policy: str) -> dict[str, Any]:
    """Results per second as a part of the full answer, and of what O-lag could have made of that second."""
    one, two = gedik_streams(seed, 0.8, 500.0, 120.0, jump=(float(JUMP_S), 5.0))
    work = Work(one, two)
    _, full, _ = joined(work, None, seed)
    trace = cell_trace(one, two, pairs=full, windows_s=(20.0, 20.0), basic_window_s=1.0)
    _, pairs, _ = joined(work, wm.Shed(wm.comparisons(1e6), policy=policy), seed)  # type: ignore[arg-type]
    found = np.histogram(result_seconds(one, two, pairs), np.arange(0, 121))[0]
    whole = np.array([full_answer(trace, start_s=s, stop_s=s + 1) for s in range(120)])
    best = np.array([best_by_lag(trace, 1e6, start_s=s, stop_s=s + 1) for s in range(120)])
    cell = np.array([best_by_cell(trace, 1e6, start_s=s, stop_s=s + 1) for s in range(120)])
    parts = {name: found / part for name, part in (("full", whole), ("best", best), ("cell", cell))}
    return {name: values.tolist() for name, values in (parts | {"ceiling": best / whole}).items()}


def jump(store: Store, seeds: Sequence[int]) -> bool:
    """The time shift jumps from 5/8 to 1/8 of the cycle at 80 s; when is each policy back?

    Rows from before the jump stay in the window and go on matching at the old age until 95 s, beside the new
    ones at theirs: the full answer is larger by three fifths, and no policy that chooses by age can keep the
    part of it that it had before (`ceiling`: O-lag of each second). So what counts is the part of that.
    """
    print("jump of the time shift at 80 s, kappa .8, f=.1: per second from 80 s on, of the steady value")
    is_met = True
    for policy in ("gedik", "density", "content"):
        runs = [
            outcome
            for seed in seeds
            if (outcome := store.outcome(f"jump {policy} {seed}", partial(jump_run, seed, policy)))
        ]
        if not runs:
            continue
        lines = {}
        for name in ("full", "cell", "best", "ceiling"):
            values = np.mean([outcome[name] for outcome in runs], axis=0)
            lines[name] = values / values[STEADY_S:].mean()
        after = {
            name: next(s for s in range(JUMP_S, 120) if lines[name][s : s + 3].mean() >= 0.9) - JUMP_S
            for name in ("full", "cell", "best")
        }
        for name, title in (
            ("full", "of the full answer"),
            ("cell", "of O-cell"),
            ("best", "of O-lag"),
            ("ceiling", "O-lag of full"),
        ):
            print(f"  {policy:9} {title:18}", " ".join(f"{v:.2f}" for v in lines[name][JUMP_S:STEADY_S]))
        print(
            f"  {policy:9} back at .9 of its steady part after {after['best']} s (of O-lag),"
            f" {after['cell']} s (of O-cell), {after['full']} s (of the full answer)"
        )
        is_met = is_met and (policy == "gedik" or after["best"] <= 5)
    return is_met


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="shedding away from the model workload")
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23, 24, 25])
    parser.add_argument("--rows", nargs="+", default=[*ROWS, "jump"], choices=[*ROWS, "jump"])
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args(arguments)
    store = Store("rows", minutes=options.minutes)
    print(
        "workload               share  policy       of full   s.d.  / drop  spent dropped"
        "  recall error covered seeds"
    )
    verdicts = []
    for name in options.rows:
        if name == "jump":
            verdicts.append(jump(store, options.seeds))
        elif name != "reuters topics" or REUTERS.exists():
            verdicts.append(report(store, name, options.seeds))
        else:
            print(f"{name:22} not here: {REUTERS}")
    print(f"{sum(verdicts)} of {len(verdicts)} rows met; {store.closing()}")
    return 0 if all(verdicts) and store.left == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
