"""Match ages of a direction as the core counts them, and as they were lately."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from watersmeet.cost import AgeCounts

if TYPE_CHECKING:
    from watersmeet.join.two_way.engine import Engine

__all__ = ["Counts", "counted_ages"]

_DECAY: Final = 0.75  # of what was known, at each look


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts at the last look, and what is remembered of them, older ones weighing less."""

    last: AgeCounts = field(default_factory=AgeCounts)
    decayed: AgeCounts = field(default_factory=AgeCounts)

    def updated(self, now: AgeCounts) -> Counts:
        """After another look."""
        parts = {}
        for each in fields(AgeCounts):
            if each.name == "ends":
                continue
            new = np.asarray(getattr(now, each.name), float)
            last = np.resize(np.asarray(getattr(self.last, each.name) or (0.0,), float), new.shape)
            kept = np.resize(np.asarray(getattr(self.decayed, each.name) or (0.0,), float), new.shape)
            parts[each.name] = tuple(float(value) for value in _DECAY * kept + np.maximum(0.0, new - last))
        return Counts(now, AgeCounts(**parts, ends=now.ends))

    def plain(self) -> list[list[list[float]]]:
        """As lists of numbers."""
        return [
            [list(getattr(counts, each.name)) for each in fields(AgeCounts)]
            for counts in (self.last, self.decayed)
        ]

    @classmethod
    def from_plain(cls, plain: Any) -> Counts:
        """What plain() gave."""
        last, decayed = (AgeCounts(*(tuple(values) for values in counts)) for counts in plain)
        return cls(last, decayed)


def counted_ages(engine: Engine) -> tuple[AgeCounts, AgeCounts]:
    """The counts of both directions: direction n is stream n's rows in the other window."""
    core = engine.setup.core
    if hasattr(core, "ages"):
        first, second = (AgeCounts(*(tuple(values) for values in counts)) for counts in core.ages())
        return first, second
    # A join that sheds counts by the cells that it plans with, youngest first, and by type of row.
    both = []
    for tally in core.tallies():
        cells = int(tally["cells"])
        met, matches = (
            np.asarray(tally[name], float).reshape(-1, cells).sum(axis=0)
            for name in ("comparisons", "matches")
        )
        zero = (0.0,) * cells
        both.append(AgeCounts(tuple(met.tolist()), zero, tuple(matches.tolist()), tuple(matches.tolist())))
    return both[0], both[1]
