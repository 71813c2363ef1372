"""Draw J-Tab2, J-Tab4 and J-Fig6 to J-Fig9 and check their claims.

    python bench/figures/jaqpot/run.py [tab2 tab4 fig6 fig7 fig9 fig9d fig7e fig8 fig8u] [--no-plots]

Exit code 1 when a claim fails.
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

from bench.figures.jaqpot.claims import check  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.jaqpot.draw import draw  # noqa: E402
from bench.figures.jaqpot.points import FIGURES  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="J-Tab2, J-Tab4 and J-Fig6 to J-Fig9 with their claims")
    parser.add_argument("figures", nargs="*", default=[], metavar="FIGURE", help=f"of {', '.join(FIGURES)}")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "figures" / "jaqpot")
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
