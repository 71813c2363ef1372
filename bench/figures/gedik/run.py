"""Draw G-Fig5 to G-Fig17 and check their claims.

    python bench/figures/gedik/run.py [fig5 ... fig17] [--out DIR] [--no-plots]

Joins run in stream time, so numbers do not depend on the machine. Exit code 1 when a claim fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.gedik.draw import draw  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.gedik.points import FIGURES  # noqa: E402
from bench.figures.runner import run  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(run("gedik", FIGURES, draw, about="G-Fig5 to G-Fig17"))
