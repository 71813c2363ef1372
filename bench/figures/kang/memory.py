"""K-Fig9 on the engine: results under a memory limit of a quarter of the full windows, by how it is divided.

    python bench/figures/kang/memory.py [--seed 1]

Streams of 200 and 1,000 rows per second (the paper's 10 and 50), windows of 60 s, keys uniform; and the same
with rows of the faster stream matching only at an age of about 5 s, so that the best division is another. The
join divides its memory by itself, then by each fixed division: the paper's five, and a grid of which the best
is known only afterwards. Results are counted from the third window on.
Exit code 1 unless the join's own division gives at least what every fixed one of the paper does, and nine
tenths of the best of all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import watersmeet as wm

RATES = (200, 1000)
WINDOW_S = 60
SECONDS = 240
WARM_S = 120
PAPER = {"max A": 1.0, "max B": 0.0, "rate-proportional": 1 / 6, "rate-inverse": 5 / 6, "equal": 0.5}
GRID = (0.1, 0.25, 0.4, 0.6, 0.7, 0.9, 0.95)
LEAST_OF_BEST = 0.9


def streams(seed: int, *, lagged: bool) -> list[tuple[str, pa.Table]]:
    """Seconds of both streams in turn."""
    rng = np.random.default_rng(seed)
    pushes = []
    for second in range(SECONDS):
        for name, rate in zip("ab", RATES, strict=True):
            ts = second * 1_000_000 + np.arange(rate) * (1_000_000 // rate)
            keys = rng.integers(0, 2_000, rate)
            if lagged:  # a row of b is met by rows of a that come about 5 s later, and by no others
                lag = 0 if name == "b" else 5
                keys = rng.integers(0, 200, rate) + 1_000 * ((second - lag) // 2 + 10)
            pushes.append((name, pa.table({"ts": ts, "k": keys})))
    return pushes


def run(
    pushes: list[tuple[str, pa.Table]], *, limit: int | None = None, split: float | None = None
) -> tuple[int, int, wm.WindowJoin]:
    """Results from WARM_S on, the most memory counted, and the join."""
    join = wm.WindowJoin(
        *(wm.Stream(name, window=f"{WINDOW_S}s") for name in "ab"),
        on=wm.equal("k"),
        output="rows",
        index="hash",
        memory_limit=limit,
    )
    if split is not None:
        memory = join._engine.memory
        assert memory is not None
        memory.fixed_split = split
    found = most = 0
    for name, table in pushes:
        rows = join.push(name, table).num_rows
        found += rows if int(table["ts"][0].as_py()) >= WARM_S * 1_000_000 else 0
        most = max(most, join.metrics.memory_bytes)
    return found, most, join


def compare(title: str, pushes: list[tuple[str, pa.Table]]) -> bool:
    """Print the divisions of one workload; whether the join's own is as good as it should be."""
    full, needed, _ = run(pushes)
    limit = needed // 4
    own, most, join = run(pushes, limit=limit)
    fixed = {name: run(pushes, limit=limit, split=split)[0] for name, split in PAPER.items()}
    grid = {f"{split:g}": run(pushes, limit=limit, split=split)[0] for split in GRID}
    best = max((fixed | grid).values())
    print(f"{title}: {full:,} results in full, {needed:,} bytes; limit {limit:,}, at most {most:,} taken")
    print(
        f"  own division       {own:>10,}  {own / full:6.1%} of the answer, estimated {join.metrics.recall}"
    )
    for name, results in (fixed | {f"A {name}": results for name, results in grid.items()}).items():
        print(f"  {name:18} {results:>10,}  {own / max(1, results):6.3f} x by own division")
    print(f"  of the best in hindsight {own / max(1, best):.3f}")
    return most <= limit and own >= max(fixed.values()) and own >= LEAST_OF_BEST * best


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both workloads."""
    parser = argparse.ArgumentParser(description="memory divided by the join, and by fixed rules")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    kept = [
        compare("K-Fig9", streams(options.seed, lagged=False)),
        compare("lagged", streams(options.seed, lagged=True)),
    ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
