"""What a simulation measured, and what follows from it for rows that have to queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Outcome", "Tally", "response_from_arrival"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Means over the cycles of one run.

    `latency_s`: from reading a row in to sending a result of it out, [PSP]'s response time. `cycle_s`: time
    per row when rows always wait. `state_rows`: rows held on all nodes. `node_use`, `link_use`: the busiest
    one's share of the time.
    """

    nodes: int
    latency_s: float
    cycle_s: float
    state_rows: float
    results: float
    node_use: float
    link_use: float
    messages: int = 0


class Tally:
    """Results with their emission times, summed so that a batch counts once for each of its rows."""

    __slots__ = ("results", "weighted_s")

    def __init__(self) -> None:
        self.results = 0.0
        self.weighted_s = 0.0

    def emitted(self, results: float, latency_s: float) -> None:
        """So many results left, on average so long after their row was read in."""
        self.results += results
        self.weighted_s += results * latency_s

    @property
    def latency_s(self) -> float:
        """Mean over results; 0 while there are none."""
        return self.weighted_s / self.results if self.results else 0.0


def response_from_arrival(
    outcome: Outcome, rates_per_s: Sequence[float], *, seconds: float = 600.0, seed: int = 0
) -> float:
    """Mean response of the results that leave within the run, counted from their row's arrival.

    Poisson arrivals; the operator is one server that takes `cycle_s` per row, which is exact for a ring with
    one cycle at a time. Beyond capacity the queue grows for as long as the run lasts.
    """
    rng = np.random.default_rng(seed)
    rate = sum(rates_per_s)
    arrivals = np.cumsum(rng.exponential(1.0 / rate, int(rate * seconds * 1.2) + 50))
    arrivals = arrivals[arrivals < seconds]
    steps = np.arange(len(arrivals)) * outcome.cycle_s
    begins = np.maximum.accumulate(arrivals - steps) + steps
    done = begins + outcome.latency_s
    counted = done < seconds
    return float((done - arrivals)[counted].mean()) if counted.any() else float("inf")
