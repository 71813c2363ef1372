"""To which buckets each row goes: by its key's hash, or by time to slice owners and to all they may meet.

Slice n is the stretch [n * width, (n + 1) * width) of time; its owner is bucket n mod partitions ([PSP]:
slices are interleaved over the workers, so that load follows time around).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from watersmeet.spark.request import OWNED, VISITING, Request

__all__ = ["Copies", "destinations"]

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows to send: their place in the input, the bucket, and the role they play there."""

    rows: Numbers
    buckets: Numbers
    roles: Numbers


def destinations(request: Request, side: int, times: Numbers, key_buckets: Numbers | None) -> Copies:
    """Every copy of every row. `key_buckets` are those of keys, where the join is divided by key."""
    rows = np.arange(len(times))
    if request.by == "slice":
        return _by_slice(request, side, times, rows)
    buckets = np.zeros(len(times), np.int64) if key_buckets is None else key_buckets
    return Copies(rows, buckets, np.zeros(len(times), np.int64))


def _by_slice(request: Request, side: int, times: Numbers, rows: Numbers) -> Copies:
    owners = np.floor_divide(times, request.width) % request.partitions
    span = _partner_span(request, side)
    if request.shares_probes or side == request.home:
        parts = [(rows, owners, np.full(len(rows), OWNED))]
        if not request.shares_probes or span is None:
            return Copies(*parts[0])
    else:
        parts, owners = [], np.full(len(rows), -1)
    assert span is not None  # a row that nobody owns visits all that it may meet
    first = np.floor_divide(times + span[0], request.width)
    last = np.floor_divide(times + span[1], request.width)
    for step in range(min(int((last - first).max(initial=-1)) + 1, request.partitions)):
        buckets = (first + step) % request.partitions
        visits = (first + step <= last) & (buckets != owners)
        parts.append((rows[visits], buckets[visits], np.full(int(visits.sum()), VISITING)))
    return Copies(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _partner_span(request: Request, side: int) -> tuple[int, int] | None:
    """Where the partners that a row visits may lie, relative to its own time; None: nowhere."""
    low, high = (request.lower, request.upper) if side == 0 else (-request.upper, -request.lower)
    if request.shares_probes:  # partners that own the pair are earlier; on a tie the left row owns it
        high = min(high, -1 if side == 0 else 0)
    return (low, high) if low <= high else None
