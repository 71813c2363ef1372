"""Where scanning a window becomes cheaper than hashing it: when its own stream is fast, the probing one slow.

Paper: [Kang] 3.4, eqs. 7 and 8. Invalidating a row in a hashed window touches a bucket, in a scanned one a
single row, so a window whose rows come and go often but are seldom probed is better scanned.
"""

from __future__ import annotations

import math

from watersmeet.cost import _check

__all__ = ["crossover", "crossover_ratio"]


def crossover(
    *,
    probing_rate: float,
    window: float,
    buckets: float,
    scan_cost: float = 1.0,
    hash_cost: float = 1.3,
    approximate: bool = False,
) -> float:
    """The rate of a window's own stream from which on scanning the window is cheaper than hashing it.

    probing_rate   rows per second of the stream that probes the window
    window         seconds that the window's rows stay in it
    buckets        different keys in the window
    approximate    eq. 7's last form, which leaves out the cost of insertion

    Returns 0 where scanning is cheaper at every rate, infinity where hashing is.
    """
    probing_rate = _check.at_least(probing_rate, 0.0, argument="probing_rate")
    window = _check.at_least(window, 0.0, argument="window")
    buckets = _check.positive(buckets, argument="buckets")
    scan_cost, hash_cost = _costs(scan_cost, hash_cost)
    if approximate:
        overhead = hash_cost / scan_cost
        return max(0.0, probing_rate * (buckets - overhead) / overhead)
    # Eq. 7 is implicit, since the window's rows are window * rate; divided by the rate it is linear in it.
    surplus = probing_rate * window * scan_cost + 2.0 * scan_cost - hash_cost
    if window == 0.0:
        return math.inf if surplus > 0.0 else 0.0
    return max(0.0, buckets * surplus / (window * hash_cost) - probing_rate)


def crossover_ratio(
    *, buckets: float, window_rows: float | None = None, scan_cost: float = 1.0, hash_cost: float = 1.3
) -> float:
    """The ratio of the window's own rate to the probing rate above which scanning is cheaper.

    With `window_rows` eq. 7 as it stands for a window of that size, without it the approximation: eq. 8's
    determinant. Below 0 scanning is cheaper whatever the rates.
    """
    buckets = _check.positive(buckets, argument="buckets")
    scan_cost, hash_cost = _costs(scan_cost, hash_cost)
    if window_rows is None:
        return (buckets - hash_cost / scan_cost) / (hash_cost / scan_cost)
    rows = _check.positive(window_rows, argument="window_rows")
    bucket = rows / buckets * hash_cost
    maintenance = bucket + hash_cost - 2.0 * scan_cost
    return (rows * scan_cost - bucket) / maintenance if maintenance > 0.0 else math.inf


def _costs(scan_cost: float, hash_cost: float) -> tuple[float, float]:
    return (
        _check.positive(scan_cost, argument="scan_cost"),
        _check.positive(hash_cost, argument="hash_cost"),
    )
