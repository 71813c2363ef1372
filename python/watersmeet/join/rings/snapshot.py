"""A ring join as bytes, and back. Results do not depend on how rows lie on slices, so that is not kept.

Inside the frame that the core seals: the length of a JSON header in 8 bytes, the header, then the sections
whose lengths it names, Arrow IPC streams: each stream's schema, its live rows, then batches that wait.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pyarrow as pa

from watersmeet._core import _native
from watersmeet.errors import ConfigError, SnapshotError, WatersmeetError
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.rings.config import PairTest, RingConfig, checked_ring_config
from watersmeet.join.rings.engine import RingEngine, Waiting
from watersmeet.join.two_way.configuration_json import (
    leaf_from_plain,
    plain_leaf,
    plain_value,
    value_from_plain,
)
from watersmeet.ring import OrderingState
from watersmeet.vocabulary import Stream

__all__ = ["ring_restored", "ring_snapshot"]


def ring_snapshot(engine: RingEngine) -> bytes:
    """The state of a ring join; users' functions are left out, and asked for again by restore()."""
    ready = engine.ready
    count = len(engine.config.streams)
    header = {
        "kind": "ring",
        "config": _plain_config(engine.config),
        "slices": engine.slices,
        "finished": engine.is_finished,
        "pushed": engine.pushed,
        "bad_rows": engine.bad_rows,
        "newest": engine.newest,
        "orderings": engine.orderings.orderings,
        "states": None if ready is None else [ready.core.state(stream) for stream in range(count)],
        "waiting": [[call.stream, call.instant_ns] for call in engine.waiting],
    }
    sections = [b"" if s is None else s.schema.serialize().to_pybytes() for s in engine.schemas]
    sections += [b""] * count if ready is None else [_table(store.kept()) for store in ready.stores]
    sections += [_table(pa.Table.from_batches([c.batch])) for c in engine.waiting if c.batch is not None]
    header["sections"] = [len(section) for section in sections]
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    return bytes(_native.seal(b"".join([len(text).to_bytes(8, "little"), text, *sections])))


def ring_restored(blob: Any, on: object) -> RingEngine:
    """The join that a snapshot was taken of; SnapshotError for any other bytes."""
    try:
        body = bytes(_native.unseal(bytes(memoryview(blob))))
    except TypeError:
        raise SnapshotError(f"snapshot of type {type(blob).__name__}: expected bytes") from None
    try:
        header, sections = _opened(body)
        config = _config(header["config"], on)
    except ConfigError:
        raise
    except (WatersmeetError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error
    try:
        return _engine(config, header, sections)
    except (WatersmeetError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error


def _engine(config: RingConfig, header: dict[str, Any], sections: list[bytes]) -> RingEngine:
    engine = RingEngine(config)
    count = len(config.streams)
    engine.slices, engine.is_finished = header["slices"], header["finished"]
    engine.pushed, engine.bad_rows, engine.newest = header["pushed"], header["bad_rows"], header["newest"]
    engine.orderings = OrderingState(tuple(tuple(ordering) for ordering in header["orderings"]))
    schemas, tables, batches = sections[:count], sections[count : 2 * count], iter(sections[2 * count :])
    for stream, section in enumerate(schemas):
        if section:
            schema = pa.ipc.read_schema(pa.py_buffer(section))
            engine.schemas[stream] = StreamSchema(
                config.streams[stream], schema, needed=config.columns(stream)
            )
    for stream, instant_ns in header["waiting"]:
        if instant_ns is None:
            batch = pa.ipc.open_stream(next(batches)).read_all().combine_chunks().to_batches()
            schema = engine.schemas[stream]
            assert schema is not None  # it was pushed to
            engine.waiting.append(Waiting(stream, batch=batch[0] if batch else _no_rows(schema.schema)))
        else:
            engine.waiting.append(Waiting(stream, instant_ns=instant_ns))
    if header["states"] is not None:
        engine.prepare_restored()
        for stream, (state, section) in enumerate(zip(header["states"], tables, strict=True)):
            engine.restore_rows(stream, pa.ipc.open_stream(section).read_all(), state)
    return engine


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)


def _opened(body: bytes) -> tuple[dict[str, Any], list[bytes]]:
    start = 8 + int.from_bytes(body[:8], "little")
    header = json.loads(body[8:start])
    if header.get("kind") != "ring":
        raise SnapshotError("a snapshot of another kind of join")
    sections = []
    for length in header["sections"]:
        sections.append(body[start : start + length])
        start += length
    if start != len(body):
        raise SnapshotError(f"{len(body)} bytes, expected {start}")
    return header, sections


def _plain_config(config: RingConfig) -> dict[str, Any]:
    tests = None
    if not config.has_functions:
        tests = [[test.left, test.right, plain_leaf(test.leaf)] for test in config.tests]
    return {
        "streams": [{f.name: plain_value(getattr(s, f.name)) for f in fields(s)} for s in config.streams],
        "tests": tests,
        "interleave": config.interleave,
        "slices": config.slices,
        "topology": config.topology,
        "edge": config.edge,
        "orderings": config.orderings,
    }


def _config(plain: dict[str, Any], on: object) -> RingConfig:
    streams = [
        Stream(**{name: value_from_plain(v) for name, v in stream.items()}) for stream in plain["streams"]
    ]
    if plain["tests"] is None and on is None:
        raise ConfigError(
            "restore(on=None): the join has a function of your own, which a snapshot cannot hold;"
            " give on= again"
        )
    if plain["tests"] is not None and on is not None:
        raise ConfigError("restore(on=...): the snapshot holds its predicates; expected None")
    config = checked_ring_config(
        streams,
        on=on,
        slices=plain["slices"],
        interleave=plain["interleave"],
        topology=plain["topology"],
        edge=plain["edge"],
        orderings=None,
    )
    given = plain["orderings"]
    orderings = None if given is None else tuple(tuple(ordering) for ordering in given)
    tests = config.tests
    if plain["tests"] is not None:
        tests = tuple(PairTest(left, right, leaf_from_plain(leaf)) for left, right, leaf in plain["tests"])
    return RingConfig(
        streams=config.streams,
        tests=tests,
        whole=config.whole,
        slices=config.slices,
        interleave=config.interleave,
        topology=config.topology,
        edge=config.edge,
        orderings=orderings,
    )


def _table(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
