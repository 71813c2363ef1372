"""How much of each operation a probe needs, structure by structure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import mul
from typing import Final

from watersmeet.cost import _check
from watersmeet.cost.unit_costs import KINDS, Kind, OperationCosts, Structure, UnitCosts, operations_of
from watersmeet.errors import ConfigError

__all__ = ["DirectionLoad", "Work", "predicted_cost", "probe_work", "rebuild_cost", "stream_cost"]

_SCAN_BLOCK: Final = 64.0  # rows that a vectorised scan decides on at once
_WORD_BITS: Final = 64.0
_NANOSECONDS: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionLoad:
    """What one window has to bear: who probes it, who fills it, and what a probe meets there.

    kind           of predicate
    probing_rate   rows per second of the stream that probes the window
    window_rate    rows per second of the window's own stream
    window_rows    rows in the window when it is full
    matches        pairs that a probe finds, on average
    items          keys or items that a probe looks up: 1 for keys, the size of the set for sets
    entries        entries of the looked-up lists within the window, all together, on average; None: `matches`
    """

    kind: Kind
    probing_rate: float
    window_rate: float
    window_rows: float
    matches: float = 0.0
    items: float = 1.0
    entries: float | None = None

    def __post_init__(self) -> None:
        _check.one_of(self.kind, KINDS, argument="DirectionLoad(kind)")
        for name in ("probing_rate", "window_rate", "window_rows", "matches", "items"):
            value = _check.at_least(getattr(self, name), 0.0, argument=f"DirectionLoad({name})")
            object.__setattr__(self, name, value)
        entries = self.matches if self.entries is None else self.entries
        entries = _check.at_least(entries, 0.0, argument="DirectionLoad(entries)")
        object.__setattr__(self, "entries", entries)

    @property
    def listed(self) -> float:
        """Entries read by a probe that follows lists."""
        return self.matches if self.entries is None else self.entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Counts of operations, named like their costs in OperationCosts."""

    probe: float = 0.0
    look_up: float = 0.0
    row: float = 0.0
    block: float = 0.0
    step: float = 0.0
    word: float = 0.0
    match: float = 0.0
    insert: float = 0.0
    expire: float = 0.0

    def times(self, costs: OperationCosts) -> float:
        """Nanoseconds that this work takes."""
        return float(sum(map(mul, operations_of(self), operations_of(costs))))


def probe_work(load: DirectionLoad, structure: Structure) -> Work:
    """The operations of one probe on average."""
    rows, items, entries = load.window_rows, load.items, load.listed
    if load.kind == "every":
        return Work(probe=1.0, match=rows)
    # Sets match seldom, and what they cost is in the candidates looked at, not in the pairs reported.
    matches = 0.0 if load.kind in ("overlap", "weighted") else load.matches
    match structure:
        case "scan":
            return Work(probe=1.0, row=rows, block=matching_blocks(rows, matches), match=matches)
        case "hash":
            return Work(probe=1.0, look_up=items, step=entries, match=matches)
        case "inverted/heap" | "inverted-by-id":
            levels = max(1.0, math.log2(items)) if items > 0.0 else 1.0
            return Work(probe=1.0, look_up=items, step=entries * levels, match=matches)
        case "inverted/count":
            return Work(probe=1.0, look_up=items, step=entries, word=rows / _WORD_BITS, match=matches)
        case "inverted/bitmap":
            words, steps = _bitmap_reads(rows, items, entries)
            return Work(probe=1.0, look_up=items, step=steps, word=words, match=matches)
    raise ConfigError(f"structure={structure!r}: not known")


def predicted_cost(load: DirectionLoad, structure: Structure, costs: OperationCosts) -> float:
    """Seconds of processor time per second for all that touches the window: [Kang] eq. 1."""
    upkeep = costs.insert + costs.expire
    nanoseconds = load.probing_rate * probe_work(load, structure).times(costs) + load.window_rate * upkeep
    return nanoseconds * _NANOSECONDS


def stream_cost(
    stream: int,
    loads: tuple[DirectionLoad, DirectionLoad],
    *,
    structures: tuple[Structure, Structure],
    unit_costs: UnitCosts,
) -> float:
    """Seconds of processor time per second for one stream's rows: reading, keeping and probing with them.

    `loads[n]` is what the window of stream n has to bear, kept as `structures[n]`. predicted_cost() adds up
    what touches one window; this is what a clock sees while one stream is pushed.
    """
    other = 1 - stream
    own_load, other_load = loads[stream], loads[other]
    own = unit_costs.of(own_load.kind, structures[stream], rows=own_load.window_rows)
    probed = unit_costs.of(other_load.kind, structures[other], rows=other_load.window_rows)
    taking_in = unit_costs.ingest.get(own_load.kind, 0.0) + own.insert + own.expire
    probing = probe_work(other_load, structures[other]).times(probed)
    return (own_load.window_rate * taking_in + other_load.probing_rate * probing) * _NANOSECONDS


def rebuild_cost(load: DirectionLoad, costs: OperationCosts) -> float:
    """Seconds to build the structure anew over a full window."""
    return load.window_rows * costs.insert * _NANOSECONDS


def matching_blocks(rows: float, matches: float) -> float:
    """Blocks of a scan with at least one match in them, matches being spread evenly."""
    if rows <= 0.0 or matches <= 0.0:
        return 0.0
    blocks = max(1.0, rows / _SCAN_BLOCK)
    return blocks * -math.expm1(-matches / blocks)


def _bitmap_reads(rows: float, items: float, entries: float) -> tuple[float, float]:
    """Words and entries read: a list longer than its bitmap is read as bitmap, the others entry by entry.

    The counters themselves are one pass of words; lists are taken to be equally long, which errs towards
    reading entries where popularity is skewed.
    """
    words = rows / _WORD_BITS
    return (words * (items + 1.0), 0.0) if entries > words * items else (words, entries)
