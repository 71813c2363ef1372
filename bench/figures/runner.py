"""Runs a paper's figures: computes the values of each, checks its claims, writes values and picture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.figures.claims import check

__all__ = ["report", "run"]

_RESULTS = Path(__file__).resolve().parents[1] / "results" / "figures"

Values = Mapping[str, float]


def run(
    paper: str,
    figures: Mapping[str, Callable[[], Values]],
    draw: Callable[[str, Values, Path], None],
    *,
    about: str,
    arguments: Sequence[str] | None = None,
) -> int:
    """The command line of a paper's run.py; 1 when a claim fails."""
    parser = argparse.ArgumentParser(description=f"{about} with their claims")
    parser.add_argument("figures", nargs="*", default=[], metavar="FIGURE", help=f"of {', '.join(figures)}")
    parser.add_argument("--out", type=Path, default=_RESULTS / paper)
    parser.add_argument("--no-plots", action="store_true")
    options = parser.parse_args(arguments)
    unknown = set(options.figures) - set(figures)
    if unknown:
        parser.error(f"unknown figure {', '.join(sorted(unknown))}: expected {', '.join(figures)}")
    failed = 0
    for figure in options.figures or figures:
        values = figures[figure]()
        failed += report(paper, figure, values)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{figure}.json").write_text(json.dumps(values, indent=1))
        if not options.no_plots:
            draw(figure, values, options.out / f"{figure}.png")
    return 1 if failed else 0


def report(paper: str, figure: str, values: Values) -> int:
    """Print each claim with its number; how many fail."""
    failed = 0
    for claim, measured, holds in check(paper, figure, values):
        why = claim.not_reproduced
        failed += holds if why is not None else not holds
        verdict = "ok  " if holds else "FAIL"
        if why is not None:
            verdict = "OUT OF DATE" if holds else "NOT REPRODUCED"
        note = "" if why is None else f": {why}"
        print(f"{figure}  {verdict}  {measured:12.6g}  {claim.says} ({claim.source}){note}", flush=True)
    return failed
