"""One micro-batch of one bucket: late rows out, a live join found or rebuilt, rows joined, the log extended.

Correct without the cache: whatever a worker remembers is checked against the tokens in the log, and what does
not fit is built again from there.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from watersmeet.spark.lane import LaneJoin, Times
from watersmeet.spark.pack import instants
from watersmeet.spark.request import OWNED, Lane, Request, Role
from watersmeet.spark.segments import Log, Segment, Store
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Arrived", "Done", "apply", "forget"]

_FORGOTTEN_AFTER_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows of one side and role, in order of time."""

    side: int
    role: Role
    table: pa.Table
    times: Times


@dataclass(slots=True)
class Done:
    """What a micro-batch gave, and what it took."""

    tables: list[pa.Table] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    timer: int | None = None  # when to look again, in milliseconds; None: not needed
    timer_before: int | None = None  # the one that is set already


class Live:
    """The joins of a bucket, after exactly the batches that `token` ends."""

    def __init__(self, request: Request, disorder: int) -> None:
        self.request, self.disorder = request, disorder
        self.lanes = [LaneJoin(request, lane, disorder) for lane in request.lanes]
        self.token = ""
        self.used_s = 0.0

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

    def push(self, rows: list[Arrived]) -> list[pa.Table]:
        """The results of a batch. Requires: there is room for it."""
        return [
            join.push(side, *_merged([entry for entry in rows if _enters(entry, lane, side)]))
            for lane, join in self._lanes()
            for side in (0, 1)
            if any(_enters(entry, lane, side) for entry in rows)
        ]

    def refill(self, rows: list[Arrived]) -> None:
        """The same for rows whose results are known already."""
        for lane, join in self._lanes():
            for side in (0, 1):
                entered = [entry for entry in rows if _enters(entry, lane, side)]
                if entered:
                    join.refill(side, *_merged(entered))

    def advance(self, watermark: int | None) -> list[pa.Table]:
        return [] if watermark is None else [out for lane in self.lanes for out in lane.advance(watermark)]

    def comparisons(self) -> int:
        return sum(way.comparisons for lane in self.lanes for way in lane.metrics.directions)

    def _lanes(self) -> list[tuple[Lane, LaneJoin]]:
        return list(zip(self.request.lanes, self.lanes, strict=True))


def _enters(rows: Arrived, lane: Lane, side: int) -> bool:
    return rows.side == side and rows.role in lane.roles[side]


def _merged(entries: list[Arrived]) -> tuple[pa.Table, Times]:
    """Rows of one side, in order of time."""
    if len(entries) == 1:
        return entries[0].table, entries[0].times
    times = np.concatenate([entry.times for entry in entries])
    table = pa.concat_tables([entry.table for entry in entries])
    return _sorted(table, times)


def _sorted(table: pa.Table, times: Times) -> tuple[pa.Table, Times]:
    if not np.all(times[1:] >= times[:-1]):
        order = np.argsort(times, kind="stable")
        times, table = times[order], table.take(pa.array(order))
    return table.combine_chunks(), times


_cache: OrderedDict[tuple[str, int], Live] = OrderedDict()


def forget() -> None:
    """Empty this process's cache."""
    _cache.clear()


def apply(
    request: Request,
    store: Store,
    *,
    owner: str,
    label: int,
    signature: str,
    arrived: Iterable[tuple[int, Role, pa.Table]],
    watermark: int | None,
) -> Done:
    """Join one micro-batch's rows and write the new state. `owner` names the query, for the cache."""
    began = time.perf_counter()
    log = Log(request, store, signature)
    done = Done(timer_before=log.index.timer)
    rows = _ready(request, arrived, watermark, done.counts)
    live = _live(request, log, (owner, label), rows, done.counts)
    before = live.comparisons()
    done.tables += live.push(rows)
    for entry in rows:
        latest = int(entry.times[-1])
        if log.is_needed(entry.side, entry.role, latest, watermark):
            log.append(entry.side, entry.role, entry.table, latest)
    done.tables += live.advance(watermark)
    log.expire(watermark)
    done.timer = _next_look(request, log, watermark)
    log.index = replace(log.index, timer=done.timer)
    log.commit()
    live.token = log.index.token
    _keep((owner, label), live)
    done.tables = [table for table in done.tables if table.num_rows]
    done.counts |= {
        "results": sum(table.num_rows for table in done.tables),
        "comparisons": live.comparisons() - before,
        "state_rows": log.index.rows,
        "state_bytes": log.index.bytes,
        "segments": len(log.index.segments),
        "join_us": int((time.perf_counter() - began) * 1e6),
    }
    return done


