"""A ring join as bytes, and back. Results do not depend on how rows lie on slices, so that is not kept.

In the frame of every join's snapshot: each stream's schema, its live rows, batches that wait, late rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import ConfigError, SnapshotError
from watersmeet.join.columns import frame
from watersmeet.join.columns.late import LateRows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.rings.config import PairTest, RingConfig, checked_ring_config
from watersmeet.join.rings.engine import RingEngine
from watersmeet.join.shedding.state import plain_shed, shed_from_plain
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
from watersmeet.ring import OrderingState

__all__ = ["ring_restored", "ring_snapshot"]


def ring_snapshot(engine: RingEngine) -> bytes:
    """The state of a ring join; users' functions are left out, and asked for again by restore()."""
    ready, sources = engine.ready, engine.sources
    count = len(engine.config.streams)
    kept = engine.kept.with_more(())
    late = [
        sources.late[at].table(None if schema is None else schema.schema)
        for at, schema in enumerate(engine.schemas)
    ]
    header = {
        "kind": "ring",
        "config": _plain_config(engine.config),
        "slices": engine.slices,
        "lengths": engine.lengths,
        "finished": engine.is_finished,
        "sources": sources.plain(),
        "admitted": engine.admitted,
        "found": engine.found,
        "synchronised": engine.is_synchronised,
        "pace": engine.pace.plain(),
        "orderings": engine.orderings.orderings,
        "states": None if ready is None else [_state(ready, stream) for stream in range(count)],
        "kept": [[each.stream, each.came.tolist()] for each in kept],
        "expired": engine.kept.expired,
        "shed": None if engine.config.shed is None else plain_shed(engine.config.shed),
        "seed": engine.config.seed,
    }
    sections = [frame.bytes_of_schema(schema) for schema in engine.schemas]
    sections += [frame.bytes_of_rows(store) for store in (ready.stores if ready else [None] * count)]
    sections += [frame.bytes_of_batch(batch) for batch in sources.waiting()]
    sections += [frame.bytes_of_table(table) if table.num_rows else b"" for table in late]
    sections.append(b"" if ready is None or ready.held is None else ready.held.snapshot())
    sections.append(b"" if ready is None or ready.shedding is None else ready.shedding.snapshot(ready.core))
    sections += [frame.bytes_of_batch(each.batch) for each in kept]
    return frame.sealed(header, sections)


def _state(ready: Any, stream: int) -> dict[str, Any]:
    """What the core knows of a stream, its rows counted from the first whose payload is kept: held results
    may be of rows that have left the window.
    """
    state: dict[str, Any] = ready.core.state(stream)
    return state | {"first": ready.stores[stream].first}


def ring_restored(blob: Any, on: object, clock: Clock | None = None) -> RingEngine:
    """The join that a snapshot was taken of; SnapshotError for any other bytes."""
    body = frame.unsealed(blob)
    try:
        header, sections = frame.opened(body, "ring")
        config = _config(header["config"], on)
        shed = None if header["shed"] is None else shed_from_plain(header["shed"])
        config = replace(config, shed=shed, seed=header["seed"])
    except ConfigError:
        raise
    except frame.BROKEN as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error
    try:
        return _engine(config, header, sections, clock)
    except frame.BROKEN as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error


def _engine(
    config: RingConfig, header: dict[str, Any], sections: list[bytes], clock: Clock | None
) -> RingEngine:
    engine = RingEngine(config, clock)
    count = len(config.streams)
    engine.slices, engine.is_finished = header["slices"], header["finished"]
    engine.lengths = tuple(header.get("lengths", ()))
    if engine.gauge is not None:
        engine.gauge.set_by_hand(engine.slices)
    engine.admitted, engine.is_synchronised = header["admitted"], header["synchronised"]
    engine.found_before = header["found"]
    engine.orderings = OrderingState(tuple(tuple(ordering) for ordering in header["orderings"]))
    engine.pace.resume(header["pace"])
    groups = [sections[at * count : (at + 1) * count] for at in range(4)]
    schemas, tables, waiting, late = groups
    held, shedding, *kept = sections[4 * count :]
    for stream, section in enumerate(schemas):
        if section:
            schema = pa.ipc.read_schema(pa.py_buffer(section))
            engine.schemas[stream] = StreamSchema(
                config.streams[stream], schema, needed=config.columns(stream)
            )
    engine.sources.resume(header["sources"], [frame.batch_of(section) for section in waiting])
    engine.sources.late = [LateRows(frame.table_of(section) if section else None) for section in late]
    engine.kept.expired = header["expired"]
    engine.kept.keep(
        tuple(
            Ready(stream, frame.batch_of(section), np.array(came, np.int64))
            for (stream, came), section in zip(header["kept"], kept, strict=True)
        )
    )
    if header["states"] is not None:
        engine.prepare_restored(held, shedding)
        for stream, (state, section) in enumerate(zip(header["states"], tables, strict=True)):
            engine.restore_rows(stream, frame.table_of(section), state)
    return engine


def _plain_config(config: RingConfig) -> dict[str, Any]:
    tests = None
    if not config.has_functions:
        tests = [[test.left, test.right, plain_leaf(test.leaf)] for test in config.tests]
    return {
        "streams": [plain_stream(stream) for stream in config.streams],
        "tests": tests,
        "interleave": config.interleave,
        "slices": "auto" if config.auto else config.slices,
        "topology": config.topology,
        "edge": config.edge,
        "orderings": config.orderings,
        "order": plain_value(config.order),
        "memory_limit": config.memory_limit,
    }


def _config(plain: dict[str, Any], on: object) -> RingConfig:
    streams = [stream_from_plain(stream) for stream in plain["streams"]]
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
        order=value_from_plain(plain["order"]),
        memory_limit=plain["memory_limit"],
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
        lengths=config.lengths,
        auto=config.auto,
        interleave=config.interleave,
        topology=config.topology,
        edge=config.edge,
        orderings=orderings,
        order=config.order,
        memory_limit=config.memory_limit,
    )
