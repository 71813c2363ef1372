"""How a ring join is run, once all types are known: terms between streams, checks, one unit of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from watersmeet._core import _native
from watersmeet.join.columns.distances import check_vector_type
from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.schema import StreamSchema, check_zones
from watersmeet.join.columns.term import TermPlan
from watersmeet.join.columns.terms import term_plan
from watersmeet.join.columns.vectors import has_native_vectors
from watersmeet.join.rings.checks import RingCheck
from watersmeet.join.rings.config import PairTest, RingConfig
from watersmeet.vocabulary import Band, Compiled, Distance, Equal, Predicate, Where

__all__ = ["RingPlan", "make_checks", "make_ring_plan", "new_ring_core", "spans_of"]


@dataclass(frozen=True, slots=True)
class RingPlan:
    """What the core of a ring join is made with, and how each stream's columns go to it."""

    unit_ns: int
    multipliers: tuple[int, ...]
    times: tuple[Handover, ...]
    terms: tuple[tuple[PairTest, TermPlan], ...]

    def handovers(self, stream: int) -> tuple[Handover, ...]:
        """The columns of one stream in the core's order: the time, then those of each term's side."""
        columns = [self.times[stream]]
        for test, term in self.terms:
            if test.left == stream:
                columns.extend(term.columns[0])
            if test.right == stream:
                columns.extend(term.columns[1])
        return tuple(columns)


def make_ring_plan(config: RingConfig, schemas: Sequence[StreamSchema]) -> RingPlan:
    """The plan for these schemas; SchemaError where columns cannot be compared."""
    check_zones(schemas)
    unit_ns = min(schema.time_ns for schema in schemas)
    times = tuple(
        Handover(stream.time, schema.kinds[stream.time], schema.time_kind)
        for stream, schema in zip(config.streams, schemas, strict=True)
    )
    terms = []
    for test in sorted(config.tests, key=lambda test: _cost(test.leaf)):
        left, right = schemas[test.left], schemas[test.right]
        if isinstance(test.leaf, Distance) and not is_native(test, schemas):
            check_vector_type(
                left.kinds[test.leaf.left], test.leaf, about=f"{left.about}: column {test.leaf.left!r}"
            )
            check_vector_type(
                right.kinds[test.leaf.right], test.leaf, about=f"{right.about}: column {test.leaf.right!r}"
            )
        elif not isinstance(test.leaf, Where):
            names = (config.names[test.left], config.names[test.right])
            terms.append((test, term_plan(test.leaf, (left.kinds, right.kinds), names)))
    return RingPlan(unit_ns, tuple(schema.time_ns // unit_ns for schema in schemas), times, tuple(terms))


def is_native(test: PairTest, schemas: Sequence[StreamSchema]) -> bool:
    """Whether the core can compare the vectors of a distance: those whose type says how long they are."""
    leaf = test.leaf
    assert isinstance(leaf, Distance)
    return has_native_vectors((schemas[test.left].kinds[leaf.left], schemas[test.right].kinds[leaf.right]))


def _cost(leaf: Predicate) -> int:
    """The core tests a pair in this order: the cheap terms first."""
    if isinstance(leaf, Equal | Band):
        return 0
    return 2 if isinstance(leaf, Compiled | Distance) else 1


def make_checks(config: RingConfig, plan: RingPlan) -> list[RingCheck]:
    """What is decided outside the core, the cheap ones first."""
    checks = [
        RingCheck.of_band(term.exact, (test.left, test.right), term.label)
        for test, term in plan.terms
        if term.exact is not None
    ]
    native = {test for test, _ in plan.terms}
    for test in config.tests:
        if isinstance(test.leaf, Distance) and test not in native:
            checks.append(RingCheck.of_distance(test.leaf, (test.left, test.right)))
    for test in config.tests:
        if isinstance(test.leaf, Where):
            checks.append(RingCheck.of_where(test.leaf, (test.left, test.right)))
    if config.whole is not None:
        checks.append(RingCheck.of_where(config.whole, tuple(range(len(config.streams)))))
    return checks


def new_ring_core(
    config: RingConfig, plan: RingPlan, checks: list[list[int]], *, slices: int, lengths: tuple[int, ...]
) -> Any:
    """A fresh core for this plan; `lengths` of each stream's ring, () for `slices` of every one."""
    streams = []
    spans = spans_of(config, plan)
    for stream, multiplier, span, length in zip(
        config.streams, plan.multipliers, spans, lengths or (0,) * len(spans), strict=True
    ):
        window = stream.window
        assert window is not None  # the configuration was checked
        streams.append(
            _native.SliceStream(
                stream.name,
                time_column=stream.time,
                time_multiplier=multiplier,
                window_rows=window.rows,
                span=span,
                slices=length,
            )
        )
    schedule_seed, delay_seed = config.test_seeds
    return _native.SliceJoin(
        streams,
        [(test.left, test.right, term.native()) for test, term in plan.terms],
        checks=checks,
        inclusive=config.edge == "inclusive",
        ordered=config.order is not None,
        topology=config.topology,
        slices=slices,
        interleave=config.interleave,
        schedule_seed=schedule_seed,
        delay_seed=delay_seed,
    )


def spans_of(config: RingConfig, plan: RingPlan) -> list[int]:
    """The windows of time in the core's unit; 0 for those that count rows."""
    windows = [stream.window for stream in config.streams if stream.window is not None]
    return [0 if w.is_rows else _span(w.amount, plan.unit_ns, config.edge) for w in windows]


def _span(amount_ns: int, unit_ns: int, edge: str) -> int:
    """Whole units: ages up to the window (inclusive), or below it (exclusive: rounded up)."""
    span = amount_ns // unit_ns if edge == "inclusive" else -(-amount_ns // unit_ns)
    return min(span, 2**63 - 1)
