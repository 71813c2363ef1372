"""How a join is run, and why: its configuration, its windows as the advisor sees them, counters and clock."""

from __future__ import annotations

from typing import Final

from watersmeet.cost import (
    DirectionLoad,
    DirectionPlan,
    Explanation,
    Kind,
    Structure,
    explain_direction,
    observed_loads,
    stream_cost,
)
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.join.two_way.engine import Engine
from watersmeet.vocabulary import Metrics

__all__ = ["explain"]

_ELEMENT_BYTES: Final = {"byte": 1, "float": 4, "real": 8, "word": 8}
_Loads = tuple[DirectionLoad, DirectionLoad]


def explain(engine: Engine) -> Explanation:
    """Explain a join as it stands: predictions are for what its counters have seen so far."""
    config, metrics = engine.config, engine.metrics()
    seconds = engine.stream_s(metrics)
    loads = None
    if seconds:
        items = _vector_words(engine)
        loads = observed_loads(engine.advisor.kind, Metrics(), metrics, seconds=seconds, items=(items, items))
    return Explanation(
        title=f"{config.how} join of {config.names[0]} and {config.names[1]} on {_predicate(config)}",
        facts=_facts(engine),
        directions=tuple(_direction(engine, metrics, loads, side, seconds) for side in (0, 1)),
        calibrated=engine.advisor.unit_costs.measured,
    )


def _vector_words(engine: Engine) -> float:
    """Words of eight bytes in a vector, where a distance finds the pairs; else 1."""
    plan = engine.setup.plan
    term = plan.terms[0] if plan is not None and plan.terms else None
    return term.width * _ELEMENT_BYTES[term.element] / 8.0 if term is not None and term.width else 1.0


def _facts(engine: Engine) -> tuple[str, ...]:
    config, division = engine.config, engine.division
    driver = "every pair in the window" if division.driver is None else str(division.driver)
    facts = [f"candidates by {driver}: {division.reason}"]
    if division.terms[1:]:
        facts.append(f"then checked: {', '.join(map(str, division.terms[1:]))}")
    if division.functions:
        facts.append(f"then asked, in blocks: {', '.join(map(str, division.functions))}")
    order = config.order if engine.pace is None else engine.pace.facts()["order"]
    facts.append("results as they are found" if order is None else f"results by time ({order})")
    if engine.memory is not None:
        facts.append(_memory(engine))
    facts += [
        f"after {change.at_s:.3g} s the window of {change.stream} became {change.index}: {change.reason}"
        for change in engine.advisor.changes
    ]
    return tuple(facts)


def _memory(engine: Engine) -> str:
    assert engine.memory is not None
    beyond = "windows shrink" if engine.memory.may_shrink else "batches are refused"
    metrics = engine.metrics()
    given_up = sum(stream.evicted_rows + stream.dropped_rows for stream in metrics.streams)
    return (
        f"memory: {metrics.memory_bytes:,} of {engine.memory.limit:,} bytes, beyond which {beyond};"
        f" {given_up:,} rows given up so far, share of the answer {metrics.recall}"
    )


def _direction(
    engine: Engine, metrics: Metrics, loads: _Loads | None, side: int, seconds: float
) -> DirectionPlan:
    other, advisor = 1 - side, engine.advisor
    row_s = engine.stopwatch.row_s(side)
    kept = _kept(engine, loads)
    predicted = _predicted(engine, loads, kept, side)
    return explain_direction(
        None if loads is None else loads[other],
        names=(engine.config.names[side], engine.config.names[other]),
        unit_costs=advisor.unit_costs,
        structure=_named(engine, other) if kept is None else kept[other],
        asked=advisor.asked[other],
        predicted=predicted,
        measured=None if row_s is None or not seconds else row_s * metrics.streams[side].rows / seconds,
        notes=(
            f"window: {_window(engine.config, other)}",
            *_work(metrics, side),
            *(() if predicted is None else _unpriced_part(advisor.kind)),
        ),
    )


def _unpriced_part(kind: Kind) -> tuple[str, ...]:
    if kind == "where":
        return ("predicted without the function's own time",)
    if kind.startswith("distance/"):
        return ("predicted as if every vector were looked at to its end",)
    return ()


def _predicted(
    engine: Engine, loads: _Loads | None, kept: tuple[Structure, Structure] | None, side: int
) -> float | None:
    if loads is None or kept is None:
        return None
    return stream_cost(side, loads, structures=kept, unit_costs=engine.advisor.unit_costs)


def _kept(engine: Engine, loads: _Loads | None) -> tuple[Structure, Structure] | None:
    """What the windows are kept as, where the model knows both."""
    if loads is None:
        return None
    first, second = (engine.advisor.structure(window, loads[window]) for window in (0, 1))
    return None if first is None or second is None else (first, second)


def _named(engine: Engine, window: int) -> Structure:
    names: dict[str, Structure] = {
        "scan": "scan",
        "hash": "hash",
        "inverted": "inverted/count",
        "inverted-by-id": "inverted-by-id",
    }
    return names[engine.advisor.index[window]]


def _work(metrics: Metrics, side: int) -> tuple[str, ...]:
    done = metrics.directions[side]
    counts = (("comparisons", done.comparisons), ("postings", done.postings), ("look-ups", done.lookups))
    each = [f"{count / done.probes:,.2f} {what}" for what, count in counts if count and done.probes]
    return (f"per row so far: {', '.join(each)}",) if each else ()


def _predicate(config: JoinConfig) -> str:
    return "every pair" if config.on is None else str(config.on)


def _window(config: JoinConfig, side: int) -> str:
    if config.between is not None:
        return f"between {config.between[0]} and {config.between[1]}"
    return str(config.streams[side].window)
