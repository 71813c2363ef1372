"""Draw H-Fig5 to H-Fig10 and check their claims.

    python bench/figures/hammad/run.py [fig5 fig6 fig7 fig9] [--out DIR] [--no-plots]

fig7 also draws H-Fig8 and fig9 also H-Fig10 (the same runs, relative to Sync-Filter). Exit code 1 when a
claim fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.hammad.draw import draw  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.hammad.points import FIGURES  # noqa: E402
from bench.figures.runner import run  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(run("hammad", FIGURES, draw, about="H-Fig5 to H-Fig10"))
