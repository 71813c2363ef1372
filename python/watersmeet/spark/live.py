"""The live joins of a bucket: one per lane, fed with the rows that enter it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watersmeet.spark.counts import Look
from watersmeet.spark.lane import LaneJoin, Times
from watersmeet.spark.request import Lane, Request, Role

__all__ = ["Arrived", "Live", "in_order"]


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows of one side and role, in order of time."""

    side: int
    role: Role
    table: pa.Table
    times: Times


class Live:
    """The joins of a bucket, after exactly the batches that `token` ends."""

    def __init__(self, request: Request, disorder: int) -> None:
        self.request, self.disorder = request, disorder
        self._joins = [LaneJoin(request, lane, disorder) for lane in request.lanes]
        self.token = ""
        self.used_s = 0.0
        self.commit_s = 0.0  # what writing the index, and what controllers know, took the last time

    def behind(self, rows: list[Arrived]) -> int:
        """How far some of these rows come behind their streams: the room that they need."""
        return max(
            (
                join.behind(entry.side, entry.times)
                for lane, join in self._lanes()
                for entry in rows
                if _enters(entry, lane, entry.side)
            ),
            default=0,
        )

    def entries(self, rows: list[Arrived]) -> int:
        """How many rows these are to the lanes: one that enters two of them counts twice."""
        return sum(
            len(entry.times)
            for lane in self.request.lanes
            for entry in rows
            if _enters(entry, lane, entry.side)
        )

    def push(self, rows: list[Arrived]) -> list[pa.Table]:
        """The results of a batch. Requires: there is room for it, and no budget."""
        return [
            join.push(side, *_merged([entry for entry in rows if _enters(entry, lane, side)]))
            for lane, join in self._lanes()
            for side in (0, 1)
            if any(_enters(entry, lane, side) for entry in rows)
        ]

    def drain(self, arriving: list[tuple[Arrived, Times]], units_per_s: Sequence[float]) -> list[pa.Table]:
        """The results of rows that arrive at these ticks, each lane at its speed."""
        out = []
        for (lane, join), speed in zip(self._lanes(), units_per_s, strict=True):
            for side in (0, 1):
                entered = [(entry, ticks) for entry, ticks in arriving if _enters(entry, lane, side)]
                if entered:
                    table, times = _merged([entry for entry, _ in entered])
                    join.hold(side, table, times, np.sort(np.concatenate([ticks for _, ticks in entered])))
            out.append(join.drain(speed))
        return out

    def refill(self, rows: list[Arrived]) -> None:
        """Rows whose results are known already."""
        for lane, join in self._lanes():
            for side in (0, 1):
                entered = [entry for entry in rows if _enters(entry, lane, side)]
                if entered:
                    join.refill(side, *_merged(entered))

    def advance(self, watermark: int | None) -> list[pa.Table]:
        """What the watermark releases."""
        return [] if watermark is None else [out for join in self._joins for out in join.advance(watermark)]

    def looks(self) -> list[Look]:
        """The counters of each lane."""
        return [join.look() for join in self._joins]

    def units(self) -> float:
        """The work done so far, in units of a budget."""
        return sum(join.units for join in self._joins)

    def courses(self) -> list[bytes]:
        """What each lane knows but for its rows."""
        return [join.course() for join in self._joins]

    def set_courses(self, courses: Sequence[bytes]) -> None:
        """Go on as the joins did that these are from."""
        for join, course in zip(self._joins, courses, strict=True):
            join.set_course(course)

    def _lanes(self) -> list[tuple[Lane, LaneJoin]]:
        return list(zip(self.request.lanes, self._joins, strict=True))


def in_order(table: pa.Table, times: Times) -> tuple[pa.Table, Times]:
    """Rows sorted by their times; as they are, if they are sorted."""
    if not np.all(times[1:] >= times[:-1]):
        order = np.argsort(times, kind="stable")
        times, table = times[order], table.take(pa.array(order))
    return table.combine_chunks(), times


def _enters(rows: Arrived, lane: Lane, side: int) -> bool:
    return rows.side == side and rows.role in lane.roles[side]


def _merged(entries: list[Arrived]) -> tuple[pa.Table, Times]:
    """Rows of one side, in order of time."""
    if len(entries) == 1:
        return entries[0].table, entries[0].times
    times = np.concatenate([entry.times for entry in entries])
    return in_order(pa.concat_tables([entry.table for entry in entries]), times)
