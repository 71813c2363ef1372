"""The core's counters as the metrics that users read."""

from __future__ import annotations

from typing import Any

from watersmeet.vocabulary import DirectionStatistics, Estimate, Metrics, StreamStatistics

__all__ = ["metrics_of"]


def metrics_of(
    names: tuple[str, str], counted: dict[str, Any] | None, payload_bytes: tuple[int, int]
) -> Metrics:
    """A frozen copy of the counters; all zero before there is a core."""
    if counted is None:
        return Metrics(
            streams=tuple(StreamStatistics(name) for name in names),
            directions=(DirectionStatistics(), DirectionStatistics()),
        )
    streams = []
    for name, stream, payload in zip(names, counted["streams"], payload_bytes, strict=True):
        window_bytes = stream.pop("window_bytes") + payload
        streams.append(StreamStatistics(name, window_bytes=window_bytes, **stream))
    return Metrics(
        results=counted["results"],
        streams=tuple(streams),
        directions=tuple(DirectionStatistics(**direction) for direction in counted["directions"]),
        held_results=counted["held"],
        memory_bytes=counted["bytes"] + sum(payload_bytes),
        recall=counted.get("recall", Estimate.exactly(1.0)),
    )