def _ready(
    request: Request,
    arrived: Iterable[tuple[int, Role, pa.Table]],
    watermark: int | None,
    counts: dict[str, int],
) -> list[Arrived]:
    """The rows that are not late, one table per side and role, in order of time."""
    lots: dict[tuple[int, Role], list[pa.Table]] = {}
    for side, role, table in arrived:
        lots.setdefault((side, role), []).append(table)
    counts.update(left_rows=0, right_rows=0, late_rows=0)
    ready = []
    for (side, role), tables in sorted(lots.items()):
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        times, _ = instants(request, side, table[request.times[side]])
        kept = np.arange(len(times)) if watermark is None else np.flatnonzero(times > watermark)
        if role == OWNED:
            counts["left_rows" if side == 0 else "right_rows"] += len(times)
            counts["late_rows"] += len(times) - len(kept)
        chosen = times[kept]
        in_order = bool(np.all(chosen[1:] >= chosen[:-1]))
        if not in_order:
            order = np.argsort(chosen, kind="stable")
            kept, chosen = kept[order], chosen[order]
        if len(kept) < len(times) or not in_order:
            table = table.take(pa.array(kept))
        if len(chosen):
            ready.append(Arrived(side, role, table.combine_chunks(), chosen))
    return ready


# --- the live join ----------------------------------------------------------------------------------------


def _live(
    request: Request, log: Log, key: tuple[str, int], rows: list[Arrived], counts: dict[str, int]
) -> Live:
    """A live join that has seen exactly what the log has, with room for these rows."""
    counts.update(hits=0, catch_ups=0, rebuilds=0)
    live = _cache.pop(key, None)  # until the batch is done, nobody else may find it
    if live is None or not _caught_up(live, log, counts):
        live = _rebuilt(request, log, counts)
    while (behind := live.behind(rows)) > live.disorder:
        log.index = replace(log.index, disorder=max(log.index.disorder, 2 * behind))
        live = _rebuilt(request, log, counts)
    return live


def _caught_up(live: Live, log: Log, counts: dict[str, int]) -> bool:
    """Whether the join is, or could be brought, to the log's end."""
    if live.token == log.index.token:
        counts["hits"] = 1
        return True
    ends = dict(log.index.tokens)
    if live.token not in ends:
        return False
    missed = [segment for segment in log.index.segments if segment.number >= ends[live.token]]
    rows = _read(live.request, log, missed)
    if live.behind(rows) > live.disorder:
        return False
    live.refill(rows)
    live.advance(log.index.watermark)
    counts["catch_ups"] = 1
    return True


def _rebuilt(request: Request, log: Log, counts: dict[str, int]) -> Live:
    """A join made from the log: all rows of a side at once, in order of time."""
    live = Live(request, log.index.disorder)
    live.refill(_read(request, log, log.index.segments))
    live.advance(log.index.watermark)
    counts["rebuilds"] = counts.get("rebuilds", 0) + (1 if log.index.tokens else 0)
    return live


def _read(request: Request, log: Log, segments: Iterable[Segment]) -> list[Arrived]:
    """The rows of some segments, one entry per side and role."""
    lots: dict[tuple[int, Role], list[pa.Table]] = {}
    for segment in segments:
        lots.setdefault((segment.side, segment.role), []).append(log.read(segment))
    entries = []
    for (side, role), tables in sorted(lots.items()):
        table = pa.concat_tables(tables)
        times, _ = instants(request, side, table[request.times[side]])
        entries.append(Arrived(side, role, *_sorted(table, times)))
    return entries


def _keep(key: tuple[str, int], live: Live) -> None:
    live.used_s = time.monotonic()
    _cache[key] = live
    while live.used_s - next(iter(_cache.values())).used_s > _FORGOTTEN_AFTER_S:
        _cache.popitem(last=False)  # its bucket went to another worker, or its query has ended


def _next_look(request: Request, log: Log, watermark: int | None) -> int | None:
    """When the watermark will have changed something here: rows let go, or segments to drop."""
    per_ms = NANOSECONDS["ms"] // NANOSECONDS[request.unit]
    segments = log.index.segments
    if not segments:
        return None
    if request.waits:
        earliest = 0 if watermark is None else watermark // per_ms
        return earliest + 1
    soonest = min(s.latest + request.reach(s.side, s.role) for s in segments)
    return soonest // per_ms + 1


def described(request: Request) -> Any:
    """What must not change while a checkpoint lives, in words."""
    windows = request.rows_windows
    window = f"({windows[0]}, {windows[1]})" if windows else f"{request.lower}..{request.upper}{request.unit}"
    return (
        f"on={request.on}, how={request.how!r}, window={window}, time={request.times},"
        f" partitions={request.partitions} by {request.by}, slice={request.width}"
    )
