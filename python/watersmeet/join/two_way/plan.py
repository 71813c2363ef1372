"""How a join is run, once types are known: the core's terms, its one unit of time, and what goes to it.

Types come with the first batch of each stream, so a plan is first made from one side, the other being taken
to be alike, and made again when the other side comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from watersmeet._core import _native
from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.schema import StreamSchema, check_zones
from watersmeet.join.columns.term import TermPlan
from watersmeet.join.columns.terms import term_plan
from watersmeet.join.shedding.build import new_shedding_core
from watersmeet.join.timing.slack import WIDEST
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.join.two_way.split import Split
from watersmeet.vocabulary import AdaptiveOrder, Lateness, Span
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["Plan", "make_plan", "new_core"]

INT64_MAX: Final = 2**63 - 1
Schemas = tuple[StreamSchema | None, StreamSchema | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a core must be made with, and how each side's columns go to it."""

    unit_ns: int
    multipliers: tuple[int, int]  # from each time column's unit to the join's
    times: tuple[Handover, Handover]
    terms: tuple[TermPlan, ...]

    def same_core(self, other: Plan, side: int) -> bool:
        """Whether a core made for the other plan, and given this side's rows, can go on under this plan."""
        return (
            (self.unit_ns, self.multipliers) == (other.unit_ns, other.multipliers)
            and self.times[side] == other.times[side]
            and all(one.same_core(two, side) for one, two in zip(self.terms, other.terms, strict=True))
        )

    def handovers(self, side: int) -> tuple[Handover, ...]:
        """The columns of one side in the core's order: the time, then each term's."""
        return (self.times[side], *(column for term in self.terms for column in term.columns[side]))


def make_plan(config: JoinConfig, division: Split, schemas: Schemas) -> Plan:
    """The plan for the schemas known so far (at least one); SchemaError where they cannot be joined."""
    check_zones(schemas)
    known = next(schema for schema in schemas if schema is not None)
    steps = [_time_ns(config, side, schema or known) for side, schema in enumerate(schemas)]
    unit_ns = min(steps)
    times = tuple(
        Handover(
            stream.time,
            (schema or known).kinds[stream.time] if schema else known.time_kind,
            (schema or known).time_kind,
        )
        for stream, schema in zip(config.streams, schemas, strict=True)
    )
    kinds = tuple(None if schema is None else schema.kinds for schema in schemas)
    return Plan(
        unit_ns=unit_ns,
        multipliers=(steps[0] // unit_ns, steps[1] // unit_ns),
        times=(times[0], times[1]),
        terms=tuple(term_plan(leaf, (kinds[0], kinds[1]), config.names) for leaf in division.terms),
    )


def _time_ns(config: JoinConfig, side: int, schema: StreamSchema) -> int:
    if pa.types.is_timestamp(schema.time_kind):
        return schema.time_ns
    return NANOSECONDS[config.streams[side].time_unit]


def new_core(config: JoinConfig, division: Split, plan: Plan) -> Any:
    """A fresh core for this plan."""
    lower, upper = _bounds(config, plan.unit_ns)
    if config.shed is not None:
        streams = (_stream(config, division, plan, 0), _stream(config, division, plan, 1))
        terms = [term.native() for term in plan.terms]
        return new_shedding_core(
            config,
            division,
            terms,
            streams,
            unit_ns=plan.unit_ns,
            multipliers=plan.multipliers,
            bounds=(lower, upper),
        )
    core = _native.Join(
        [term.native() for term in plan.terms],
        (_stream(config, division, plan, 0), _stream(config, division, plan, 1)),
        lower=lower,
        upper=upper,
        how=config.how,
        order=config.order or "none" if not isinstance(config.order, AdaptiveOrder) else "filter-order",
        threads=config.threads,
        share_all=config.share_all,
    )
    if isinstance(config.order, AdaptiveOrder):
        core.set_synchronised(True)  # Sync-Filter, until the load is known
    return core


def _stream(config: JoinConfig, division: Split, plan: Plan, side: int) -> Any:
    stream = config.streams[side]
    lateness = stream.lateness
    basic = config.basic_window
    freshness = stream.freshness
    return _native.StreamConfig(
        stream.name,
        time_column=stream.time,
        time_multiplier=plan.multipliers[side],
        window_rows=None if stream.window is None else stream.window.rows,
        freshness=None if freshness is None else min(freshness.amount // plan.unit_ns, INT64_MAX),
        basic_span=0 if basic is None else max(1, basic.amount // plan.unit_ns),
        lateness=None if lateness is None else _first_lateness(lateness, plan.unit_ns),
        raise_late=stream.on_late == "raise",
        index=division.index[side],
        merge=config.merge,
        lazy_expiry=config.expiry == "lazy",
    )


def _first_lateness(lateness: Span | Lateness, unit_ns: int) -> int:
    """The bound in force before a row has come."""
    span = lateness.at_most if isinstance(lateness, Lateness) else lateness
    return WIDEST if span is None else span.amount // unit_ns


def _bounds(config: JoinConfig, unit_ns: int) -> tuple[int, int]:
    """The range of ts_right - ts_left in the join's unit: whole units that lie inside the span."""
    low, high = config.apart_ns
    return 0 if low is None else -(-low // unit_ns), 0 if high is None else high // unit_ns
