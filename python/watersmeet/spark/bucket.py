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

from watersmeet.spark import meter
from watersmeet.spark.copies import Copies
from watersmeet.spark.counts import counted
from watersmeet.spark.live import Arrived, Live, in_order
from watersmeet.spark.pack import instants
from watersmeet.spark.request import OWNED, Request, Role
from watersmeet.spark.retention import Segment
from watersmeet.spark.segments import Log, Store
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Done", "apply", "forget"]

_FORGOTTEN_AFTER_S: Final = 900.0


@dataclass(slots=True)
class Done:
    """What a micro-batch gave, and what it took."""

    tables: list[pa.Table] = field(default_factory=list)
    counts: dict[str, float] = field(default_factory=dict)
    timer: int | None = None  # when to look again, in milliseconds; None: not needed
    timer_before: int | None = None  # the one that is set already


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
    began = meter.clock()
    log = Log(request, store, signature, copies=Copies(owner, label))
    done = Done(timer_before=log.index.timer)
    rows = _ready(request, arrived, watermark, done.counts)
    finding = meter.clock()
    live = _live(request, log, (owner, label), rows, done.counts)
    joining = meter.clock()
    before = live.looks()
    budget = None if request.shed is None else meter.Meter(request, log.index.carried, live.disorder)
    done.tables += live.push(rows) if budget is None else budget.join(live, rows)
    joined = meter.clock()
    for entry in rows:
        log.append(entry, watermark)
    done.tables += live.advance(watermark)
    log.expire(watermark)
    done.timer = _next_look(request, log, watermark)
    committing = meter.clock()
    if budget is None:
        log.index = replace(log.index, carried={})
    else:
        beside_s = finding - began + committing - joined + live.commit_s
        count = sum(len(entry.times) for entry in rows)
        budget.note_overhead(count, beside_s)
        done.counts["rows_us"] = int(budget.rows_s(count) * 1e6)
        log.index = replace(log.index, carried=budget.carried(live))
    log.index = replace(log.index, timer=done.timer)
    log.commit()
    live.commit_s = meter.clock() - committing
    live.token = log.index.token
    _keep((owner, label), live)
    done.tables = [table for table in done.tables if table.num_rows]
    done.counts |= counted(before, live.looks(), past=None if budget is None else budget.past) | {
        "results": sum(table.num_rows for table in done.tables),
        "state_rows": log.index.rows,
        "state_bytes": log.index.bytes,
        "segments": len(log.index.segments),
        "find_us": int((joining - finding) * 1e6),
        "join_us": int((meter.clock() - began - (joining - finding)) * 1e6),
    }
    return done


def _ready(
    request: Request,
    arrived: Iterable[tuple[int, Role, pa.Table]],
    watermark: int | None,
    counts: dict[str, float],
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
    request: Request, log: Log, key: tuple[str, int], rows: list[Arrived], counts: dict[str, float]
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


def _caught_up(live: Live, log: Log, counts: dict[str, float]) -> bool:
    """Whether the join is, or could be brought, to the log's end."""
    if live.token == log.index.token:
        counts["hits"] = 1
        return True
    ends = dict(log.index.tokens)
    if live.token not in ends or (live.request.shed is not None and live.disorder != log.index.disorder):
        return False  # the second: what controllers know now is about another window
    missed = [segment for segment in log.index.segments if segment.number >= ends[live.token]]
    rows = _read(live.request, log, missed)
    if live.behind(rows) > live.disorder:
        return False
    live.refill(rows)
    _resume(live, log)
    counts["catch_ups"] = 1
    return True


def _rebuilt(request: Request, log: Log, counts: dict[str, float]) -> Live:
    """A join made from the log: all rows of a side at once, in order of time."""
    live = Live(request, log.index.disorder)
    live.refill(_read(request, log, log.index.segments))
    _resume(live, log)
    counts["rebuilds"] = counts.get("rebuilds", 0) + (1 if log.index.tokens else 0)
    return live


def _resume(live: Live, log: Log) -> None:
    """Bring what a join knows beside its rows to the log's end."""
    live.advance(log.index.watermark)
    courses = meter.courses(live.request, log.index.carried, live.disorder)
    if courses is not None:
        live.set_courses(courses)


def _read(request: Request, log: Log, segments: Iterable[Segment]) -> list[Arrived]:
    """The rows of some segments, one entry per side and role."""
    lots: dict[tuple[int, Role], list[pa.Table]] = {}
    for segment in segments:
        lots.setdefault((segment.side, segment.role), []).append(log.read(segment))
    entries = []
    for (side, role), tables in sorted(lots.items()):
        table = pa.concat_tables(tables)
        times, _ = instants(request, side, table[request.times[side]])
        entries.append(Arrived(side, role, *in_order(table, times)))
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
