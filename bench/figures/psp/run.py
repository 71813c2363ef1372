"""Draw P-Fig8a to P-Fig8h and check their claims.

    python bench/figures/psp/run.py [fig8a fig8c fig8e fig8g ways scale costs fitted] [--out DIR] [--no-plots]

fig8a also draws P-Fig8b, fig8c P-Fig8d, fig8e P-Fig8f, fig8g P-Fig8h. `ways` are the sizes that the paper
announces and does not plot, `scale` goes to 1,000 nodes, `costs` are the formulas. Exit code 1 when a claim
fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.psp.draw import draw  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.psp.points import FIGURES  # noqa: E402
from bench.figures.runner import run  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(run("psp", FIGURES, draw, about="P-Fig8a to P-Fig8h"))
