"""Claims as inequalities: claims.toml says what a figure must show, this checks it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from bench.figures.hammad.claims import Claim

__all__ = ["Claim", "check", "read_claims"]

_FILE = Path(__file__).with_name("claims.toml")


def read_claims(figure: str) -> tuple[Claim, ...]:
    """The claims about one figure."""
    entries = tomllib.loads(_FILE.read_text())["claim"]
    return tuple(Claim(**entry) for entry in entries if entry["figure"] == figure)


def check(figure: str, values: Mapping[str, float]) -> list[tuple[Claim, float, bool]]:
    """Each claim with the number measured and whether it holds."""
    return [(claim, claim.measured(values), claim.holds(values)) for claim in read_claims(figure)]
