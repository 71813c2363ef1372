"""The numbers behind each figure: a flat mapping from a name to a value, which claims.toml speaks about.

A name is a curve and, after a space, the point on it: `HHJ b=70` is the cost of the full hash join at 70 rows
per second of stream B. K-Fig4, 6 and 7 are also measured on the engine by measured.py, K-Fig5 by crossing.py
and K-Fig9 by memory.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from watersmeet import cost

__all__ = [
    "CAPACITY",
    "FIGURES",
    "FULL_JOINS",
    "KEYS",
    "RATES",
    "Values",
    "paper_model",
    "virtual_output",
]

Values = Mapping[str, float]
RATES = (10.0, 30.0, 50.0, 60.0, 70.0, 80.0, 90.0, 110.0, 120.0, 140.0, 160.0, 170.0, 190.0, 220.0, 250.0)
KEYS = (5.0, 10.0, 20.0, 50.0, 100.0)
FULL_JOINS: Mapping[str, tuple[cost.Algorithm, cost.Algorithm]] = {
    "HHJ": ("hash", "hash"),
    "HNJ": ("hash", "scan"),
    "NHJ": ("scan", "hash"),
    "NNJ": ("scan", "scan"),
}
CAPACITY = (
    56_238.0  # units per second that HHJ needs at 110 rows/s, where the paper saw it thrash (SPEC K-Fig7)
)
_SCAN_COST, _HASH_COST = 0.5, 0.65
_JOINS_OF_FIGURE_7: Mapping[str, Callable[[cost.Model], float]] = {
    "HJ": lambda model: model.direction_cost(1, "hash"),
    "NLJ": lambda model: model.direction_cost(1, "scan"),
    "HHJ": lambda model: model.cost("hash", "hash"),
    "HNJ": lambda model: model.cost("hash", "scan"),
}


def paper_model(rate: float, *, keys: float = 10.0, slow: float = 10.0) -> cost.Model:
    """Stream A at 10 rows per second, B at `rate`, windows of 60 s, the paper's weights."""
    return cost.Model(
        rates=(slow, rate),
        windows=(60.0, 60.0),
        buckets=(keys, keys),
        scan_cost=_SCAN_COST,
        hash_cost=_HASH_COST,
    )


def figure_2() -> Values:
    """K-Fig2: cost of the four joins against B's rate, 10 keys."""
    return _four_joins(10.0)


def figure_3() -> Values:
    """K-Fig3: the same with 20 keys, and the ratio of the two crossovers."""
    values = dict(_four_joins(20.0))
    return {**values, "crossover ratio": values["crossover"] / _four_joins(10.0)["crossover"]}


def figure_4() -> Values:
    """K-Fig4: the direction A to B alone; where hash meets the line of what the machine can do."""
    values: dict[str, float] = {}
    for rate in RATES:
        model = paper_model(rate)
        values[f"HJ b={rate:g}"] = model.direction_cost(1, "hash")
        values[f"NLJ b={rate:g}"] = model.direction_cost(1, "scan")
    values["crossover"] = _sign_change(10.0)
    return values


def figure_5() -> Values:
    """K-Fig5: the ratio of rates at which scanning takes over, by keys: swept, exact and approximate."""
    values: dict[str, float] = {}
    for keys in KEYS:
        exact = cost.crossover(
            probing_rate=10.0, window=60.0, buckets=keys, scan_cost=_SCAN_COST, hash_cost=_HASH_COST
        )
        values[f"swept keys={keys:g}"] = _sign_change(keys) / 10.0
        values[f"exact keys={keys:g}"] = exact / 10.0
        values[f"predicted keys={keys:g}"] = cost.crossover_ratio(buckets=keys)
    return values


def figure_6() -> Values:
    """K-Fig6: seconds that 60 s worth of rows take in each full join, at the capacity of K-Fig7."""
    values: dict[str, float] = {}
    for name, algorithms in FULL_JOINS.items():
        for rate in RATES:
            values[f"{name} b={rate:g}"] = 60.0 * paper_model(rate).cost(*algorithms) / CAPACITY
    return values


def figure_7() -> Values:
    """K-Fig7: results per second against B's rate, rows that cannot be processed being dropped at random."""
    values: dict[str, float] = {}
    for name, spent in _JOINS_OF_FIGURE_7.items():
        share = 0.5 if name in ("HJ", "NLJ") else 1.0  # one direction finds half of the pairs
        outputs = {rate: share * virtual_output(rate, spent) for rate in RATES}
        values |= {f"{name} b={rate:g}": output for rate, output in outputs.items()}
        values[f"{name} peak"] = max(outputs.values())
        values[f"{name} saturates"] = _saturation(spent)
    values["saturation ratio"] = values["HNJ saturates"] / values["HHJ saturates"]
    return values


