"""K-Fig5 on the engine: the ratio of rates beyond which window B is better scanned, by keys.

    python bench/figures/kang/crossing.py [--repeats 11]

Stream A probes a window of B of 1,000 rows, of 5 to 1,000 keys, and B comes 1 to 1,000 times as fast. HHJ and
HNJ differ in nothing but the structure of that window, so where their times cross is where the direction A to
B does ([Kang] 3.3). They take turns, and their ratio is the median of those of the turns: one run in some
sixty is up to a fifth faster than all others of its kind, so that the ratio of the least is often a draw
between such runs. The crossing lies where it passes 1, between two ratios of rates. The model's is where its
two costs are equal, by this machine's calibration.

Departs from [Kang]: the core drops rows of a hashed window for nothing and scans 64 rows at once, so that
what is weighed is inserting rows against scanning them. The ratio therefore does not grow in proportion to
the keys as eq. 7 says (K-Fig5 of run.py): with few keys a scan meets matches everywhere, and with many hardly
any.

Claims: at every point where the two times differ by more than a tenth the model names the faster; and where
both see a crossing they agree within a factor of two. Exit code 1 if a claim fails.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.kang.streams import Cell, run  # noqa: E402  the root has to be on the path
from watersmeet import cost  # noqa: E402
from watersmeet.join.calibration.cache import current_unit_costs  # noqa: E402

KEYS = (5, 10, 20, 50, 100, 1_000)
RATIOS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0)
WINDOW_ROWS = 1_000.0
FAST_RATE = 10_000.0
MOST_PAIRS = 4e6
CLEAR, FACTOR = 1.10, 2.0


def cell(ratio: float, keys: int) -> Cell:
    """B at its rate with 1,000 rows of window; A's window as long, so that both joins keep it alike."""
    rates = (FAST_RATE / ratio, FAST_RATE)
    window = WINDOW_ROWS / FAST_RATE
    pairs_per_row = 2.0 * rates[0] * window / keys
    return Cell(rates, (window, window), keys, int(min(150_000, MOST_PAIRS / pairs_per_row)))


def scan_over_hash(ratio: float, keys: int, repeats: int) -> float:
    """Time of HNJ over that of HHJ, the median of turns."""
    at = cell(ratio, keys)
    return median(run(at, ("hash", "scan")) / run(at, ("hash", "hash")) for _ in range(repeats))


def predicted(ratio: float, keys: int, unit_costs: cost.UnitCosts) -> float:
    """The same of the costs of window B alone, by the model."""
    at = cell(ratio, keys)
    loads = cost.estimate_loads(
        "equal", rates=at.rates, window_rows=at.window_rows, keys=(float(keys), float(keys))
    )
    costs = cost.structure_costs(loads[1], unit_costs)
    return costs["scan"] / costs["hash"]


def crossing(ratios: Mapping[float, float]) -> float | None:
    """Where scan over hash passes 1 downwards, between two points on logarithmic axes; None: nowhere."""
    for (low, before), (high, after) in pairwise(sorted(ratios.items())):
        if before > 1.0 >= after:
            share = math.log(before) / math.log(before / after)
            return float(low * (high / low) ** share)
    return None


def bisected(function: Callable[[float], float]) -> float | None:
    """Where the model's ratio passes 1; None: nowhere between the ends."""
    low, high = RATIOS[0], RATIOS[-1]
    if function(low) <= 1.0 or function(high) > 1.0:
        return None
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if function(middle) > 1.0 else (low, middle)
    return low


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figure; 1 if a claim fails."""
    parser = argparse.ArgumentParser(description="K-Fig5 on the engine")
    parser.add_argument("--repeats", type=int, default=11)
    options = parser.parse_args(arguments)
    unit_costs, wrong = current_unit_costs(), []
    for keys in KEYS:
        measured = {ratio: scan_over_hash(ratio, keys, options.repeats) for ratio in RATIOS}
        model = {ratio: predicted(ratio, keys, unit_costs) for ratio in RATIOS}
        here, there = (
            crossing(measured),
            bisected(partial(predicted, keys=keys, unit_costs=unit_costs)),
        )
        shown = "  ".join(f"1:{ratio:g} {measured[ratio]:.2f} ({model[ratio]:.2f})" for ratio in RATIOS)
        print(f"{keys:>5} keys: crossing measured {_shown(here)}, by the model {_shown(there)}", flush=True)
        print(f"            scan over hash, whole join (model: that window): {shown}", flush=True)
        wrong += [
            f"{keys} keys, 1:{ratio:g}: measured {measured[ratio]:.2f}, by the model {model[ratio]:.2f}"
            for ratio in RATIOS
            if not 1.0 / CLEAR <= measured[ratio] <= CLEAR and (measured[ratio] > 1.0) != (model[ratio] > 1.0)
        ]
        if here is not None and there is not None and not 1.0 / FACTOR <= here / there <= FACTOR:
            wrong.append(f"{keys} keys: crossing at {here:.1f}, by the model at {there:.1f}")
    print("\n".join(wrong) or "every claim holds")
    return 1 if wrong else 0


def _shown(ratio: float | None) -> str:
    return "nowhere" if ratio is None else f"1:{ratio:.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
