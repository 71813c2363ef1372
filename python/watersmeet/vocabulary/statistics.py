"""Statistics: frozen counts of what a join has seen, done, kept and given back.

Counters balance. Per stream: every row pushed is bad, late, dropped, pending (in the reorder buffer), in the
window, or expired from it. Per direction: comparisons due = done + shed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from watersmeet.vocabulary.waiting import ChoiceMade, ResponseTimes, why_waiting

__all__ = [
    "Counters",
    "DirectionStatistics",
    "Estimate",
    "Metrics",
    "StreamStatistics",
    "bytes_text",
    "text_table",
]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number known up to its 95 % interval [low, high]; the three agree when it is exact."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        """A number that is known."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        """Whether the interval is a point."""
        return self.low == self.high

    def __str__(self) -> str:
        if self.is_exact:
            return f"{self.value:.4g} (exact)"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """One stream: what came in, and where it is now."""

    name: str
    rows: int = 0  # pushed, whatever became of them
    bad_rows: int = 0  # null timestamp: match nothing
    late_rows: int = 0  # later than the lateness allows: not joined
    dropped_rows: int = 0  # lost to a full input buffer, or to a memory limit
    window_rows: int = 0  # in the window now
    window_bytes: int = field(default=0, compare=False)  # join columns, index and payload of these
    expired_rows: int = 0  # left the window
    evicted_rows: int = 0  # left it early, for want of memory
    pending_rows: int = 0  # wait in the reorder or input buffer
    watermark: int | None = None  # rows up to here are in the window or past it; in the join's time unit
    idle: bool = False  # silent for its idle_timeout: holds nobody back
    behind_s: float | None = None  # its watermark behind the newest row of all streams; None: not measured
    lateness_s: float | None = None  # the bound in force; None: rows may not be out of order


@dataclass(frozen=True, slots=True)
class DirectionStatistics:
    """One direction: the work done for one stream's new rows in another stream's window."""

    probes: int = 0  # new rows that looked into the other window
    comparisons: int = 0  # pairs whose predicate was evaluated
    postings: int = 0  # index entries read
    lookups: int = 0  # items or keys looked up
    due: int = 0  # pairs that the full answer asks to be decided
    done: int = 0  # of these, decided: compared, or ruled out by an index
    shed: int = 0  # of these, given up for the budget
    lost: int = 0  # of these, with rows given up for want of memory: due = done + shed + lost
    recall: Estimate = Estimate(1.0, 1.0, 1.0)  # share of this direction's part of the full answer
    fractions: Mapping[str, float] = field(default_factory=dict)  # of the due pairs decided, by type of row
    cell_densities: tuple[float | None, ...] = ()  # matches per pair decided, by age; None: none decided
    plan_order: tuple[int, ...] = ()  # cells in the order in which they are visited now
    plan_fractions: Mapping[str, float] = field(default_factory=dict)  # of the window, by type, now

    @property
    def fraction(self) -> float:
        """The share of the due pairs that was decided; 1 when none was due."""
        return self.done / self.due if self.due else 1.0


class Counters:
    """What the metrics of all kinds of joins answer alike."""

    __slots__ = ()
    streams: tuple[StreamStatistics, ...]

    def stream(self, name: str) -> StreamStatistics:
        """The statistics of one stream, by its name."""
        for stream in self.streams:
            if stream.name == name:
                return stream
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """All counters as plain dictionaries, lists and numbers, ready for JSON."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    def _streams_text(self) -> list[str]:
        """The streams' counters as lines of text."""
        return text_table("stream", [s.name for s in self.streams], self.streams, skip=("name", *_NOT_COUNTS))


@dataclass(frozen=True, slots=True)
class Metrics(Counters):
    """A snapshot of a join's counters. It does not change as the join goes on."""

    results: int = 0
    streams: tuple[StreamStatistics, ...] = ()
    directions: tuple[DirectionStatistics, ...] = ()  # direction n: new rows of stream n probe the others
    held_results: int = 0  # found, and kept back for their order
    memory_bytes: int = field(default=0, compare=False)  # bytes describe the process, not the answer
    recall: Estimate = Estimate(1.0, 1.0, 1.0)  # share of the full answer that came out
    order: str | None = None  # how results are put in order now; None: they leave as they are found
    held_bytes: int = field(default=0, compare=False)
    blocked_by: str | None = None  # the stream for which results or rows wait
    blocked_for_s: float = field(default=0.0, compare=False)  # by the join's clock
    response: ResponseTimes = field(default_factory=ResponseTimes)
    decisions: tuple[ChoiceMade, ...] = ()  # the latest that the join took by itself

    def why_waiting(self) -> str:
        """What waits, for which stream, since when, and what would let it go; in words."""
        return why_waiting(self, self.decisions)

    def __str__(self) -> str:
        lines = [
            f"results {self.results:,}   held {self.held_results:,}   memory {bytes_text(self.memory_bytes)}"
            f"   recall {self.recall}",
            *self._streams_text(),
        ]
        names = [f"{s.name} →" for s in self.streams] or [str(n) for n in range(len(self.directions))]
        lines += text_table("direction", names, self.directions, skip=_NOT_COUNTERS)
        return "\n".join(lines)


_NOT_COUNTERS = ("recall", "fractions", "cell_densities", "plan_order", "plan_fractions")
_NOT_COUNTS = ("idle", "behind_s", "lateness_s")


def text_table(
    title: str, names: Sequence[str], rows: Sequence[Any], *, skip: Sequence[str] = ()
) -> list[str]:
    """Frozen counts as lines of text, a line a row under the names of its fields."""
    if not rows:
        return []
    columns = [f.name for f in fields(rows[0]) if f.name not in skip]
    cells = [[title, *columns]]
    for name, row in zip(names, rows, strict=False):
        cells.append([name, *(_shown(column, getattr(row, column)) for column in columns)])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [_line(line, widths) for line in cells]


def _plain(value: Any) -> Any:
    """A value of vocabulary, or of values of it, as dictionaries, lists and what JSON has."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value


def _line(cells: list[str], widths: list[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()


def _shown(column: str, value: int | None) -> str:
    if value is None:
        return "-"
    if column == "watermark":
        return str(value)
    return bytes_text(value) if column.endswith("_bytes") else f"{value:,}"


def bytes_text(count: int) -> str:
    """A number of bytes as people read it."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count:,} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
