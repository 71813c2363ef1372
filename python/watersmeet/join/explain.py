"""How a join is run, and why, as a value that prints as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from watersmeet.join.config import JoinConfig
from watersmeet.join.split import Split
from watersmeet.vocabulary import Metrics

__all__ = ["DirectionPlan", "Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class DirectionPlan:
    """One direction: whose new rows look into whose window, how they find partners, and what it has cost."""

    stream: str
    other: str
    window: str  # of the other stream
    index: str
    merge: str | None
    probes: int
    comparisons: int
    postings: int
    lookups: int

    def __str__(self) -> str:
        how = self.index if self.merge is None else f"{self.index} index, {self.merge} merge"
        work = [("comparisons", self.comparisons), ("postings", self.postings), ("look-ups", self.lookups)]
        per_row = (
            [f"{count / self.probes:,.2f} {what}" for what, count in work if count] if self.probes else []
        )
        cost = f"; per row so far: {', '.join(per_row)}" if per_row else ""
        return f"{self.stream} probes {self.other}'s window ({self.window}): {how}{cost}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What drives the join, what checks its candidates, and how each direction goes."""

    predicate: str
    how: str
    driver: str
    reason: str
    checks: tuple[str, ...]
    functions: tuple[str, ...]
    order: str
    directions: tuple[DirectionPlan, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists and numbers."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.how} join on {self.predicate}", f"candidates by {self.driver}: {self.reason}"]
        if self.checks:
            lines.append(f"then checked: {', '.join(self.checks)}")
        if self.functions:
            lines.append(f"then asked, in blocks: {', '.join(self.functions)}")
        lines += [f"results {self.order}", *map(str, self.directions)]
        return "\n".join(lines)


def explain(config: JoinConfig, division: Split, metrics: Metrics) -> Explanation:
    """Explain a join by its configuration, the division of its predicate, and its counters."""
    return Explanation(
        predicate="every pair" if config.on is None else str(config.on),
        how=config.how,
        driver="every pair in the window" if division.driver is None else str(division.driver),
        reason=division.reason,
        checks=tuple(str(term) for term in division.terms[1:]),
        functions=tuple(str(function) for function in division.functions),
        order="as they are found" if config.order is None else f"by result time ({config.order})",
        directions=tuple(_direction(config, division, metrics, side) for side in (0, 1)),
    )


def _direction(config: JoinConfig, division: Split, metrics: Metrics, side: int) -> DirectionPlan:
    index = division.index[1 - side]
    done = metrics.directions[side]
    return DirectionPlan(
        stream=config.names[side],
        other=config.names[1 - side],
        window=_window(config, 1 - side),
        index=index,
        merge=config.merge if index.startswith("inverted") else None,
        probes=done.probes,
        comparisons=done.comparisons,
        postings=done.postings,
        lookups=done.lookups,
    )


def _window(config: JoinConfig, side: int) -> str:
    if config.between is not None:
        return f"between {config.between[0]} and {config.between[1]}"
    return str(config.streams[side].window)
