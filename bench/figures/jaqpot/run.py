"""Draw J-Tab2, J-Tab4 and J-Fig6 to J-Fig9 and check their claims.

    python bench/figures/jaqpot/run.py [FIGURE ...] [--no-plots]

FIGURE is one of tab2 tab4 fig6 fig7 fig7e fig8 fig8f fig8u fig9 fig9c fig9d.

Exit code 1 when a claim fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.jaqpot.draw import draw  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.jaqpot.points import FIGURES  # noqa: E402
from bench.figures.runner import run  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(run("jaqpot", FIGURES, draw, about="J-Tab2, J-Tab4 and J-Fig6 to J-Fig9"))
