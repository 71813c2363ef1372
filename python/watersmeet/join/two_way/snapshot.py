"""A join as bytes, and back: configuration, schemas, the core, payload, late rows.

In the frame of every join's snapshot. All of it is a function of the join's state: the same state gives the
same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import SnapshotError
from watersmeet.join.columns import frame
from watersmeet.join.columns.late import LateRows
from watersmeet.join.columns.payload import PayloadStore
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.timing.pace import Clock
from watersmeet.join.two_way.configuration_json import config_from_plain, plain_config
from watersmeet.join.two_way.engine import Engine
from watersmeet.join.two_way.plan import make_plan, new_core
from watersmeet.join.two_way.setup import Adjusted, Advanced, Call, Pushed, store_names, with_core

__all__ = ["restored", "snapshot"]


def snapshot(engine: Engine) -> bytes:
    """The state of a join; ConfigError if it has a function of the user's."""
    header = {
        "kind": "two-way",
        "config": plain_config(engine.config),
        "finished": engine.is_finished,
        "ended": engine.ended,
        "pushed": engine.pushed,
        "owed": None if engine.owed is None else [rows.tolist() for rows in engine.owed],
        "first_ns": engine.stopwatch.first_ns,
        "numberings": [numbering.plain() for numbering in engine.numberings],
        "late_rows": [list(rows) for rows in engine.late_rows],
        "memory": None if engine.memory is None else engine.memory.plain(),
        "pace": None if engine.pace is None else engine.pace.plain(),
        "first": [None if store is None else store.first for store in engine.setup.stores],
        "calls": None if engine.log is None else [_plain_call(call) for call in engine.log],
    }
    sections = [frame.bytes_of_schema(schema) for schema in engine.setup.schemas]
    sections.append(b"" if engine.setup.core is None else engine.setup.core.snapshot())
    sections += [
        b"" if store is None else frame.bytes_of_table(store.kept()) for store in engine.setup.stores
    ]
    for late, schema in zip(engine.late, engine.setup.schemas, strict=True):
        kept = late.table(None if schema is None else schema.schema)
        sections.append(frame.bytes_of_table(kept) if kept.num_rows else b"")
    pushes = [call for call in engine.log or () if isinstance(call, Pushed)]
    sections += [frame.bytes_of_batch(call.batch) for call in pushes]
    return frame.sealed(header, sections)


def restored(blob: Any, clock: Clock | None = None) -> Engine:
    """The join that a snapshot was taken of; SnapshotError for any other bytes."""
    body = frame.unsealed(blob)
    try:
        return _engine(*frame.opened(body, "two-way"), clock)
    except frame.BROKEN as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error


def _engine(header: dict[str, Any], sections: list[bytes], clock: Clock | None) -> Engine:
    engine = Engine(config_from_plain(header["config"]), clock)
    for kept, rows in zip(engine.late_rows, header["late_rows"], strict=True):
        kept.extend(rows)
    if header["owed"] is not None:
        engine.owed = (np.array(header["owed"][0], np.int64), np.array(header["owed"][1], np.int64))
    if engine.pace is not None:
        engine.pace.resume(header["pace"])
    engine.stopwatch.first_ns = header["first_ns"]
    for numbering, plain in zip(engine.numberings, header["numberings"], strict=True):
        numbering.resume(plain)
    if engine.memory is not None:
        engine.memory.resume(header["memory"])
    engine.is_finished, engine.pushed = header["finished"], header["pushed"]
    engine.ended = header["ended"]
    left, right, core, left_store, right_store, left_late, right_late, *pushes = sections
    engine.late = (_late(left_late), _late(right_late))
    calls = header["calls"]
    batches = iter(pushes)
    engine.log = None if calls is None else [_call(call, batches) for call in calls]
    if left or right:
        _restore_setup(engine, (left, right), core, (left_store, right_store), header["first"])
    return engine


def _restore_setup(
    engine: Engine,
    schemas: tuple[bytes, bytes],
    body: bytes,
    stores: tuple[bytes, bytes],
    first: list[int | None],
) -> None:
    config, division = engine.config, engine.division
    left, right = (
        StreamSchema(stream, pa.ipc.read_schema(pa.py_buffer(schema)), needed=()) if schema else None
        for stream, schema in zip(config.streams, schemas, strict=True)
    )
    plan = make_plan(config, division, (left, right))
    core = new_core(config, division, plan)
    core.load(body)
    kept: list[PayloadStore | None] = []
    for side, (schema, rows, start) in enumerate(zip((left, right), stores, first, strict=True)):
        if schema is None or start is None:
            kept.append(None)
            continue
        names = store_names(config, division, plan, side, schema.schema)
        store = PayloadStore(schema.schema, names, about=schema.about, first=start, limit=config.memory_limit)
        store.refill(frame.table_of(rows))
        kept.append(store)
    engine.setup = with_core(config, division, (left, right), plan, core, (kept[0], kept[1]))


def _plain_call(call: Call) -> list[Any]:
    if isinstance(call, Adjusted):
        return ["adjust", call.what, call.side, call.value]
    if isinstance(call, Pushed):
        kinds = call.extra.get("kinds")
        return [
            "push",
            call.side,
            call.extra.get("at"),
            None if kinds is None else kinds.tolist(),
            bool(call.extra),
        ]
    return ["advance", call.side, call.to_ns]


def _call(plain: list[Any], pushes: Any) -> Call:
    if plain[0] == "adjust":
        return Adjusted(*plain[1:])
    if plain[0] == "push":
        _, side, at, kinds, has_extra = plain
        codes = None if kinds is None else np.array(kinds, np.uint8)
        extra = {"at": at, "kinds": codes} if has_extra else {}
        return Pushed(side, frame.table_of(next(pushes)).to_batches()[0], extra)
    return Advanced(plain[1], plain[2])


def _late(section: bytes) -> LateRows:
    return LateRows(frame.table_of(section) if section else None)
