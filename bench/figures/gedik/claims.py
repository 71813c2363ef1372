"""Claims as inequalities: claims.toml says what a figure must show, this checks it, so a reproduction can
fail.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Claim", "check", "read_claims"]

_FILE = Path(__file__).with_name("claims.toml")


@dataclass(frozen=True, slots=True)
class Claim:
    """`value` (over `relative_to` if given) lies within the bounds; `source` says who states it."""

    figure: str
    says: str
    value: str
    source: str
    relative_to: str | None = None
    at_least: float = float("-inf")
    at_most: float = float("inf")

    def holds(self, values: Mapping[str, float]) -> bool:
        """Whether the computed values bear the claim out."""
        return self.at_least <= self.measured(values) <= self.at_most

    def measured(self, values: Mapping[str, float]) -> float:
        """The number that the claim is about."""
        number = values[self.value]
        if self.relative_to is None:
            return number
        whole = values[self.relative_to]
        return number / whole if whole else float("inf")


def read_claims(figure: str) -> tuple[Claim, ...]:
    """The claims about one figure."""
    entries = tomllib.loads(_FILE.read_text())["claim"]
    return tuple(Claim(**entry) for entry in entries if entry["figure"] == figure)


def check(figure: str, values: Mapping[str, float]) -> list[tuple[Claim, float, bool]]:
    """Each claim with the number measured and whether it holds."""
    return [(claim, claim.measured(values), claim.holds(values)) for claim in read_claims(figure)]
