"""Draw G-Fig5 to G-Fig17 and check their claims.

    python bench/figures/gedik/run.py [fig5 ... fig17] [--out DIR] [--no-plots]

Joins run in stream time, so numbers do not depend on the machine. Exit code 1 when a claim fails.
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

from bench.figures.gedik.claims import check  # noqa: E402  the checkout's root has to be on the path first
from bench.figures.gedik.draw import draw  # noqa: E402
from bench.figures.gedik.points import FIGURES  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="G-Fig5 to G-Fig17 with their claims")
    parser.add_argument("figures", nargs="*", default=[], metavar="FIGURE", help=f"of {', '.join(FIGURES)}")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "figures" / "gedik")
    parser.add_argument("--no-plots", action="store_true")
    options = parser.parse_args(arguments)
    unknown = set(options.figures) - set(FIGURES)
    if unknown:
        parser.error(f"unknown figure {', '.join(sorted(unknown))}: expected {', '.join(FIGURES)}")
    failed = 0
    for figure in options.figures or FIGURES:
        values = FIGURES[figure]()
        failed += _report(figure, values)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{figure}.json").write_text(json.dumps(values, indent=1))
        if not options.no_plots:
            draw(figure, values, options.out / f"{figure}.png")
    return 1 if failed else 0


def _report(figure: str, values: Mapping[str, float]) -> int:
    failed = 0
    for claim, measured, holds in check(figure, values):
        failed += not holds
        print(
            f"{figure}  {'ok  ' if holds else 'FAIL'}  {measured:10.4g}  {claim.says} ({claim.source})",
            flush=True,
        )
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
