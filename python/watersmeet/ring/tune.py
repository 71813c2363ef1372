"""How many slices: for the least latency, or for the highest output rate ([PSP] 5.2, SPEC P2, P4, P5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.ring._check import whole
from watersmeet.ring.load import RingLoad, UnitCosts

__all__ = ["Objective", "RingLength", "latency", "output_rate", "tune", "tune_load"]

Objective: TypeAlias = Literal["latency", "output-rate"]
_WORTH = 0.01  # a longer ring must raise the output rate by more than this share to be preferred


@dataclass(frozen=True, slots=True)
class RingLength:
    """The number of slices chosen, what the model expects of it, and why it is not longer.

    `crossing` is where travelling begins to outlast computing (N_1), `stationary` where a longer first
    trip eats what another node saves, `saturation` where the links are busy as long as the nodes.
    """

    slices: int
    latency_s: float
    output_rate_per_s: float
    work_s: float
    link_s: float
    crossing: float
    stationary: float
    saturation: float
    limit: Literal["travel", "links", "nodes", "arrivals"]


def tune(
    rates: Sequence[float],
    windows: float | Sequence[float],
    *,
    selectivity: float | Sequence[float],
    join_cost: float,
    send_cost: float = 0.0,
    hop_latency: float = 0.0,
    insert_cost: float = 0.0,
    purge_cost: float = 0.0,
    row_bytes: float = 0.0,
    bandwidth: float | None = None,
    interleave: int = 1,
    objective: Objective = "latency",
    most: int = 1000,
) -> RingLength:
    """The ring length for streams with these rates (rows/s) and windows (s); costs in seconds per row or
    pair, `bandwidth` in bytes per second per link (None: as [PSP] assumes, sufficient).
    """
    load = RingLoad.of(rates, windows, selectivity=selectivity, row_bytes=row_bytes)
    costs = UnitCosts(
        join_cost,
        insert_s=insert_cost,
        purge_s=purge_cost,
        send_s=send_cost,
        hop_s=hop_latency,
        link_bytes_per_s=math.inf if bandwidth is None else bandwidth,
    )
    return tune_load(load, costs, interleave=interleave, objective=objective, most=most)


def tune_load(
    load: RingLoad,
    costs: UnitCosts,
    *,
    interleave: int = 1,
    objective: Objective = "latency",
    most: int = 1000,
) -> RingLength:
    """The same, from values."""
    whole(most, 1, argument="most")
    whole(interleave, 1, argument="interleave")
    if objective == "latency":
        slices = _least(lambda length: latency(load, costs, length), _candidates(load, costs, most))
    elif objective == "output-rate":
        slices = _fastest(load, costs, interleave=interleave, most=most)
    else:
        raise ConfigError(f"objective={objective!r}: expected 'latency' or 'output-rate'")
    return _described(load, costs, slices, interleave=interleave, most=most)


def latency(load: RingLoad, costs: UnitCosts, slices: int) -> float:
    """Mean latency of a row's results on a balanced ring: [PSP] equation 5 with the links' occupancy.

    The mean wait until a slice sees the row, then the longest of computing, travelling and transmitting,
    which overlap.
    """
    whole(slices, 1, argument="slices")
    hop_s = costs.hop_s + costs.transfer_s(load.row_bytes)
    work_s = load.central_s(costs) / slices + load.transmission_s(costs)
    travel_s = load.streams * slices * hop_s
    return (slices - 1) / 2 * hop_s + max(work_s, travel_s, load.link_s(costs))


def output_rate(load: RingLoad, costs: UnitCosts, slices: int, *, interleave: int = 1) -> float:
    """Results per second when every node is busy, but no more than the arrivals allow.

    Departs from [PSP]: equation 4 grows with every node (SPEC P5). Here the links, and the cycles that may
    be in flight at once, bound it too.
    """
    busy = slices / load.ring_s(costs, slices)
    linked = 1.0 / load.link_s(costs) if load.link_s(costs) else math.inf
    cycles = interleave / latency(load, costs, slices)
    return load.results_per_row() * min(load.rate_per_s, busy, linked, cycles)


def _candidates(load: RingLoad, costs: UnitCosts, most: int) -> list[int]:
    turns = [turn for turn in _turns(load, costs) if math.isfinite(turn)]
    if not turns:
        return [most]
    around = {bound for turn in turns for bound in (math.floor(turn), math.ceil(turn))}
    return sorted({min(max(length, 1), most) for length in around} | {1, most})


def _turns(load: RingLoad, costs: UnitCosts) -> tuple[float, float, float]:
    """Where the longest part of the latency changes, and where its slope does.

    Departs from [PSP]: the paper's N_2, (1 + sqrt(1 + 8 L_C / T_n)) / 2, equates the two terms instead of
    their slopes and lies half a node beyond the stationary point sqrt(2 L_C / T_n).
    """
    hop_s = costs.hop_s + costs.transfer_s(load.row_bytes)
    work_s, send_s, link_s = load.central_s(costs), load.transmission_s(costs), load.link_s(costs)
    travel_s = load.streams * hop_s
    crossing = (send_s + math.sqrt(send_s**2 + 4 * travel_s * work_s)) / (2 * travel_s) if hop_s else math.inf
    stationary = math.sqrt(2 * work_s / hop_s) if hop_s else math.inf
    saturation = work_s / (link_s - send_s) if link_s > send_s else math.inf
    return crossing, stationary, saturation


def _least(value: Callable[[int], float], lengths: Sequence[int]) -> int:
    return min(lengths, key=lambda length: (value(length), length))


def _fastest(load: RingLoad, costs: UnitCosts, *, interleave: int, most: int) -> int:
    rates = [output_rate(load, costs, length, interleave=interleave) for length in range(1, most + 1)]
    enough = max(rates) * (1 - _WORTH)
    return next(length for length, rate in enumerate(rates, start=1) if rate >= enough)


def _described(load: RingLoad, costs: UnitCosts, slices: int, *, interleave: int, most: int) -> RingLength:
    crossing, stationary, saturation = _turns(load, costs)
    rate = output_rate(load, costs, slices, interleave=interleave)
    bounds: dict[Literal["travel", "links", "nodes", "arrivals"], float] = {
        "travel": min(crossing, stationary),
        "links": saturation,
        "nodes": float(most),
    }
    limit = min(bounds, key=lambda name: bounds[name])
    arrivals = load.results_per_row() * load.rate_per_s
    return RingLength(
        slices=slices,
        latency_s=latency(load, costs, slices),
        output_rate_per_s=rate,
        work_s=load.central_s(costs),
        link_s=load.link_s(costs),
        crossing=crossing,
        stationary=stationary,
        saturation=saturation,
        limit="arrivals" if rate >= arrivals and slices < bounds[limit] - 1 else limit,
    )
