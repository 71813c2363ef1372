"""How a join's windows are cut into cells, and what it needs to be told so that it can shed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from watersmeet.errors import ConfigError
from watersmeet.join.shedding.policies import Geometry
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.vocabulary import Compiled, PerBatch, Predicate, Shed
from watersmeet.vocabulary.predicate import Band, Distance

__all__ = [
    "Layout",
    "check_shed",
    "chosen_policy",
    "cut_windows",
    "layout_of",
    "paced_layout",
    "type_codes",
]

_CELLS: Final = 20  # of the longer window, where no basic window is given, and of one that counts rows
_MOST_CELLS: Final = 4096
_FINEST_PERIOD_S: Final = 1.0  # how often our own policies decide


@dataclass(frozen=True, slots=True)
class Layout:
    """Cells span ticks, the join's own unit of time, or rows where a window counts rows."""

    geometry: Geometry
    cell_spans: tuple[int, ...]
    seconds_per_tick: float
    control_period_s: float
    rate_steps: int
    time_steps: int


def check_shed(config: JoinConfig, shed: Shed | None) -> None:
    """ConfigError where shedding and the rest of the configuration do not go together."""
    if shed is None:
        return
    if config.how != "inner":
        raise ConfigError(
            f"how={config.how!r} with shed=: a row without partner may only have missed it; expected 'inner'"
        )
    if isinstance(shed.budget, PerBatch) and not config.metered:
        raise ConfigError(
            "Shed(per_batch(...)): for micro-batches in Spark; expected 'cpu' or comparisons(n)"
        )
    for stream in config.streams:
        if shed.utility is not None and stream.type is None:
            raise ConfigError(f"Shed(utility) given, but Stream {stream.name!r} has no type= column")


def chosen_policy(shed: Shed, driver: Predicate | None, *, is_opaque: bool) -> str:
    """The policy that runs: "auto" stays where both ways are open, and is "density" otherwise."""
    scorable = driver is not None and not isinstance(driver, Band | Compiled | Distance)
    if shed.policy == "content" and not scorable:
        raise ConfigError("Shed(policy='content'): needs a part of on= about keys or sets, to be scored")
    if shed.policy != "auto":
        return shed.policy
    return "auto" if scorable and not is_opaque and shed.utility is None else "density"


def layout_of(
    config: JoinConfig, shed: Shed, *, unit_ns: int, bounds: tuple[int, int], policy: str
) -> Layout:
    """Cells, periods and geometry; `bounds` are the lowest and highest ts_right - ts_left in ticks."""
    lower, upper = bounds
    counts = [None if s.window is None or not s.window.is_rows else s.window.amount for s in config.streams]
    ages = [  # of the oldest partner in the left and in the right window
        age if count is None else count
        for age, count in zip((max(0, upper), max(0, -lower)), counts, strict=True)
    ]
    basic = config.basic_window
    spans, cells = cut_windows(ages, counts, None if basic is None else basic.amount // unit_ns)
    if max(cells) > _MOST_CELLS:
        raise ConfigError(
            f"basic_window={basic}: gives {max(cells)} basic windows; with shed= at most {_MOST_CELLS}"
        )
    tick_s = unit_ns * 1e-9
    geometry = Geometry(
        windows_s=(max(ages[0], 1) * tick_s, max(ages[1], 1) * tick_s),
        basic_windows_s=(spans[0] * tick_s, spans[1] * tick_s),
        cells=(cells[0], cells[1]),
        types=1 if shed.utility is None else len(shed.utility) + 1,
        counts_rows=any(count is not None for count in counts),
    )
    return paced_layout(geometry, spans, tick_s, shed, policy)


def cut_windows(
    ages: Sequence[int], counts: Sequence[int | None], ticks: int | None = None
) -> tuple[list[int], list[int]]:
    """Spans and numbers of cells: `ages` of the oldest rows in each window, in ticks or rows; `counts` where
    windows count rows. `ticks` of a cell of time; None: a share of the longest window.
    """
    longest = max((age for age, count in zip(ages, counts, strict=True) if count is None), default=0)
    span = max(1, -(-longest // _CELLS) if ticks is None else ticks)
    spans = [span if count is None else max(1, -(-count // _CELLS)) for count in counts]
    return spans, [1 + -(-age // span) for age, span in zip(ages, spans, strict=True)]


def paced_layout(geometry: Geometry, spans: Sequence[int], tick_s: float, shed: Shed, policy: str) -> Layout:
    """The layout with the periods at which the policy decides."""
    rate_ns, time_ns = shed.rate_period.amount, shed.time_period.amount
    if policy == "gedik":
        if shed.budget == "cpu" and shed.rate_control == "backlog":
            # Departs from [Gedik]: a machine that falls behind cannot wait for T_r to be told.
            rate_ns = math.gcd(rate_ns, time_ns, int(_FINEST_PERIOD_S * 1e9))
        step_ns = math.gcd(rate_ns, time_ns)
        steps = (rate_ns // step_ns, time_ns // step_ns)
        return Layout(geometry, tuple(spans), tick_s, step_ns * 1e-9, *steps)
    return Layout(geometry, tuple(spans), tick_s, min(_FINEST_PERIOD_S, rate_ns * 1e-9), 1, 1)


def type_codes(shed: Shed, column: Any) -> Any:
    """The types of rows as the core's codes: 0 for one that has no value, then in the order of utility."""
    codes = {kind: code for code, kind in enumerate(shed.utility or (), start=1)}
    return np.fromiter((codes.get(value, 0) for value in column.to_pylist()), np.uint8, count=len(column))
