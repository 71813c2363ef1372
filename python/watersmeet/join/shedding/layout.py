"""How a join's windows are cut into cells, and what it needs to be told so that it can shed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from watersmeet.errors import ConfigError
from watersmeet.join.shedding.policies import Geometry
from watersmeet.join.two_way.config import JoinConfig
from watersmeet.vocabulary import Compiled, PerBatch, Predicate, Shed
from watersmeet.vocabulary.predicate import Band, Distance

__all__ = ["Layout", "check_shed", "chosen_policy", "layout_of", "type_codes"]

_CELLS: Final = 20  # of the longer window, where no basic window is given
_MOST_CELLS: Final = 4096
_FINEST_PERIOD_S: Final = 1.0  # how often our own policies decide


@dataclass(frozen=True, slots=True)
class Layout:
    """Ticks are the join's own unit of time."""

    geometry: Geometry
    basic_ticks: int
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
    if config.order is not None:
        raise ConfigError(f"order={config.order!r} with shed=: results leave as found; expected None")
    for stream in config.streams:
        if stream.window is not None and stream.window.is_rows:
            raise ConfigError(
                f"Stream {stream.name!r}: window='{stream.window}' with shed=: a window of time is needed,"
                " since plans go by age"
            )
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
    ages = (max(0, upper), max(0, -lower))  # of the oldest partner in the left and in the right window
    basic = config.basic_window
    basic_ticks = max(1, -(-max(ages) // _CELLS) if basic is None else basic.amount // unit_ns)
    cells = tuple(1 + -(-age // basic_ticks) for age in ages)
    if max(cells) > _MOST_CELLS:
        raise ConfigError(
            f"basic_window={basic}: gives {max(cells)} basic windows; with shed= at most {_MOST_CELLS}"
        )
    tick_s = unit_ns * 1e-9
    types = 1 if shed.utility is None else len(shed.utility) + 1
    geometry = Geometry(
        windows_s=(max(ages[0], 1) * tick_s, max(ages[1], 1) * tick_s),
        basic_window_s=basic_ticks * tick_s,
        cells=(cells[0], cells[1]),
        types=types,
    )
    rate_ns, time_ns = shed.rate_period.amount, shed.time_period.amount
    if policy == "gedik":
        step_ns = math.gcd(rate_ns, time_ns)
        return Layout(geometry, basic_ticks, tick_s, step_ns * 1e-9, rate_ns // step_ns, time_ns // step_ns)
    return Layout(geometry, basic_ticks, tick_s, min(_FINEST_PERIOD_S, rate_ns * 1e-9), 1, 1)


def type_codes(shed: Shed, column: Any) -> Any:
    """The types of rows as the core's codes: 0 for one that has no value, then in the order of utility."""
    codes = {kind: code for code, kind in enumerate(shed.utility or (), start=1)}
    return np.fromiter((codes.get(value, 0) for value in column.to_pylist()), np.uint8, count=len(column))
