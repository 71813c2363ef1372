"""The numbers behind each figure: a mapping from "curve x=number" to y, which claims.toml speaks about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import watersmeet as wm
from bench.figures.gedik.simulate import CAPACITY, Run, simulate, streams, trace_of
from watersmeet.control.time_correlation import basic_window_optimality
from watersmeet.testing import best_by_lag, full_answer

__all__ = ["FIGURES", "Values"]

Values = Mapping[str, float]
BURSTS = ((60.0, 100.0), (15.0, 500.0), (30.0, 300.0), (100.0, 100.0))
LONG_BURSTS = ((60.0, 100.0), (50.0, 500.0), (50.0, 300.0))
ADAPTATIONS: dict[str, tuple[Any, ...]] = {
    "rate": ("rate",), "+time": ("rate", "time"), "+direction": ("rate", "time", "direction"),
}  # fmt: skip
SEED = 21


def shed(policy: str = "gedik", *, capacity: float = CAPACITY, **settings: Any) -> wm.Shed:
    return wm.Shed(wm.comparisons(capacity), policy=policy, **settings)  # type: ignore[arg-type]


def steady(seconds: float, rate: float) -> tuple[tuple[float, float], ...]:
    return ((seconds, rate),)


def figure_5() -> Values:
    """Optimality of basic windows, by their share of the window and the fraction, for two densities."""
    values: dict[str, float] = {}
    for kappa in (0.6, 0.8):
        trace = trace_of(streams(SEED, kappa, steady(80.0, 400.0)), basic_window_s=0.1)
        density = _densities(trace, direction=1, start_s=30)[1:201]
        for part in (0.02, 0.04, 0.1, 0.2):
            for fraction in (0.05, 0.1, 0.25, 0.5):
                phi = basic_window_optimality(density, basic_window_share=part, fraction=fraction)
                values[f"kappa={kappa} r={fraction} b/w={part}"] = phi
    return values


def figure_6() -> Values:
    """Matches per comparison by age, in both windows."""
    values: dict[str, float] = {}
    for kappa in (0.6, 0.8):
        trace = trace_of(streams(SEED, kappa, steady(120.0, 500.0)))
        for window in (1, 2):
            for age, density in enumerate(_densities(trace, direction=2 - window, start_s=40)):
                values[f"kappa={kappa} W{window} age={age}"] = 1e4 * float(density)
        first = [values[f"kappa={kappa} W1 age={age}"] for age in range(21)]
        values[f"kappa={kappa} peak"] = float(np.argmax(first))
    return values


def _densities(trace: Any, *, direction: int, start_s: int) -> Any:
    chosen = (trace.second >= start_s) & (trace.direction == direction)
    matches = np.bincount(trace.cell[chosen], trace.matches[chosen], minlength=trace.due.shape[2])
    return matches / np.maximum(trace.due[start_s:, direction].sum(axis=0), 1.0)


def figure_7() -> Values:
    """Share of rows that random drop loses, by window and rate; once by the law, once by running it."""
    values: dict[str, float] = {}
    for rate in (25.0, 50.0, 100.0):
        for window_s in (25.0, 75.0, 125.0):
            load = 2 * rate**2 * window_s
            values[f"law rate={rate:g} w={window_s:g}"] = max(0.0, 1 - (156_250 / load) ** 0.5)
    run = simulate(
        streams(SEED, 0.6, steady(450.0, 50.0)), shed("random-drop", capacity=156_250),
        windows_s=(125.0, 125.0), basic_window_s=5.0,
    )  # fmt: skip
    late = [p for p in run.periods if p["begin_s"] > 200]
    dropped = sum(d["dropped"] for p in late for d in p["directions"])
    values["run rate=50 w=125"] = dropped / sum(d["arrived"] for p in late for d in p["directions"])
    values["indexed law rate=100 w=625"] = 1 - (1.75e6 / (2 * 100**2 * 625 * 0.2495)) ** 0.5
    return values


def figure_8() -> Values:
    """The fraction over time as rates change: Algorithm 1 with one window of 20 s."""
    run = _one_window(0.6, shed(adapt=("rate",), rate_control="published"))
    values = {f"r t={at_s:g}": fraction for at_s, fraction in run.fractions(0)}
    values["quiet"] = run.fraction(0, 20, 60)
    values["burst"] = min(fraction for at_s, fraction in run.fractions(0) if 60 < at_s <= 80)
    values["after"] = run.fraction(0, 90, 106)
    values["end"] = run.fractions(0)[-1][1]
    # The window takes 20 s to fill, so the paper's 15 s of burst do not reach the fraction of a steady 500/s.
    long = _one_window(0.6, shed(adapt=("rate",)), profile=LONG_BURSTS)
    values["steady 500/s"] = long.fraction(0, 95, 110)
    values["steady 300/s"] = long.fraction(0, 140, 160)
    return values


def _one_window(kappa: float, how: wm.Shed, *, window_s: float = 20.0, profile: Any = BURSTS) -> Run:
    given = streams(SEED, kappa, profile, shift=0.0, cycle=2 * window_s)
    return simulate(given, how, windows_s=(window_s, 0.0))


def figure_9() -> Values:
    """Output over time, rate adaptation against random drop, one window of 20 s."""
    values: dict[str, float] = {}
    for kappa in (0.4, 0.6, 0.8):
        runs = {
            "rate": _one_window(kappa, shed(adapt=("rate",))),
            "drop": _one_window(kappa, shed("random-drop")),
        }
        for name, run in runs.items():
            for start in range(0, 200, 5):
                values[f"{name} kappa={kappa} t={start}"] = run.results(start, start + 5)
        for phase, (start, stop) in {"500/s": (68, 75), "300/s": (95, 105)}.items():
            gain = runs["rate"].results(start, stop) / max(runs["drop"].results(start, stop), 1e-9)
            values[f"gain kappa={kappa} at {phase}"] = gain
        long = [
            _one_window(kappa, how, profile=LONG_BURSTS).results(90, 110)
            for how in (shed(adapt=("rate",)), shed("random-drop"))
        ]
        values[f"gain kappa={kappa} at a steady 500/s"] = long[0] / max(long[1], 1e-9)
    return values


def figure_10() -> Values:
    """Gain of rate adaptation over random drop at 500 rows per second, by window and correlation."""
    values: dict[str, float] = {}
    for window_s in (10.0, 20.0, 40.0):
        for kappa in (0.4, 0.6, 0.8):
            seconds = 2 * window_s + 30
            results = [
                _one_window(kappa, how, window_s=window_s, profile=steady(seconds, 500.0)).results(
                    seconds - 30, seconds
                )
                for how in (shed(adapt=("rate",)), shed("random-drop"))
            ]
            values[f"w={window_s:g} kappa={kappa}"] = results[0] / max(results[1], 1e-9)
    return values


def figure_11() -> Values:
    """Both fractions over time with direction adaptation: the less useful window is cut first."""
    profile = ((60.0, 50.0), (30.0, 200.0), (40.0, 120.0), (40.0, 50.0))
    run = simulate(streams(SEED, 0.6, profile), shed(capacity=120_000))
    values: dict[str, float] = {}
    for window in (0, 1):
        values |= {f"r{window + 1} t={at_s:g}": part for at_s, part in run.fractions(window)}
        values[f"r{window + 1} burst"] = run.fraction(window, 75, 90)
        values[f"r{window + 1} after"] = run.fraction(window, 110, 130)
    long = simulate(streams(SEED, 0.6, LONG_BURSTS), shed())
    for name, (start, stop) in {"500/s": (85, 111), "300/s": (130, 161)}.items():
        for window in (0, 1):
            values[f"r{window + 1} steady {name}"] = long.fraction(window, start, stop)
        # Both windows hold as many rows, so this is what the budget pays for, whichever window gets it.
        values[f"r steady {name}"] = np.mean([values[f"r{w} steady {name}"] for w in (1, 2)]).item()
    return values


def figure_12() -> Values:
    """Output as each adaptation is added, as a share of the full answer, a tenth of the comparisons."""
    values: dict[str, float] = {}
    for kappa in (0.6, 0.8):
        given = streams(SEED, kappa, steady(100.0, 500.0))
        full = full_answer(trace_of(given), start_s=40, stop_s=100) / 60
        for name, adapt in ADAPTATIONS.items():
            run = simulate(given, shed(capacity=1e6, adapt=adapt))
            values[f"{name} kappa={kappa}"] = run.results(40, 100) / full
        values[f"drop kappa={kappa}"] = (
            simulate(given, shed("random-drop", capacity=1e6)).results(40, 100) / full
        )
    return values


def figure_13() -> Values:
    """Results per second by correlation, overlap >= 4, a fiftieth of the comparisons."""
    values: dict[str, float] = {}
    for kappa in (0.4, 0.6, 0.8):
        given = streams(SEED, kappa, steady(100.0, 500.0))
        for name, adapt in ADAPTATIONS.items():
            run = simulate(given, shed(adapt=adapt), on=wm.overlap("items", at_least=4))
            values[f"{name} kappa={kappa}"] = run.results(40, 100)
    return values


def figure_14() -> Values:
    """Output by length of basic windows; then indexed, with lists in time order and in identifier order."""
    values: dict[str, float] = {}
    for kappa in (0.6, 0.8):
        given = streams(SEED, kappa, steady(100.0, 500.0))
        for basic_s in (0.25, 1.0, 4.0, 10.0, 20.0):
            trace = trace_of(given, basic_window_s=basic_s)
            full = full_answer(trace, start_s=40)
            for part in (0.02, 0.1):
                best = best_by_lag(trace, part * 1e7, start_s=40)
                values[f"hindsight kappa={kappa} f={part} b={basic_s:g}"] = best / full
            run = simulate(given, shed("density"), basic_window_s=basic_s)
            values[f"density kappa={kappa} f=0.02 b={basic_s:g}"] = run.results(40, 100) * 60 / full
    return values | _indexed()


def _indexed() -> Values:
    """Windows of 200 s, .07 of the full join's postings (SPEC V6 at 500 rows/s), all lists merged.

    Shares of the full answer; of the pairs that were decided for it; and the most that age makes of so many.
    """
    values: dict[str, float] = {}
    rate, window_s = 200.0, 200.0
    start_s, stop_s = 220, 300
    given = streams(SEED, 0.6, steady(stop_s, rate), cycle=2 * window_s)
    for basic_s in (1.0, 10.0):
        trace = trace_of(given, windows_s=(window_s, window_s), basic_window_s=basic_s)
        due_per_s = float(trace.due[start_s:stop_s].sum()) / (stop_s - start_s)
        full = full_answer(trace, start_s=start_s, stop_s=stop_s)
        for index in ("inverted", "inverted-by-id"):
            run = simulate(
                given, shed("density", capacity=0.07 * 2 * rate**2 * window_s * 0.2495),
                windows_s=(window_s, window_s), basic_window_s=basic_s, index=index, merge="heap",
            )  # fmt: skip
            pairs = run.decided(start_s, stop_s)
            best = best_by_lag(trace, pairs * due_per_s, start_s=start_s, stop_s=stop_s)
            values[f"{index} b={basic_s:g}"] = run.results(start_s, stop_s) * (stop_s - start_s) / full
            values[f"{index} pairs b={basic_s:g}"] = pairs
            values[f"{index} hindsight b={basic_s:g}"] = best / full
    return values


def figure_15() -> Values:
    """Gain over random drop by rate: overlap and equality, without and with an index."""
    values: dict[str, float] = {}
    for rate in (100.0, 300.0, 500.0):
        # SPEC 4.2's shape. At a fiftieth of the cost five probes per period teach: one run says little.
        seeds = range(SEED, SEED + 5) if rate == 500.0 else (SEED,)
        gains = [_gain(streams(seed, 0.8, steady(120.0, rate)), 120.0) for seed in seeds]
        values[f"overlap scanned rate={rate:g}"] = float(np.mean(gains))
        equal = streams(SEED, 0.8, steady(90.0, rate), domain=5000, size_mean=1.0, size_deviation=0.0)
        keyed = tuple(_keyed(table) for table in equal)
        values[f"equal scanned rate={rate:g}"] = _gain(keyed, 90.0, on=wm.equal("key"))
        values[f"equal indexed rate={rate:g}"] = _gain(keyed, 90.0, on=wm.equal("key"), index="hash")
    return values


def _gain(given: Any, seconds: float, **settings: Any) -> float:
    results = [
        simulate(given, shed(policy), **settings).results(40, seconds) for policy in ("gedik", "random-drop")
    ]
    return results[0] / max(results[1], 1e-9)


def _keyed(table: Any) -> Any:
    return table.append_column("key", table["items"].combine_chunks().flatten()).drop_columns(["items"])


def figure_16() -> Values:
    """Gain in utility by its skew, for three ways in which types may be spread."""
    values: dict[str, float] = {}
    spreads = {"uniform": (1, 1, 1), "inverse": (1, 2, 3), "direct": (3, 2, 1)}
    for spread, shares in spreads.items():
        for skew in (0.0, 1.0, 2.0, 3.0):
            worth = {f"z{z}": float(z**-skew) for z in (1, 2, 3)}
            values[f"{spread} k={skew:g}"] = _utility_gain(worth, dict(zip(worth, shares, strict=True)))
    return values


def figure_17() -> Values:
    """Gain in utility by the number of types, for two factors between the best and the worst."""
    values: dict[str, float] = {}
    for factor in (5.0, 20.0):
        for types in (2, 5, 20):
            skew = np.log(factor) / np.log(types)
            worth = {f"z{z}": float(z**-skew) for z in range(1, types + 1)}
            shares = {name: 1.0 / value for name, value in worth.items()}
            values[f"x={factor:g} types={types}"] = _utility_gain(worth, shares)
    return values


def _utility_gain(worth: dict[str, float], shares: Mapping[str, float]) -> float:
    """Utility with types told apart over utility without, a fiftieth of the comparisons."""
    whole = sum(shares.values())
    part = {name: share / whole for name, share in shares.items()}
    left, right = wm.testing.gedik_streams(SEED, 0.6, 300.0, 80.0, type_shares=part)
    values = [np.array([worth[name] for name in table["type"].to_pylist()]) for table in (left, right)]
    reached = []
    for utility in (worth, None):
        how = shed(capacity=0.02 * 2 * 300.0**2 * 20, utility=utility)
        run = simulate((left, right), how, type_column="type")
        rows = [np.asarray(run.pairs[name]) for name in ("left_row", "right_row")]
        worths = np.maximum(values[0][rows[0]], values[1][rows[1]])
        reached.append(float(worths[run.at_s >= 40].sum()))
    return reached[0] / max(reached[1], 1e-9)


FIGURES: Mapping[str, Callable[[], Values]] = {
    "fig5": figure_5, "fig6": figure_6, "fig7": figure_7, "fig8": figure_8, "fig9": figure_9,
    "fig10": figure_10, "fig11": figure_11, "fig12": figure_12, "fig13": figure_13, "fig14": figure_14,
    "fig15": figure_15, "fig16": figure_16, "fig17": figure_17,
}  # fmt: skip
