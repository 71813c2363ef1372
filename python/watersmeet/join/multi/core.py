"""From the schemas of several streams to the core that joins them, and to how their columns go there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet._core import _native
from watersmeet.join.columns.candidates import make_keep
from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.intake import handed_over
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.join.columns.schema import StreamSchema, check_zones
from watersmeet.join.columns.term import TermPlan
from watersmeet.join.columns.terms import term_plan
from watersmeet.join.multi.config import MultiConfig, Pair
from watersmeet.plan import Tree
from watersmeet.vocabulary import Stream
from watersmeet.vocabulary.duration import INT64_MAX, NANOSECONDS

__all__ = ["CorePlan", "KeepPairs", "make_core_plan", "make_keep_pairs", "tree_inputs"]

_CARRIED = 2.0  # cycles that an unused allowance is kept for its own half-way join, before others may have it
KeepPairs = Callable[[int, Rows, Rows], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class CorePlan:
    """What the core is made with: the unit of time, and each pair's terms."""

    config: MultiConfig
    schemas: tuple[StreamSchema | None, ...]
    unit_ns: int
    terms: tuple[tuple[TermPlan, ...], ...]  # per pair

    def handovers(self, stream: int) -> tuple[Handover, ...]:
        """The columns of one stream in the core's order: the time, then those of each of its pairs."""
        schema = self.schemas[stream]
        assert schema is not None  # its batches are handed over
        name = self.config.streams[stream].time
        columns = [Handover(name, schema.kinds[name], schema.time_kind)]
        for pair, terms in zip(self.config.pairs, self.terms, strict=True):
            if stream in pair.streams:
                side = pair.streams.index(stream)
                columns += [column for term in terms for column in term.columns[side]]
        return tuple(columns)

    def core_batch(self, stream: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A stream's batch as the core reads it."""
        schema = self.schemas[stream]
        assert schema is not None
        arrays = handed_over(batch, self.handovers(stream), about=schema.about)
        return pa.RecordBatch.from_arrays(arrays.columns, names=[str(at) for at in range(arrays.num_columns)])

    @property
    def is_opaque(self) -> bool:
        """Whether candidates are shown to functions or exact bands, which need the rows' columns."""
        terms = [term for pair in self.terms for term in pair]
        return any(pair.functions for pair in self.config.pairs) or any(term.exact for term in terms)

    def step_ns(self, stream: int) -> int:
        """The unit of a stream's time column."""
        schema = self.schemas[stream]
        assert schema is not None
        return schema.time_ns

    def new_core(self, tree: Tree, *, track_ages: bool) -> Any:
        """A fresh core."""
        pairs = [
            _native.TreePair(
                pair.streams,
                [term.native() for term in terms],
                opaque=bool(pair.functions) or any(term.exact is not None for term in terms),
            )
            for pair, terms in zip(self.config.pairs, self.terms, strict=True)
        ]
        return _native.TreeJoin(
            [self._stream(place, stream) for place, stream in enumerate(self.config.streams)],
            pairs,
            joins=tree_inputs(tree, self.config.names),
            state_rows=list((self.config.states or {}).values()),
            cycle=max(1, NANOSECONDS["s"] // self.unit_ns),
            shares_spare=self.config.policy == "jaqpot",
            carried_cycles=_CARRIED if self.config.policy == "jaqpot" else 10.0,
            track_ages=track_ages,
        )

    def _stream(self, place: int, stream: Stream) -> Any:
        window, freshness = stream.window, stream.freshness
        assert window is not None  # the configuration was checked
        schema = self.schemas[place]
        return _native.TreeStream(
            stream.name,
            time_column=stream.time,
            time_multiplier=1 if schema is None else schema.time_ns // self.unit_ns,
            window_rows=window.rows,
            window=0 if window.is_rows else window.amount // self.unit_ns,
            freshness=None if freshness is None else min(freshness.amount // self.unit_ns, INT64_MAX),
        )


def make_core_plan(config: MultiConfig, schemas: Sequence[StreamSchema | None]) -> CorePlan:
    """The plan for the schemas known so far; SchemaError where two streams cannot be joined. Terms of which
    neither stream is known are left out: such a plan only serves to check batches.
    """
    check_zones(schemas)
    unit_ns = min(schema.time_ns for schema in schemas if schema is not None)
    terms = tuple(_terms(config, pair, schemas) for pair in config.pairs)
    return CorePlan(config, tuple(schemas), unit_ns, terms)


def _terms(config: MultiConfig, pair: Pair, schemas: Sequence[StreamSchema | None]) -> tuple[TermPlan, ...]:
    known = [schemas[stream] for stream in pair.streams]
    if known == [None, None]:
        return ()
    kinds = [None if schema is None else schema.kinds for schema in known]
    names = [config.names[stream] for stream in pair.streams]
    return tuple(term_plan(leaf, (kinds[0], kinds[1]), (names[0], names[1])) for leaf in pair.terms)


def make_keep_pairs(plan: CorePlan, stores: Sequence[PayloadStore]) -> KeepPairs | None:
    """What the core asks of candidates: exact bands and the users' functions, pair by pair."""
    checks = {}
    for place, (pair, terms) in enumerate(zip(plan.config.pairs, plan.terms, strict=True)):
        exact = tuple(term.exact for term in terms if term.exact is not None)
        first, second = (stores[stream] for stream in pair.streams)
        check = make_keep(exact, pair.functions, (first, second))
        if check is not None:
            checks[place] = check
    if not checks:
        return None
    return lambda pair, first, second: checks[pair](first, second)


def tree_inputs(tree: Tree, names: Sequence[str]) -> list[tuple[int, int]]:
    """The tree as the core takes it: joins in order, inputs as streams or earlier joins."""
    numbers = {name: place for place, name in enumerate(names)}
    numbers |= {join.name: len(names) + place for place, join in enumerate(tree.joins)}
    inputs = []
    for join in tree.joins:
        assert join.inputs is not None
        inputs.append((numbers[join.inputs[0].name], numbers[join.inputs[1].name]))
    return inputs
