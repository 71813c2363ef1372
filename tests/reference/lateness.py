"""Which rows of one stream are late: judged row by row in order of arrival, whatever the batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Admission", "admit"]


@dataclass(frozen=True, slots=True)
class Admission:
    """What becomes of each row: `admitted[row]`, and the number of late and of bad (timeless) rows."""

    admitted: tuple[bool, ...]
    late_rows: int
    bad_rows: int


def admit(
    times: Sequence[int | None], *, lateness: int, promises: Iterable[tuple[int, int]] = ()
) -> Admission:
    """Judge the rows of a stream by their times, all in one unit.

    `promises` are (rows pushed before it, time): a promise by advance() counts like a row of that time. A row
    without a time is admitted, moves nothing, and is counted as bad.
    """
    promised: dict[int, int] = {}
    for place, promise in promises:
        promised[place] = max(promise, promised.get(place, promise))
    newest: int | None = None
    admitted = []
    for row, time in enumerate(times):
        newest = _later(newest, promised.get(row))
        admitted.append(time is None or newest is None or time >= newest - lateness)
        newest = _later(newest, time)
    return Admission(tuple(admitted), admitted.count(False), sum(time is None for time in times))


def _later(one: int | None, two: int | None) -> int | None:
    if one is None or two is None:
        return two if one is None else one
    return max(one, two)
