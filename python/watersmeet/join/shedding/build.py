"""From a join's configuration to a core that sheds."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from watersmeet._core import _native
from watersmeet.control import BacklogRule, GedikRule, RateRule
from watersmeet.errors import SchemaError
from watersmeet.join.shedding.core import LEAST_SAMPLE_SHARE, SheddingCore
from watersmeet.join.shedding.layout import Layout, chosen_policy, layout_of, type_codes
from watersmeet.join.shedding.policies import (
    AutoPolicy,
    ContentPolicy,
    DensityPolicy,
    DropPolicy,
    PublishedPolicy,
    SheddingPolicy,
    Worth,
)
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.join.two_way.split import Split
from watersmeet.vocabulary import Comparisons, Shed

__all__ = ["new_shedding_core", "policy_for", "shedding_extra"]


def new_shedding_core(
    config: JoinConfig,
    division: Split,
    terms: list[Any],
    streams: tuple[Any, Any],
    *,
    unit_ns: int,
    multipliers: tuple[int, int],
    bounds: tuple[int, int],
) -> SheddingCore:
    """A fresh core; `terms` and `streams` are the compiled join's own, `multipliers` lead to its unit."""
    shed = config.shed
    assert shed is not None  # this is what it is for
    policy = chosen_policy(shed, division.driver, is_opaque=bool(division.functions))
    layout = layout_of(config, shed, unit_ns=unit_ns, bounds=bounds, policy=policy)
    budget = shed.budget if isinstance(shed.budget, Comparisons) else None
    costs = (1.0,) * 4 if budget is None else tuple(budget.costs.values())
    native = _native.SelectiveJoin(
        terms,
        streams,
        lower=bounds[0],
        upper=bounds[1],
        seconds_per_tick=layout.seconds_per_tick,
        units_per_second=math.inf if budget is None or config.metered else budget.per_second,
        costs=costs,
        cell_spans=layout.cell_spans,
        cells=layout.geometry.cells,
        types=layout.geometry.types,
        input_buffer_s=shed.input_buffer.amount * 1e-9,
        control_period_s=layout.control_period_s,
        synchronised=budget is not None or config.metered or config.order == "sync-filter",
        ordered=config.order is not None,
        guarded=policy != "random-drop" and (policy != "gedik" or shed.rate_control == "backlog"),
        eases_door=policy == "random-drop",
        scored=policy in ("auto", "content"),
        samples_cells=policy != "gedik" or "time" not in shed.adapt,
        least_sample_share=LEAST_SAMPLE_SHARE,
        seed=config.seed & (2**64 - 1),
    )
    return SheddingCore(
        native,
        policy_for(
            shed,
            policy,
            layout,
            capacity=None if budget is None or config.metered else budget.per_second,
            score_cost=costs[3],
        ),
        policy_name=policy,
        types=("",) if shed.utility is None else ("", *map(str, shed.utility)),
        unit_ns=unit_ns,
        multipliers=multipliers,
        is_timed=budget is None and not config.metered,
        comparison_cost=costs[0],
    )


def policy_for(
    shed: Shed, policy: str, layout: Layout, *, capacity: float | None, score_cost: float = 1.0
) -> SheddingPolicy:
    """The policy of this name, for a server of that capacity; None: as fast as it turns out to be."""
    geometry = layout.geometry
    # Demand varies from second to second: an input buffer that is partly full leaves no time unused.
    target_s = 0.3 * shed.input_buffer.amount * 1e-9
    pace = BacklogRule(capacity=capacity, target_s=target_s, most_surplus=0.2)
    worth = None
    if shed.utility is not None:
        worth = Worth((0.0, *shed.utility.values()), combine=shed.utility_of)
    if policy == "density":
        return DensityPolicy(geometry, pace, worth=worth)
    if policy == "content":
        return ContentPolicy(geometry, pace)
    if policy == "auto":
        both = ContentPolicy(geometry, pace), DensityPolicy(geometry, pace)
        return AutoPolicy(*both, score_units=score_cost * max(geometry.cells))
    if policy == "random-drop":
        return DropPolicy(geometry, pace)
    (first_s, second_s), (first_cell_s, second_cell_s) = geometry.windows_s, geometry.basic_windows_s
    rule = GedikRule(
        (first_s, second_s), (first_cell_s, second_cell_s), adapt=shed.adapt, sampling=shed.sampling
    )
    return PublishedPolicy(
        geometry,
        rule,
        pace,
        rate_steps=layout.rate_steps,
        time_steps=layout.time_steps,
        rate_rule=RateRule(boost=shed.boost) if shed.rate_control == "published" else None,
        worth=worth,
    )


def shedding_extra(config: JoinConfig, side: int, batch: pa.RecordBatch, at: float | None) -> dict[str, Any]:
    """What the core must know of a batch beside its join columns: when it came, and its rows' types."""
    shed, stream = config.shed, config.streams[side]
    if shed is None or shed.utility is None or stream.type is None:
        return {"at": at, "kinds": None}
    place = batch.schema.get_field_index(stream.type)
    if place < 0:
        raise SchemaError(f"stream {stream.name!r}: type={stream.type!r} is no column of its batches")
    return {"at": at, "kinds": type_codes(shed, batch.column(place))}
