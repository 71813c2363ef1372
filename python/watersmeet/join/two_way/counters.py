"""The core's counters as the metrics that users read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from watersmeet.vocabulary import DirectionStatistics, Estimate, Metrics, StreamStatistics

if TYPE_CHECKING:
    from watersmeet.join.two_way.engine import Engine

__all__ = ["metrics_of"]

_NEVER: Final = -(2**63)  # the watermark of a stream of which nothing has come


def metrics_of(engine: Engine) -> Metrics:
    """A frozen copy of the counters; all zero before there is a core."""
    names, pace, payload_bytes = engine.config.names, engine.pace, engine.payload_bytes()
    counted = engine.counted()
    facts = {} if pace is None else pace.facts()
    if counted is None:
        return Metrics(
            streams=tuple(StreamStatistics(name) for name in names),
            directions=(DirectionStatistics(), DirectionStatistics()),
            **facts,
        )
    streams: list[StreamStatistics] = []
    for name, stream, payload in zip(names, counted["streams"], payload_bytes, strict=True):
        window_bytes = stream.pop("window_bytes") + payload
        stream |= {} if pace is None else _timing(engine, len(streams))
        streams.append(StreamStatistics(name, window_bytes=window_bytes, **stream))
    return Metrics(
        results=counted["results"],
        streams=tuple(streams),
        directions=tuple(DirectionStatistics(**direction) for direction in counted["directions"]),
        held_results=counted["held"],
        memory_bytes=counted["bytes"] + sum(payload_bytes),
        recall=counted.get("recall", Estimate.exactly(1.0)),
        held_bytes=counted.get("held_bytes", 0),
        **facts,
    )


def _timing(engine: Engine, side: int) -> dict[str, Any]:
    """How a stream stands against the others."""
    pace, plan, core = engine.pace, engine.setup.plan, engine.setup.core
    assert pace is not None
    assert plan is not None  # there is a core
    streams = core.progress()[2]
    newest, watermark = max(stream[1] for stream in streams), streams[side][2]
    behind = None if watermark == _NEVER else max(0, newest - watermark) * plan.unit_ns / 1e9
    lateness_s = pace.lateness_s(side)
    return {"idle": pace.idle[side], "behind_s": behind, "lateness_s": lateness_s}
