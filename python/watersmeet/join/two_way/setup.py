"""What a join has made of the schemas it has seen: plan, core, ways in, payload, outputs.

A setup is replaced as a whole when a stream's first batch comes, and put back if that push fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.join.columns.candidates import Keep, make_keep
from watersmeet.join.columns.instants import in_unit
from watersmeet.join.columns.intake import Intake, handed_over
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.join.columns.schema import StreamSchema
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.join.two_way.plan import Plan, make_plan, new_core
from watersmeet.join.two_way.results import Results
from watersmeet.join.two_way.split import Split

__all__ = [
    "Adjusted",
    "Advanced",
    "Call",
    "Pushed",
    "Setup",
    "extended",
    "first_setup",
    "store_names",
    "with_core",
]


@dataclass(frozen=True, slots=True)
class Pushed:
    """A push made while only one stream is known: its join columns as they came."""

    side: int
    batch: pa.RecordBatch
    extra: Mapping[str, Any] = field(default_factory=dict)  # arrival and types, where they matter


@dataclass(frozen=True, slots=True)
class Advanced:
    """A promise made while not both streams are known."""

    side: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A setting changed while not both streams are known. A lateness is in nanoseconds."""

    what: str  # "idle", "lateness", "synchronised", "end", or "poll", which only lets others take effect
    side: int
    value: int

    def apply(self, core: Any, plan: Plan) -> list[Rows]:
        """Make the change; returns the rows that come out of it."""
        if self.what == "idle":
            core.set_idle(self.side, bool(self.value))
        elif self.what == "lateness":
            core.set_lateness(self.side, self.value // plan.unit_ns)
        elif self.what == "synchronised":
            core.set_synchronised(bool(self.value))
        elif self.what == "end":
            return list(core.finish(None, self.side))
        else:
            return list(core.poll(None))
        return []


Call = Pushed | Advanced | Adjusted
Schemas = tuple[StreamSchema | None, StreamSchema | None]
Stores = tuple[PayloadStore | None, PayloadStore | None]


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that depends on the streams' schemas. The core and the stores change, the rest does not."""

    schemas: Schemas
    plan: Plan | None
    core: Any
    intakes: tuple[Intake | None, Intake | None]
    stores: Stores
    keep: Keep | None
    results: Results
    # Both streams are known, none of a result's rows is missing, and what results are made of is
    gives_pairs: bool = False  # row numbers
    gives_columns: bool = False  # columns of fixed width, of pairs that no function is asked about

    def step_ns(self, side: int) -> int:
        """Nanoseconds that one step of a stream's time column is in the core."""
        return self.plan.multipliers[side] * self.plan.unit_ns if self.plan is not None else 1

    @property
    def is_decided(self) -> bool:
        """Whether both streams' types are known, so that the plan is final."""
        return self.schemas[0] is not None and self.schemas[1] is not None


def first_setup(config: JoinConfig) -> Setup:
    """Before anything has come."""
    nothing = (None, None)
    return Setup(nothing, None, None, nothing, nothing, None, Results(config, nothing))


def extended(
    old: Setup,
    config: JoinConfig,
    division: Split,
    *,
    side: int,
    schema: StreamSchema,
    log: list[Call] | None,
) -> tuple[Setup, Rows]:
    """The setup when this stream's schema is known too, and the rows of the other stream that it releases.

    `log` is None once calls are no longer remembered.
    """
    schemas = _placed(old.schemas, side, schema)
    plan = make_plan(config, division, schemas)
    released = np.empty(0, np.int64)
    if old.plan is not None and plan.same_core(old.plan, 1 - side):
        core = old.core
    elif log is None:
        raise _too_late(config, side)
    else:
        core, found = _replayed(config, division, plan, schemas, log)
        if old.plan is not None and len(found):
            # In a finer unit a promise may reach further, and release rows that it did not release before.
            released = np.setdiff1d(found, _replayed(config, division, old.plan, old.schemas, log)[1])
    left, right = (
        _store(old.stores[place], config, division, plan, place, schemas[place], log) for place in (0, 1)
    )
    return with_core(config, division, schemas, plan, core, (left, right)), released


def with_core(
    config: JoinConfig, division: Split, schemas: Schemas, plan: Plan, core: Any, stores: Stores
) -> Setup:
    """A setup of these parts, with everything that follows from them."""
    intakes = tuple(
        None if schema is None else Intake(schema, plan.handovers(side))
        for side, schema in enumerate(schemas)
    )
    exact = tuple(term.exact for term in plan.terms if term.exact is not None)
    kept = tuple(None if store is None else store.schema for store in stores)
    keep = make_keep(exact, division.functions, stores)
    is_plain = config.how == "inner" and config.shed is None and None not in schemas
    as_rows = config.output == "rows"
    return Setup(
        schemas=schemas,
        plan=plan,
        core=core,
        intakes=(intakes[0], intakes[1]),
        stores=stores,
        keep=keep,
        results=Results(config, (kept[0], kept[1])),
        gives_pairs=is_plain and as_rows and stores == (None, None),
        gives_columns=(
            is_plain
            and not as_rows
            and keep is None
            and all(store is not None and store.is_fixed for store in stores)
        ),
    )


def store_names(
    config: JoinConfig, division: Split, plan: Plan, side: int, schema: pa.Schema
) -> Sequence[str]:
    """The columns of one side that must be kept: all, those of exact bands, or none."""
    shown = config.output == "columns" and (side == 0 or config.how not in ("semi", "anti"))
    if shown or division.functions:
        return list(schema.names)
    bands = [term.exact for term in plan.terms if term.exact is not None]
    return list(dict.fromkeys(band.left if side == 0 else band.right for band in bands))


def _store(
    old: PayloadStore | None,
    config: JoinConfig,
    division: Split,
    plan: Plan,
    side: int,
    schema: StreamSchema | None,
    log: list[Call] | None,
) -> PayloadStore | None:
    if schema is None:
        return None
    names = store_names(config, division, plan, side, schema.schema)
    if not names:
        return None
    if old is not None and old.schema.names == names:
        return old
    pushed = [call.batch for call in log or () if isinstance(call, Pushed) and call.side == side]
    store = PayloadStore(
        pushed[0].schema if pushed else schema.schema,
        names,
        about=schema.about,
        limit=config.memory_limit,
    )
    for batch in pushed:
        store.append(batch)
        store.commit()
    store.read_from(schema.schema)
    return store


def _replayed(
    config: JoinConfig, division: Split, plan: Plan, schemas: Schemas, log: list[Call]
) -> tuple[Any, Rows]:
    """A core to which the remembered calls were made, and the rows (of the known stream) that came out."""
    core, found = new_core(config, division, plan), [np.empty(0, np.int64)]
    for call in log:
        schema = schemas[call.side]
        if isinstance(call, Adjusted):
            found += call.apply(core, plan)
        elif isinstance(call, Advanced):
            to = in_unit(call.to_ns, plan.unit_ns, is_known=schema is not None)
            found += core.advance(call.side, to, None)
        else:
            assert schema is not None  # it has been pushed to
            batch = handed_over(call.batch, plan.handovers(call.side), about=schema.about)
            found += core.push(call.side, batch, None, **call.extra)[:2]
    rows = np.concatenate(found)
    return core, rows[rows >= 0]


def _placed(schemas: Schemas, side: int, schema: StreamSchema) -> Schemas:
    return (schema, schemas[1]) if side == 0 else (schemas[0], schema)


def _too_late(config: JoinConfig, side: int) -> SchemaError:
    own, other = config.names[side], config.names[1 - side]
    return SchemaError(
        f"stream {own!r}: its types need another form of the rows of stream {other!r}, some of which have"
        f" left the window already; push an empty batch of {own!r} first, to declare its types"
    )
