"""How long rows in the log may still be needed, and where a micro-batch is cut so that they can go.

A segment has an end: the time from which on none of its rows meets a row that comes. By time it is its latest
row's time and the window; by rows, the time by which so many rows have come after it. An inner join lets a
segment go once the watermark has passed its end. A join that reports missing partners also remembers whom a
row has met while it may still be reported: there a segment stays while a row of the other stream that it may
have met, one from before its end, has not ended itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt

from watersmeet.spark.request import Request, Role
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Segment", "cuts", "may_matter", "needed"]

_BASIC_WINDOWS: Final = 8  # of a join's window
_MOST_CUTS: Final = 32  # of a micro-batch and side
_LEAST_ROWS: Final = 256  # of a segment, where time alone would cut shorter: each has its own schema


@dataclass(frozen=True, slots=True)
class Segment:
    """What the index knows of a segment."""

    number: int  # of the entry that holds it
    start: int  # where it begins there
    side: int
    role: Role
    rows: int
    bytes: int
    earliest: int  # the smallest time in it
    latest: int  # the largest


def cuts(request: Request, times: npt.NDArray[np.int64]) -> list[int]:
    """Where rows in order of time are cut into segments: at basic windows, so that none stays for a part."""
    if request.extent == 0 or len(times) < 2 * _LEAST_ROWS:
        return [0, len(times)]
    basic_window = max(1, request.extent // _BASIC_WINDOWS)
    first, last = int(times[0]) // basic_window, int(times[-1]) // basic_window
    step = -(-(last - first + 1) // _MOST_CUTS)
    edges = np.arange(first + step, last + 1, step) * basic_window
    places = [0]
    for place in np.searchsorted(times, edges).tolist():
        if place - places[-1] >= _LEAST_ROWS and len(times) - place >= _LEAST_ROWS:
            places.append(place)
    return [*places, len(times)]


def may_matter(request: Request, side: int, role: Role, latest: int, watermark: int | None) -> bool:
    """Whether rows up to `latest` may still be needed, as far as their own time tells."""
    if watermark is None or request.rows_windows is not None:
        return True
    return latest + request.reach(side, role) > watermark


def needed(request: Request, segments: Sequence[Segment], watermark: int | None) -> tuple[Segment, ...]:
    """The segments that a row still to come, or one that still waits for its verdict, can need."""
    if watermark is None or request.rows_windows is None:
        return tuple(s for s in segments if may_matter(request, s.side, s.role, s.latest, watermark))
    ends = dict(zip(segments, _ends(request, segments), strict=True))
    alive = [segment for segment, end in ends.items() if end is None or end > watermark]
    if request.how == "inner":
        return tuple(alive)
    oldest = [min((s.earliest for s in alive if s.side == side), default=None) for side in (0, 1)]

    def witnesses(segment: Segment) -> bool:
        end, waiting = ends[segment], oldest[1 - segment.side]
        return end is None or end > watermark or (waiting is not None and waiting <= end)

    return tuple(filter(witnesses, segments))


def _ends(request: Request, segments: Sequence[Segment]) -> list[int | None]:
    """The end of each segment where a window counts rows; None: not yet in sight."""
    assert request.rows_windows is not None
    rows = [sorted((s for s in segments if s.side == side), key=lambda s: s.earliest) for side in (0, 1)]
    earliest = [[s.earliest for s in own] for own in rows]
    latest = [list(accumulate((s.latest for s in own), max)) for own in rows]
    before = [[0, *accumulate(s.rows for s in own)] for own in rows]
    out: list[int | None] = []
    for segment in segments:
        side, window = segment.side, request.rows_windows[segment.side]
        if not window.is_rows:
            out.append(segment.latest + window.amount // NANOSECONDS[request.unit])
            continue
        after = bisect_right(earliest[side], segment.latest)
        enough = bisect_right(before[side], before[side][after] + window.amount - 1) - 1
        out.append(latest[side][enough] if enough < len(rows[side]) else None)
    return out
