"""How much of each operation a probe needs, structure by structure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter, mul
from typing import Final, TypeAlias

from watersmeet.cost import _check
from watersmeet.cost.unit_costs import KINDS, Kind, OperationCosts, Structure, UnitCosts, operations_of
from watersmeet.errors import ConfigError

__all__ = [
    "DirectionLoad",
    "Price",
    "Work",
    "predicted_cost",
    "probe_work",
    "rebuild_cost",
    "stream_cost",
    "structure_costs",
    "structure_prices",
]

_SCAN_BLOCK: Final = 64.0  # rows that a vectorised scan decides on at once
_WORD_BITS: Final = 64.0
_NANOSECONDS: Final = 1e-9

Price: TypeAlias = tuple[float, float]  # seconds of a probe, and of a row that comes and goes


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionLoad:
    """What one window has to bear: who probes it, who fills it, and what a probe meets there.

    kind           of predicate
    probing_rate   rows per second of the stream that probes the window
    window_rate    rows per second of the window's own stream
    window_rows    rows in the window when it is full
    matches        pairs that a probe finds, on average
    items          keys or items that a probe looks up: 1 for keys, the size of the set for sets; for
                   distances, words of eight bytes in a vector
    entries        entries of the looked-up lists within the window, all together, on average; None: `matches`
    met_rows       rows of the window that a probe may match, by their times; None: all of them. Where large
                   batches take turns, the stream that is pushed first finds little of the other's window
                   that is of its time, and the second finds the rest
    """

    kind: Kind
    probing_rate: float
    window_rate: float
    window_rows: float
    matches: float = 0.0
    items: float = 1.0
    entries: float | None = None
    met_rows: float | None = None

    def __post_init__(self) -> None:
        if self._is_plain():
            return
        _check.one_of(self.kind, KINDS, argument="DirectionLoad(kind)")
        for name in ("probing_rate", "window_rate", "window_rows", "matches", "items"):
            value = _check.at_least(getattr(self, name), 0.0, argument=f"DirectionLoad({name})")
            object.__setattr__(self, name, value)
        entries = self.matches if self.entries is None else self.entries
        entries = _check.at_least(entries, 0.0, argument="DirectionLoad(entries)")
        object.__setattr__(self, "entries", entries)
        if self.met_rows is not None:
            met_rows = _check.at_least(self.met_rows, 0.0, argument="DirectionLoad(met_rows)")
            object.__setattr__(self, "met_rows", met_rows)

    def _is_plain(self) -> bool:
        """Whether all is given and as it should be: a join that looks while it runs asks often."""
        given = _loads_of(self)
        return all(type(value) is float and 0.0 <= value < math.inf for value in given) and self.kind in KINDS

    @property
    def met(self) -> float:
        """Rows that a probe may match."""
        return self.window_rows if self.met_rows is None else self.met_rows

    def cost_at(self, price: Price) -> float:
        """Seconds of processor time per second, by what a probe takes and a row that comes and goes."""
        return self.probing_rate * price[0] + self.window_rate * price[1]

    @property
    def listed(self) -> float:
        """Entries read by a probe that follows lists."""
        return self.matches if self.entries is None else self.entries


_loads_of: Final[Callable[[DirectionLoad], tuple[float | None, ...]]] = attrgetter(
    "probing_rate", "window_rate", "window_rows", "matches", "items", "entries", "met_rows"
)


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
        return self.times_values(operations_of(costs))

    def times_values(self, costs: Sequence[float]) -> float:
        """The same, given the costs as bare numbers."""
        return float(sum(map(mul, operations_of(self), costs)))


def probe_work(load: DirectionLoad, structure: Structure) -> Work:
    """The operations of one probe on average."""
    rows, items, entries = load.met, load.items, load.listed
    if load.kind == "every":
        return Work(probe=1.0, match=rows)
    if load.kind == "where":
        return Work(probe=min(1.0, rows), row=rows)
    if load.kind.startswith("distance/"):
        return Work(probe=min(1.0, rows), row=rows, word=rows * items)
    # Sets match seldom, and what they cost is in the candidates looked at, not in the pairs reported.
    matches = 0.0 if load.kind in ("overlap", "weighted") else load.matches
    match structure:
        case "scan":
            # A probe whose part of the window is empty is not even begun.
            begun = min(1.0, rows)
            return Work(probe=begun, row=rows, block=matching_blocks(rows, matches), match=matches)
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
    return load.cost_at(_price(load, structure, operations_of(costs)))


def structure_costs(load: DirectionLoad, unit_costs: UnitCosts) -> dict[Structure, float]:
    """The same of every structure that may be advised for the window, on a machine with these unit costs."""
    return {name: load.cost_at(price) for name, price in structure_prices(load, unit_costs).items()}


def structure_prices(load: DirectionLoad, unit_costs: UnitCosts) -> dict[Structure, Price]:
    """Seconds of a probe, and of a row that comes and goes, by structure that may be advised."""
    return {
        structure: _price(load, structure, unit_costs.curves[load.kind, structure].values(load.window_rows))
        for structure in unit_costs.structures(load.kind)
    }


def _price(load: DirectionLoad, structure: Structure, costs: tuple[float, ...]) -> Price:
    *_, insert, expire = costs
    probe = probe_work(load, structure).times_values(costs)
    return probe * _NANOSECONDS, (insert + expire) * _NANOSECONDS


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
