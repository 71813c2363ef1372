"""Claims as inequalities: a paper's claims.toml says what its figures must show; this checks it, so that a
reproduction can fail.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Claim", "check", "read_claims"]

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Claim:
    """`value` (over `relative_to` if given) lies within the bounds; `source` says who states it.

    A claim that is `not_reproduced` says why, and must fail: one that holds after all is out of date.
    """

    figure: str
    says: str
    value: str
    source: str
    relative_to: str | None = None
    at_least: float = float("-inf")
    at_most: float = float("inf")
    not_reproduced: str | None = None

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


def read_claims(paper: str, figure: str) -> tuple[Claim, ...]:
    """The claims about one figure of a paper."""
    entries = tomllib.loads((_FOLDER / paper / "claims.toml").read_text(encoding="utf-8"))["claim"]
    return tuple(Claim(**entry) for entry in entries if entry["figure"] == figure)


def check(paper: str, figure: str, values: Mapping[str, float]) -> list[tuple[Claim, float, bool]]:
    """Each claim with the number measured and whether it holds."""
    return [(claim, claim.measured(values), claim.holds(values)) for claim in read_claims(paper, figure)]
