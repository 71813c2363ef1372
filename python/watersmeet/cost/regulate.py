"""Which stream to thin when not all rows can be processed.

Paper: [Kang] 4.2, eqs. 10 and 11. The output is proportional to the product of the two rates, whatever the
windows and selectivities, so an equal share of the capacity goes to each stream; what a slow stream cannot
use goes to the other.
"""

from __future__ import annotations

from watersmeet.cost import _check
from watersmeet.cost._check import Pair

__all__ = ["regulate"]


def regulate(rates: Pair, capacity: float, *, probe_costs: Pair = (1.0, 1.0)) -> Pair:
    """The rates to let in, at most `rates`, that give the most results within `capacity`.

    rates         rows per second that arrive on each stream
    capacity      what can be spent per second, in the unit of `probe_costs`: rows per second where they are 1
    probe_costs   of one row of each stream (SPEC K5)
    """
    rates = _check.pair(rates, argument="rates")
    capacity = _check.at_least(capacity, 0.0, argument="capacity")
    costs = _check.pair(probe_costs, argument="probe_costs", above_zero=True)
    demands = rates[0] * costs[0], rates[1] * costs[1]
    if sum(demands) <= capacity:
        return rates
    # Both demands cannot be under half of the capacity here, so whoever is under it is satisfied in full.
    shares = [min(demand, capacity / 2.0) for demand in demands]
    for stream in (0, 1):
        if demands[stream] > capacity / 2.0:
            shares[stream] = min(demands[stream], capacity - shares[1 - stream])
            break
    return min(rates[0], shares[0] / costs[0]), min(rates[1], shares[1] / costs[1])
