"""A join of several streams as bytes, and back: configuration, schemas, the core, payload, what waits, the
control.

Layout of the body, inside the frame that the core seals (version, length, checksum): the length of a JSON
header in 8 bytes, the header, then the sections whose lengths it names. Arrow data are IPC streams. The
same state gives the same bytes. A user's own functions are left out, and asked for again by restore().
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pyarrow as pa

from watersmeet._core import _native
from watersmeet.errors import ConfigError, SnapshotError, WatersmeetError
from watersmeet.join.columns.late import LateRows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.multi.arrival import ArrivalState
from watersmeet.join.multi.config import MultiConfig, checked_multi_config
from watersmeet.join.multi.core import make_core_plan
from watersmeet.join.multi.engine import MultiEngine, Promise, Running
from watersmeet.join.multi.values_json import control_from_plain, plain_control
from watersmeet.join.two_way.configuration_json import (
    leaf_from_plain,
    plain_leaf,
    plain_value,
    value_from_plain,
)
from watersmeet.plan import parse_tree
from watersmeet.vocabulary import And, Predicate, Stream

__all__ = ["multi_restored", "multi_snapshot"]

_BROKEN = (
    WatersmeetError,
    pa.ArrowException,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def multi_snapshot(engine: MultiEngine) -> bytes:
    """The state of a join; it goes on undisturbed."""
    running = engine.running
    control = None if running is None else running.control
    header: dict[str, Any] = {
        "kind": "multi",
        "config": _plain_config(engine.config),
        "finished": engine.is_finished,
        "arrivals": [[s.rows, s.bad_rows, s.late_rows, s.newest] for s in engine.arrivals],
        "promises": [[[to.amount, to.whole] for to in promises] for promises in engine.promises],
        "running": running is not None,
        "control": None if control is None else plain_control(control.state),
        "first": [] if running is None else [store.first for store in running.stores],
    }
    sections = [b"" if s is None else s.schema.serialize().to_pybytes() for s in engine.schemas]
    sections += [_rows(s.waiting) for s in engine.arrivals]
    for late, schema in zip(engine.late, engine.schemas, strict=True):
        kept = late.table(None if schema is None else schema.schema)
        sections.append(_table(kept) if kept.num_rows else b"")
    if running is not None:
        sections += [running.core.snapshot(), *(_table(store.kept()) for store in running.stores)]
    header["kept"] = [len(batches) for batches in engine.kept]
    sections += [_rows(batch) for batches in engine.kept for batch in batches]
    header["sections"] = [len(section) for section in sections]
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    return bytes(_native.seal(b"".join([len(text).to_bytes(8, "little"), text, *sections])))


def multi_restored(blob: Any, on: object) -> MultiEngine:
    """The join that a snapshot was taken of; SnapshotError for any other bytes."""
    try:
        body = bytes(_native.unseal(bytes(memoryview(blob))))
    except TypeError:
        raise SnapshotError(f"snapshot of type {type(blob).__name__}: expected bytes") from None
    try:
        header, sections = _opened(body)
        plain = header["config"]
        given = plain["on"] is None
    except _BROKEN as error:
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
        return _engine(config or _config(plain, None), header, sections)
    except _BROKEN as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error


def _engine(config: MultiConfig, header: dict[str, Any], sections: list[bytes]) -> MultiEngine:
    engine = MultiEngine(config)
    engine.is_finished = header["finished"]
    engine.promises = [[Promise(*to) for to in promises] for promises in header["promises"]]
    left = iter(sections)
    for place, stream in enumerate(config.streams):
        section = next(left)
        if section:
            schema = pa.ipc.read_schema(pa.py_buffer(section))
            engine.schemas[place] = StreamSchema(stream, schema, needed=config.columns(place))
    engine.arrivals = [
        ArrivalState(rows, bad, late, newest, _batch(next(left)))
        for rows, bad, late, newest in header["arrivals"]
    ]
    engine.late = [LateRows(_read(section) if section else None) for section in _some(left, config)]
    if header["running"]:
        engine.running = _running(engine, header, left)
    for place, count in enumerate(header["kept"]):
        engine.kept[place] = [batch for _ in range(count) if (batch := _batch(next(left))) is not None]
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
        store.refill(_read(section))
    for counts, store in zip(running.core.statistics()["streams"], running.stores, strict=True):
        if store.first != counts["expired_rows"] or store.end != counts["rows"]:
            raise SnapshotError("the payload does not have the rows of its window")
    if state is not None:
        if running.control is None:
            raise SnapshotError("a control that this join has not")
        running.control.resume(state)
    return running


def _opened(body: bytes) -> tuple[dict[str, Any], list[bytes]]:
    start = 8 + int.from_bytes(body[:8], "little")
    header = json.loads(body[8:start])
    if header.get("kind") != "multi":
        raise SnapshotError("a snapshot of another kind of join")
    sections = []
    for length in header["sections"]:
        sections.append(body[start : start + length])
        start += length
    if start != len(body):
        raise SnapshotError(f"{len(body)} bytes, expected {start}")
    return header, sections


def _plain_config(config: MultiConfig) -> dict[str, Any]:
    on = None
    if not any(pair.functions for pair in config.pairs):
        on = [[*pair.streams, [plain_leaf(leaf) for leaf in pair.on.leaves]] for pair in config.pairs]
    return {
        "streams": [{f.name: plain_value(getattr(s, f.name)) for f in fields(s)} for s in config.streams],
        "on": on,
        "tree": "auto" if config.free_tree else config.tree.nested(),
        "monitor": plain_value(config.monitor),
        "analyse_above": config.rule.analyse_above,
        "actuate_above": config.rule.actuate_above,
        "states": config.states,
        **{name: getattr(config, name) for name in _OPTIONS},
    }


_OPTIONS = ("budget", "policy", "explore", "analysis", "output", "cells")


def _config(plain: dict[str, Any], on: object) -> MultiConfig:
    streams = [Stream(**{name: value_from_plain(v) for name, v in s.items()}) for s in plain["streams"]]
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
        **{name: plain[name] for name in _OPTIONS},
    )


def _joined(leaves: list[dict[str, Any]]) -> Predicate:
    found = tuple(leaf_from_plain(leaf) for leaf in leaves)
    return found[0] if len(found) == 1 else And(found)


def _rows(batch: pa.RecordBatch | None) -> bytes:
    return b"" if batch is None else _table(pa.Table.from_batches([batch]))


def _table(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def _read(section: bytes) -> pa.Table:
    table = pa.ipc.open_stream(pa.py_buffer(section)).read_all()
    table.validate(full=True)
    return table


def _batch(section: bytes) -> pa.RecordBatch | None:
    if not section:
        return None
    batches = _read(section).combine_chunks().to_batches()
    return batches[0] if batches else None
