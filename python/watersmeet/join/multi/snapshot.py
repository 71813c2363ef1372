"""A join of several streams as bytes, and back: configuration, schemas, the core, payload, what waits, the
control.

A user's own functions are left out, and asked for again by restore().
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import ConfigError, SnapshotError
from watersmeet.join.columns import frame
from watersmeet.join.columns.late import LateRows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.multi.config import MultiConfig, checked_multi_config
from watersmeet.join.multi.core import make_core_plan
from watersmeet.join.multi.engine import MultiEngine, Running
from watersmeet.join.multi.values_json import control_from_plain, plain_control
from watersmeet.join.timing.pace import Clock
from watersmeet.join.timing.sources import Ready
from watersmeet.join.two_way.configuration_json import (
    leaf_from_plain,
    plain_leaf,
    plain_stream,
    plain_value,
    stream_from_plain,
    value_from_plain,
)
from watersmeet.plan import parse_tree
from watersmeet.vocabulary import And, Predicate

__all__ = ["multi_restored", "multi_snapshot"]


def multi_snapshot(engine: MultiEngine) -> bytes:
    """The state of a join; it goes on undisturbed."""
    running = engine.running
    control = None if running is None else running.control
    sources = engine.sources
    kept = engine.kept.with_more(())
    header: dict[str, Any] = {
        "kind": "multi",
        "config": _plain_config(engine.config),
        "finished": engine.is_finished,
        "sources": sources.plain(),
        "admitted": engine.admitted,
        "synchronised": engine.is_synchronised,
        "pace": engine.pace.plain(),
        "running": running is not None,
        "control": None if control is None else plain_control(control.state),
        "first": [] if running is None else [store.first for store in running.stores],
        "expired": engine.kept.expired,
        "kept": [[each.stream, each.came.tolist()] for each in kept],
    }
    sections = [frame.bytes_of_schema(schema) for schema in engine.schemas]
    sections += [frame.bytes_of_batch(batch) for batch in sources.waiting()]
    for late, schema in zip(sources.late, engine.schemas, strict=True):
        table = late.table(None if schema is None else schema.schema)
        sections.append(frame.bytes_of_table(table) if table.num_rows else b"")
    if running is not None:
        sections += [
            running.core.snapshot(),
            *(frame.bytes_of_rows(store) for store in running.stores),
        ]
        sections.append(b"" if running.held is None else running.held.snapshot())
    sections += [frame.bytes_of_batch(each.batch) for each in kept]
    return frame.sealed(header, sections)


def multi_restored(blob: Any, on: object, clock: Clock | None = None) -> MultiEngine:
    """The join that a snapshot was taken of; SnapshotError for any other bytes."""
    body = frame.unsealed(blob)
    try:
        header, sections = frame.opened(body, "multi")
        plain = header["config"]
        given = plain["on"] is None
    except frame.BROKEN as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error
    if given and on is None:
        raise ConfigError(
            "restore(on=None): the join has a function of your own, which a snapshot cannot hold;"
            " give on= again"
        )
    if not given and on is not None:
        raise ConfigError("restore(on=...): the snapshot holds its predicates; expected None")
    config = _config(plain, on) if given else None
    try:
        return _engine(config or _config(plain, None), header, sections, clock)
    except frame.BROKEN as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error


def _engine(
    config: MultiConfig, header: dict[str, Any], sections: list[bytes], clock: Clock | None
) -> MultiEngine:
    engine = MultiEngine(config, clock)
    engine.is_finished, engine.admitted = header["finished"], header["admitted"]
    engine.is_synchronised, engine.kept.expired = header["synchronised"], header["expired"]
    engine.pace.resume(header["pace"])
    left = iter(sections)
    for place, stream in enumerate(config.streams):
        section = next(left)
        if section:
            schema = pa.ipc.read_schema(pa.py_buffer(section))
            engine.schemas[place] = StreamSchema(stream, schema, needed=config.columns(place))
    waiting = [frame.batch_of(section) for section in _some(left, config)]
    engine.sources.resume(
        header["sources"],
        [frame.checked(batch, own) for batch, own in zip(waiting, engine.schemas, strict=True)],
    )
    late = [LateRows(frame.table_of(section) if section else None) for section in _some(left, config)]
    engine.sources.late = late
    if header["running"]:
        engine.running = _running(engine, header, left)
    for stream, came in header["kept"]:
        batch = frame.checked(frame.batch_of(next(left)), engine.schemas[stream])
        if batch is None:
            raise SnapshotError("rows that wait are missing")
        engine.kept.keep((Ready(stream, batch, np.array(came, np.int64)),))
    return engine


def _some(sections: Any, config: MultiConfig) -> list[bytes]:
    return [next(sections) for _ in config.streams]


def _running(engine: MultiEngine, header: dict[str, Any], sections: Any) -> Running:
    config = engine.config
    state = None if header["control"] is None else control_from_plain(header["control"])
    tree = config.tree if state is None else state.tree
    running = Running(config, make_core_plan(config, engine.schemas), tree=tree, first=header["first"])
    running.core.load(next(sections))
    for store, section in zip(running.stores, _some(sections, config), strict=True):
        store.refill(frame.table_of(section))
    for counts, store in zip(running.core.statistics()["streams"], running.stores, strict=True):
        if store.first > counts["expired_rows"] or store.end != counts["rows"]:
            raise SnapshotError("the payload does not have the rows of its window")
    if state is not None:
        if running.control is None:
            raise SnapshotError("a control that this join has not")
        running.control.resume(state)
    running.core.set_synchronised(engine.is_synchronised)
    held = next(sections)
    if running.held is not None:
        running.held.load(held)
    return running


def _plain_config(config: MultiConfig) -> dict[str, Any]:
    on = None
    if not any(pair.functions for pair in config.pairs):
        on = [[*pair.streams, [plain_leaf(leaf) for leaf in pair.on.leaves]] for pair in config.pairs]
    return {
        "streams": [plain_stream(stream) for stream in config.streams],
        "on": on,
        "tree": "auto" if config.free_tree else config.tree.nested(),
        "monitor": plain_value(config.monitor),
        "analyse_above": config.rule.analyse_above,
        "actuate_above": config.rule.actuate_above,
        "states": config.states,
        "order": plain_value(config.order),
        **{name: getattr(config, name) for name in _OPTIONS},
    }


_OPTIONS = ("budget", "policy", "explore", "analysis", "output", "cells", "memory_limit")


def _config(plain: dict[str, Any], on: object) -> MultiConfig:
    streams = [stream_from_plain(stream) for stream in plain["streams"]]
    names = [stream.name for stream in streams]
    if plain["on"] is not None:
        on = {(names[one], names[other]): _joined(leaves) for one, other, leaves in plain["on"]}
    tree = plain["tree"]
    return checked_multi_config(
        streams,
        on=on,
        tree=tree if tree == "auto" else parse_tree(tree),
        monitor=value_from_plain(plain["monitor"]),
        analyse_above=plain["analyse_above"],
        actuate_above=plain["actuate_above"],
        states=plain["states"],
        order=value_from_plain(plain["order"]),
        **{name: plain[name] for name in _OPTIONS},
    )


def _joined(leaves: list[dict[str, Any]]) -> Predicate:
    found = tuple(leaf_from_plain(leaf) for leaf in leaves)
    return found[0] if len(found) == 1 else And(found)
