"""K-Fig4, 6 and 7 on the engine: the four joins run, their work counted, their processor time printed.

    python bench/figures/kang/measured.py  (K-Fig5: crossing.py; K-Fig9: memory.py)

Stream A at 10 rows per second, B at 10 to 190, windows of 60 s, 10 keys; index=("hash", "scan") keeps window
A hashed and window B scanned. Rows touched are counted by the engine, so they are the same on every machine;
processor time is not, and nothing is claimed of it. Claims, in counted work per second of stream time once
the windows are full: a probe of a scanned window touches all of it and one of a hashed window a tenth ([Kang]
eqs. 2 and 3); all four find the same pairs, sigma la lb (Ta + Tb) of them. Departs from [Kang]: the core's
hash index expires rows for nothing, so the crossover, which is the price of expiry, is not in the counts.
Exit code 1 if a claim fails.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa

import watersmeet as wm

JOINS = {"HHJ": ("hash", "hash"), "HNJ": ("hash", "scan"), "NHJ": ("scan", "hash"), "NNJ": ("scan", "scan")}
RATES = (10, 70, 110, 140, 190)
SLOW, WINDOW_S, KEYS, SECONDS = 10, 60, 10, 240
NEAR = 0.03


def run(rate: int, index: tuple[str, str]) -> tuple[list[float], float, float]:
    """Per second, once windows are full: rows touched in each direction, and results; and processor time."""
    rng = np.random.default_rng(7)
    join = wm.WindowJoin(
        *(wm.Stream(name, window=f"{WINDOW_S}s") for name in "ab"),
        on=wm.equal("k"),
        index=index,
        output="rows",
    )
    before, results, seconds = [0, 0], 0, 0.0
    for second in range(SECONDS):
        for name, per_second in (("a", SLOW), ("b", rate)):
            ts = second * 1_000_000 + np.arange(per_second) * (1_000_000 // per_second)
            table = pa.table({"ts": ts, "k": rng.integers(0, KEYS, per_second)})
            start = time.thread_time()
            found = join.push(name, table).num_rows
            seconds += time.thread_time() - start
            results += found if second >= 2 * WINDOW_S else 0
        if second == 2 * WINDOW_S - 1:
            before = [each.comparisons + each.postings for each in join.metrics.directions]
    after = [each.comparisons + each.postings for each in join.metrics.directions]
    measured = SECONDS - 2 * WINDOW_S
    touched = [(now - then) / measured for now, then in zip(after, before, strict=True)]
    return touched, results / measured, seconds / SECONDS


def main() -> int:
    """Print the figures; 1 if a claim fails."""
    wrong = []
    for rate in RATES:
        outputs = {}
        met = SLOW * rate * WINDOW_S  # rows that one direction's probes could touch, per second
        for name, index in JOINS.items():
            touched, outputs[name], busy = run(rate, index)
            print(
                f"{name} b={rate:<4} touched a->B {touched[0]:>9,.0f} b->A {touched[1]:>9,.0f} per s"
                f"   output {outputs[name]:>8,.1f}/s   {busy * 1e6:8.1f} us of processor time per s"
            )
            for direction, rows in enumerate(touched):
                expected = met if index[1 - direction] == "scan" else met / KEYS
                if abs(rows - expected) > NEAR * expected:
                    wrong.append(
                        f"{name} b={rate} direction {direction}: {rows:,.0f}, expected {expected:,.0f}"
                    )
        ideal = SLOW * rate * 2 * WINDOW_S / KEYS
        if len(set(outputs.values())) != 1 or abs(outputs["HHJ"] - ideal) > NEAR * ideal:
            wrong.append(f"b={rate}: outputs {outputs}, expected {ideal:,.0f}")
    print("\n".join(wrong) or "every claim holds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
