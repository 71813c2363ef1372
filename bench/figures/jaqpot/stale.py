"""Issue 7's proof that no stale result comes out: a million results and more for every policy and plan shape.

    python bench/figures/jaqpot/stale.py [--results 1000000]

Streams in counted states (where a combination may outlive its members' windows) with a freshness of 1.5
windows. Every result's members are read back from the output and compared with the freshness, independently
of the engine's own count of ages. Exit code 1 if one is stale.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import watersmeet as wm  # noqa: E402
from watersmeet.plan import POLICIES  # noqa: E402

_SHAPES = {
    "linear": ((("A", "B"), "C"), "D"),
    "bushy": (("A", "B"), ("C", "D")),
    "J-Fig5d": ((("A", "B"), ("C", "D")), "E"),
}
_RATE, _WINDOW_S, _FRESH_S = 100, 3.0, 4.5


def run(shape: str, policy: str, *, results: int, budget: float = 700.0) -> tuple[int, int, int, float]:
    """Results, stale ones among them, those with a member older than its window, and the oldest member."""
    tree = _SHAPES[shape]
    names = sorted({name for name in str(tree) if name.isalpha()})
    streams = [wm.Stream(name, window=_WINDOW_S, freshness=_FRESH_S) for name in names]
    between = dict.fromkeys(wm.plan.parse_tree(tree).susceptible, 400)
    join = wm.MultiJoin(
        streams,
        tree=tree,
        on={(one, other): wm.equal("key") for one, other in pairwise(names)},
        budget=budget,
        policy=policy,  # type: ignore[arg-type]
        states=between,
        monitor="5s",
        analysis="inline",
    )
    rng = np.random.default_rng(7)
    seen = stale = beyond = second = 0
    oldest = 0.0
    while seen < results:
        for name in names:
            count = int(rng.poisson(_RATE))
            times = second * 1_000_000 + np.sort(rng.integers(0, 1_000_000, count))
            batch = pa.table({"ts": pa.array(times, pa.timestamp("us")), "key": rng.integers(0, 40, count)})
            out = join.push(name, batch)
            if not out.num_rows:
                continue
            members = np.array([out[f"{stream}.ts"].cast(pa.int64()).to_numpy() for stream in names])
            ages = (members.max(axis=0) - members).max(axis=0) / 1e6
            seen += len(ages)
            stale += int((ages > _FRESH_S).sum())
            beyond += int((ages > _WINDOW_S).sum())
            oldest = max(oldest, float(ages.max()))
        second += 1
        if second > 3000:
            break
    assert abs(max(each.largest_s for each in join.metrics.freshness.values()) - oldest) < 1e-6
    return seen, stale, beyond, oldest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=1_000_000)
    asked = parser.parse_args()
    total = 0
    for shape in _SHAPES:
        for policy in POLICIES:
            seen, stale, beyond, oldest = run(shape, policy, results=asked.results)
            total += stale
            print(
                f"{shape:8} {policy:17} {seen:9} results, {stale} stale, {beyond} beyond the window,"
                f" oldest member {oldest:.3f} s of {_FRESH_S} s",
                flush=True,
            )
    return 1 if total else 0


if __name__ == "__main__":
    raise SystemExit(main())
