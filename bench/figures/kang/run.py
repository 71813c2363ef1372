"""Draw K-Fig2 to K-Fig11 and check their claims.

    python bench/figures/kang/run.py [fig2 ... fig11] [--out DIR] [--no-plots]

Exit code 1 when a claim fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.kang.draw import draw  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.kang.points import FIGURES  # noqa: E402
from bench.figures.runner import run  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(run("kang", FIGURES, draw, about="K-Fig2 to K-Fig11"))
