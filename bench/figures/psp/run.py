"""Draw P-Fig8a to P-Fig8h and check their claims.

    python bench/figures/psp/run.py [fig8a fig8c fig8e fig8g ways scale costs] [--out DIR] [--no-plots]

fig8a also draws P-Fig8b, fig8c P-Fig8d, fig8e P-Fig8f, fig8g P-Fig8h. `ways` are the sizes that the paper
announces and does not plot, `scale` goes to 1,000 nodes, `costs` are the formulas. Exit code 1 when a claim
fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.figures.psp.claims import check  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.psp.draw import draw  # noqa: E402
from bench.figures.psp.points import FIGURES  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="P-Fig8a to P-Fig8h with their claims")
    parser.add_argument("figures", nargs="*", default=[], metavar="FIGURE", help=f"of {', '.join(FIGURES)}")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "figures" / "psp")
    parser.add_argument("--no-plots", action="store_true")
    options = parser.parse_args(arguments)
    unknown = set(options.figures) - set(FIGURES)
    if unknown:
        parser.error(f"unknown figure {', '.join(sorted(unknown))}: expected {', '.join(FIGURES)}")
    failed = 0
    for figure in options.figures or FIGURES:
        values = FIGURES[figure]()
        failed += report(figure, values)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{figure}.json").write_text(json.dumps(values, indent=1))
        if not options.no_plots:
            draw(figure, values, options.out / f"{figure}.png")
    return 1 if failed else 0


def report(figure: str, values: Mapping[str, float]) -> int:
    """Print each claim with its number; how many fail."""
    failed = 0
    for claim, measured, holds in check(figure, values):
        failed += not holds
        print(f"{figure}  {'ok  ' if holds else 'FAIL'}  {measured:12.6g}  {claim.says} ({claim.source})")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