def figure_8() -> Values:
    """K-Fig8: results per second of five ways to share 10 rows/s between streams of 80 and 20."""
    rates, windows, capacity = (80.0, 20.0), (9.0, 1.0), 10.0
    shares = {
        "rate-proportional": _proportional(rates, capacity),
        "rate-inverse": _proportional((rates[1], rates[0]), capacity),
        "window-proportional": _proportional(windows, capacity),
        "window-inverse": _proportional((windows[1], windows[0]), capacity),
        "equal": cost.regulate(rates, capacity),
    }
    return {
        name: cost.output_rate(
            share, (share[0] * windows[0], share[1] * windows[1]), selectivities=(0.02, 0.08)
        )
        for name, share in shares.items()
    }


def figure_9() -> Values:
    """K-Fig9: results per second of five ways to share memory for 1000 rows, rates 10 and 50."""
    rates, rows = (10.0, 50.0), 1000.0
    splits = {
        "max A": (rows, 0.0),
        "max B": (0.0, rows),
        "rate-proportional": _proportional(rates, rows),
        "rate-inverse": _proportional((rates[1], rates[0]), rows),
        "equal": (rows / 2.0, rows / 2.0),
        "split_memory": cost.split_memory(rates, rows),
    }
    return {
        name: cost.output_rate(rates, split, selectivities=(0.005, 0.01)) for name, split in splits.items()
    }


def figure_10() -> Values:
    """K-Fig10: results per second where rates and windows are both free, 10 rows/s and 100 rows of memory."""
    values: dict[str, float] = {}
    for share in (0.5, 0.9, 0.99):
        rates = (share * 10.0, (1.0 - share) * 10.0)
        for name, rows in (("max A", (100.0, 0.0)), ("max B", (0.0, 100.0)), ("equal", (50.0, 50.0))):
            values[f"{name}, share of A x={share:g}"] = cost.output_rate(
                rates, rows, selectivities=(0.01, 0.01)
            )
    best = cost.split_memory_and_rates(100.0, 10.0)
    values["split_memory_and_rates"] = 0.01 * best.comparisons_per_s
    bounded = cost.split_memory_and_rates(100.0, 10.0, rates=(9.0, 9.0))
    values["split_memory_and_rates, at most 9 rows/s"] = 0.01 * bounded.comparisons_per_s
    return values


def figure_11() -> Values:
    """K-Fig11: the surface over A's share of the capacity and A's rows."""
    values: dict[str, float] = {}
    for tenth in range(11):
        share = tenth / 10.0
        for rows in range(0, 101, 10):
            values[f"x={share:g} A={rows}"] = cost.output_rate(
                (share * 10.0, (1.0 - share) * 10.0), (rows, 100.0 - rows), selectivities=(0.01, 0.01)
            )
    return {**values, "highest": max(values.values()), "lowest": min(values.values())}


FIGURES: Mapping[str, Callable[[], Values]] = {
    "fig2": figure_2,
    "fig3": figure_3,
    "fig4": figure_4,
    "fig5": figure_5,
    "fig6": figure_6,
    "fig7": figure_7,
    "fig8": figure_8,
    "fig9": figure_9,
    "fig10": figure_10,
    "fig11": figure_11,
}


def virtual_output(rate: float, spent: Callable[[cost.Model], float]) -> float:
    """Results per second in virtual time: beyond the capacity each row is kept with the chance that fits."""
    kept = _bisect(lambda share: spent(_thinned(rate, share)) - CAPACITY, 0.0, 1.0)
    return _thinned(rate, kept).output_rate()


def _thinned(rate: float, share: float) -> cost.Model:
    return paper_model(rate * share, slow=10.0 * share)


def _saturation(spent: Callable[[cost.Model], float]) -> float:
    return _bisect(lambda rate: spent(paper_model(rate)) - CAPACITY, 1.0, 1000.0)


def _four_joins(keys: float) -> Values:
    values: dict[str, float] = {}
    for name, algorithms in FULL_JOINS.items():
        for rate in RATES:
            values[f"{name} b={rate:g}"] = paper_model(rate, keys=keys).cost(*algorithms)
    values["crossover"] = cost.crossover(
        probing_rate=10.0, window=60.0, buckets=keys, scan_cost=_SCAN_COST, hash_cost=_HASH_COST
    )
    values["cost at crossover"] = paper_model(values["crossover"], keys=keys).cost("hash", "hash")
    return values


def _sign_change(keys: float) -> float:
    """The rate at which the two one-way costs are equal, found by halving, not by the formula."""

    def surplus(rate: float) -> float:
        model = paper_model(rate, keys=keys)
        return model.direction_cost(1, "hash") - model.direction_cost(1, "scan")

    return _bisect(surplus, 1.0, 10_000.0)


def _bisect(surplus: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function passes 0; `high` if it does not get there."""
    if surplus(high) <= 0.0:
        return high
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if surplus(middle) < 0.0 else (low, middle)
    return (low + high) / 2.0


def _proportional(weights: tuple[float, float], total: float) -> tuple[float, float]:
    return total * weights[0] / sum(weights), total * weights[1] / sum(weights)
