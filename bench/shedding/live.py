"""budget="cpu" against the real clock: lag, output against random drop, adaptation to a step, its own cost.

    python bench/shedding/live.py [--seconds 30] [--overload 5] [--policies random-drop auto]

Shape: two streams of sets (kappa .8, as [Gedik] VI has them), windows of 10 s, scanned, overlap >= 3, pushed
every 20 ms as they happen. In the last two thirds the full join takes `overload` times what this machine can
do, measured first; results count in the last third, when the windows are full of that. The answer is checked
to be part of the full one. Timings are this machine's: run it alone (`quiet`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import watersmeet as wm  # noqa: E402  the checkout has to be on the path first
from bench.shedding.table import keys  # noqa: E402
from watersmeet.testing import gedik_streams  # noqa: E402
from watersmeet.testing.oracle import best_by_lag, cell_trace, result_seconds  # noqa: E402

WINDOW_S, BATCH_S = 10.0, 0.02
POLICIES = ("random-drop", "gedik", "density", "auto")


def news(**options: Any) -> wm.WindowJoin:
    return wm.WindowJoin(
        *(wm.Stream(name, window=WINDOW_S) for name in ("a", "b")),
        on=wm.overlap("items", at_least=3),
        basic_window="1s",
        output="rows",
        **options,
    )


def comparisons_per_second(tries: int = 3) -> float:
    """At best: a capacity that is taken too low makes less overload than was asked for."""
    left, right = gedik_streams(1, 0.8, 2000.0, 12.0)
    best = 0.0
    for _ in range(tries):
        join = news(index="scan")
        join.push("a", left)
        begin = time.perf_counter()
        join.push("b", right)
        took_s = time.perf_counter() - begin
        best = max(best, join.metrics.directions[1].due / took_s)
    return best


def live(
    policy: str, streams: tuple[pa.Table, pa.Table]
) -> tuple[pa.Table, list[Any], float, float, wm.WindowJoin]:
    """Push rows as they happen; results, periods, the shares of the time that planning took and in which the
    machine worked for us.
    """
    join = news(shed=wm.Shed("cpu", policy=policy), index="scan")  # type: ignore[arg-type]
    for name, table in zip("ab", streams, strict=True):
        join.push(name, table.slice(0, 0))
    core = join._engine.setup.core
    core.history = []
    spent_s = 0.0
    control = core._control

    def timed(counted: Any) -> Any:
        nonlocal spent_s
        begin = time.perf_counter()
        plans = control(counted)
        spent_s += time.perf_counter() - begin
        return plans

    core._control = timed
    times = [np.asarray(table["ts"].cast(pa.int64())) / 1e6 for table in streams]
    outs, starts, origin, worked_s = [], [0, 0], time.perf_counter(), time.process_time()
    end_s = max(t[-1] for t in times)
    now_s = 0.0
    while now_s < end_s:
        now_s = time.perf_counter() - origin
        ends = [int(np.searchsorted(t, now_s)) for t in times]
        for side, name in enumerate("ab"):
            if ends[side] > starts[side]:
                outs.append(join.push(name, streams[side].slice(starts[side], ends[side] - starts[side])))
        starts = ends
        time.sleep(max(0.0, BATCH_S - (time.perf_counter() - origin - now_s)))
    wall_s = time.perf_counter() - origin
    outs.append(join.finish())
    worked_s = time.process_time() - worked_s
    return pa.concat_tables(outs), core.history, spent_s / wall_s, worked_s / wall_s, join


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="shedding against the real clock")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--overload", type=float, default=5.0)
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), choices=POLICIES)
    options = parser.parse_args(arguments)
    speed = comparisons_per_second()
    rate = float(np.sqrt(options.overload * speed / (2 * WINDOW_S)))
    profile = [(options.seconds / 3, rate / 4), (options.seconds * 2 / 3, rate)]
    print(f"{speed / 1e6:.0f} M comparisons/s; {rate / 4:.0f}, then {rate:.0f} rows/s and stream")
    streams = gedik_streams(5, 0.8, profile=profile, cycle=2 * WINDOW_S)
    whole = news(index="inverted")
    pairs = pa.concat_tables([whole.push("a", streams[0]), whole.push("b", streams[1]), whole.finish()])
    full, step_s = keys(pairs), options.seconds / 3
    counted_s = options.seconds * 2 / 3
    most = int((result_seconds(*streams, pairs) >= counted_s).sum())
    windows_s = (WINDOW_S, WINDOW_S)
    trace = cell_trace(*streams, pairs=pairs, windows_s=windows_s, basic_window_s=1.0)
    results: dict[str, int] = {}
    compared: dict[str, float] = {}  # per second
    print(
        "policy       results  of full  in all  recall (95 %)       comparisons/s  max lag, at end"
        "  back after  planning    CPU"
    )
    for policy in options.policies:
        pairs, periods, planning, worked, join = live(policy, streams)
        assert np.isin(keys(pairs), full).all()
        results[policy] = int((result_seconds(*streams, pairs) >= counted_s).sum())
        compared[policy] = compared_per_s(periods, counted_s)
        lags = [(p["begin_s"] + p["elapsed_s"], p["lag_s"]) for p in periods]
        late = [lag for at, lag in lags if at >= options.seconds - 10]
        high = [at for at, lag in lags if at > step_s and lag > 1.0]
        back_s = (max(high) if high else step_s) - step_s
        recall = join.metrics.recall
        print(
            f"{policy:12} {results[policy]:7d}  {results[policy] / most:7.3f}"
            f"  {pairs.num_rows / full.size:6.3f}"
            f"  {recall.value:.3f} ({recall.low:.3f}-{recall.high:.3f})  {compared[policy] / 1e6:9.0f} M"
            f"    {max(lag for _, lag in lags):10.2f} s {max(late, default=0.0):6.2f} s"
            f"  {back_s:12.1f} s {100 * planning:12.2f} % {100 * worked:5.0f} %",
            flush=True,
        )
    if "random-drop" not in results:
        return 0
    for policy in results:
        of_drop = results[policy] / max(1, results["random-drop"])
        each = of_drop * compared["random-drop"] / max(1.0, compared[policy])
        print(f"{policy}: {of_drop:.2f} times random-drop, {each:.2f} times for as many comparisons")
    start_s, budget = int(counted_s), compared["random-drop"]
    by_age = best_by_lag(trace, budget, start_s=start_s)
    due = float(trace.due[start_s:].sum()) / (options.seconds - start_s)
    by_chance = most * budget / due
    made = f"{budget / 1e6:.0f} M of {due / 1e6:.0f} M comparisons/s"
    print(f"random-drop made {made}: an overload of {due / budget:.1f}")
    print(f"at most {by_age / by_chance:.2f} times by age, with as many comparisons as random-drop made")
    return 0


def compared_per_s(periods: Sequence[Any], start_s: float) -> float:
    """Comparisons per second from then on."""
    late = [p for p in periods if p["begin_s"] >= start_s]
    made = sum(float(np.sum(way["comparisons"])) for p in late for way in p["directions"])
    return made / max(1e-9, sum(p["elapsed_s"] for p in late))


if __name__ == "__main__":
    sys.exit(main())
