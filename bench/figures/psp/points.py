"""The numbers behind each figure: a flat mapping from a name to a value, which claims.toml speaks about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import pstdev

from bench.figures.psp.adaptation import series
from bench.figures.psp.settings import NODES, PIXELS, SELECTIVITIES, cluster, free_hops, image_load
from watersmeet.ring import UnitCosts, relocate, tune_load
from watersmeet.ring.simulation import (
    expect_ring,
    expect_split,
    response_from_arrival,
    simulate_aligned,
    simulate_coordinated,
    simulate_ring,
    simulate_split,
)

__all__ = ["FIGURES", "Values"]

Values = Mapping[str, float]
_CYCLES = 3  # one row of each stream: without a seed every cycle is like every other


def figure_8a() -> Values:
    """P-Fig8a and b: PSP's latency and state against nodes, 3-way, by selectivity."""
    values: dict[str, float] = {}
    for selectivity in SELECTIVITIES:
        load, name = image_load(selectivity), f"S={selectivity:g}"
        latencies = {}
        for nodes in NODES:
            outcome = simulate_ring(load, cluster(), nodes, cycles=_CYCLES)
            latencies[nodes] = outcome.latency_s
            values[f"latency {name} N={nodes}"] = outcome.latency_s
            values[f"state {name} N={nodes}"] = outcome.state_rows
            values[f"response {name} N={nodes}"] = response_from_arrival(outcome, load.rates_per_s)
        values[f"optimum {name}"] = _least(latencies)
        free = {
            nodes: simulate_ring(load, free_hops(), nodes, cycles=_CYCLES).latency_s for nodes in range(4, 25)
        }
        values[f"optimum, free hops {name}"] = _least(free)
        values[f"optimum, equation 5 {name}"] = tune_load(
            image_load(selectivity), UnitCosts(1e-4, send_s=5e-5, hop_s=1e-3)
        ).slices
        values[f"optimum, with links {name}"] = tune_load(load, cluster()).slices
    return values | _across(values)


def fitted() -> Values:
    """The turn at S = 0.5 by what a pixel costs: fitted to the paper's 14, measured of a function, and of
    wm.distance. Only the second and third say anything of their own.
    """
    values: dict[str, float] = {}
    load = image_load(0.5)
    for pixel in ("fitted", "function", "distance"):
        costs = cluster(pixel=pixel)
        latencies = {
            nodes: simulate_ring(load, costs, nodes, cycles=_CYCLES).latency_s for nodes in range(1, 25)
        }
        values |= {f"latency {pixel} N={nodes}": latency for nodes, latency in latencies.items()}
        values[f"optimum {pixel}"] = _least(latencies)
        values[f"optimum, with links {pixel}"] = tune_load(load, costs).slices
        values[f"pixel ns {pixel}"] = costs.join_s / PIXELS["small"] * 1e9
    return values


def _across(values: Mapping[str, float]) -> dict[str, float]:
    states = [value for name, value in values.items() if name.startswith("state")]
    slower = [
        values[f"latency S={more:g} N={nodes}"] / values[f"latency S={less:g} N={nodes}"]
        for less, more in ((0.05, 0.1), (0.1, 0.5))
        for nodes in NODES
    ]
    return {"state spread": max(states) - min(states), "least slowdown by S": min(slower)}


def _least(values: Mapping[int, float]) -> float:
    return float(min(values, key=lambda nodes: values[nodes]))


def figure_8c() -> Values:
    """P-Fig8c and d: ATR's latency and state against nodes, by segment length."""
    values: dict[str, float] = {}
    load = image_load(0.1)
    for segment in (10, 20, 30, 40, 50):
        for nodes in NODES:
            outcome = simulate_aligned(load, cluster(), nodes, segment_s=segment, cycles=_CYCLES)
            values[f"latency T={segment} N={nodes}"] = outcome.latency_s
            values[f"state T={segment} N={nodes}"] = outcome.state_rows
    for nodes in NODES:
        values[f"psp latency N={nodes}"] = simulate_ring(load, cluster(), nodes, cycles=_CYCLES).latency_s
    latencies = [value for name, value in values.items() if name.startswith("latency")]
    values["latency spread"] = max(latencies) - min(latencies)
    values["least growth of state"] = min(
        values[f"state T={segment} N={nodes + 1}"] - values[f"state T={segment} N={nodes}"]
        for segment in (10, 20, 30)
        for nodes in NODES[:-1]
    )
    return values


def figure_8e() -> Values:
    """P-Fig8e and f: CTR's latency and state against nodes, by copies."""
    values: dict[str, float] = {}
    load = image_load(0.1)
    for copies in range(2, 10):
        for nodes in range(2 * copies, NODES[-1] + 1):
            outcome = simulate_coordinated(load, cluster(), nodes, copies=copies, cycles=_CYCLES)
            values[f"latency C={copies} N={nodes}"] = outcome.latency_s
            values[f"state C={copies} N={nodes}"] = outcome.state_rows
    for nodes in NODES:
        values[f"psp latency N={nodes}"] = simulate_ring(load, cluster(), nodes).latency_s
    return values


def figure_8g() -> Values:
    """P-Fig8g and h: latency over time when the rate doubles at 300 s, with and without adaptation."""
    values: dict[str, float] = {}
    for name, adapt in (("adaptive", True), ("fixed", False)):
        run = series(adapt=adapt)
        values |= {f"{name} t={now:g}": latency for now, latency in run.items()}
        before = [latency for now, latency in run.items() if now < 300.0]
        after = [latency for now, latency in run.items() if now >= 300.0]
        values[f"{name} rise"] = max(after) / (sum(before) / len(before))
        values[f"{name} deviation"] = pstdev(run.values())
        values[f"{name} settled"] = after[-1]
    return values


def ways() -> Values:
    """Announced in 8.2 and not plotted: 3, 5, 7 and 9 streams, three sizes of images.

    At the announced selectivities more than three streams make more results than anyone can read (25^8 per
    row); they are given as closed forms. The simulated rows have one partner per step (S = 0.002).
    """
    values: dict[str, float] = {}
    for image in PIXELS:
        for count in (3, 5, 7, 9):
            calm = image_load(0.002, ways=count, image=image)
            name = f"{count}-way {image}"
            latencies = {
                nodes: simulate_ring(calm, cluster(image), nodes, cycles=_CYCLES).latency_s for nodes in NODES
            }
            for nodes, latency in latencies.items():
                values[f"latency {name} N={nodes}"] = latency
            values[f"optimum {name}"] = _least(latencies)
            announced = image_load(0.05, ways=count, image=image)
            values[f"announced latency {name} N=14"] = expect_ring(announced, cluster(image), 14).latency_s
        for nodes in NODES:
            outcome = simulate_ring(image_load(0.1, image=image), cluster(image), nodes)
            values[f"latency S=0.1 {image} N={nodes}"] = outcome.latency_s
    return values


def scale() -> Values:
    """Beyond the paper: rings and SplitJoin up to 1,000 nodes, simulated as far as that is quick."""
    values: dict[str, float] = {}
    for selectivity in (0.1, 0.5):
        load, name = image_load(selectivity), f"S={selectivity:g}"
        for nodes in (4, 8, 16, 32, 64, 128, 256, 512, 1000):
            point = f"{name} N={nodes}"
            values[f"ring {point}"] = expect_ring(load, cluster(), nodes).latency_s
            values[f"split {point}"] = expect_split(load, cluster(), nodes).latency_s
            values[f"multicast {point}"] = expect_split(load, cluster(), nodes, multicast=True).latency_s
            if nodes <= 32:
                ring = simulate_ring(load, cluster(), nodes).latency_s
                split = simulate_split(load, cluster(), nodes, cycles=3).latency_s
                values[f"simulated ring {point}"] = ring
                values[f"simulated split {point}"] = split
                values[f"ring off by {point}"] = abs(values[f"ring {point}"] / ring - 1)
                values[f"split off by {point}"] = abs(values[f"split {point}"] / split - 1)
    for name in ("ring off by", "split off by"):
        values[f"worst {name}"] = max(value for key, value in values.items() if key.startswith(name))
    return values


def costs() -> Values:
    """The formulas of sections 4.3, 5 and 6, as corrected in SPEC 2.4."""
    values: dict[str, float] = {}
    unit = UnitCosts(1e-4, send_s=5e-5, hop_s=1e-3)
    for selectivity in SELECTIVITIES:
        chosen = tune_load(image_load(selectivity), unit)
        values[f"work S={selectivity:g}"] = chosen.work_s
        values[f"crossing S={selectivity:g}"] = chosen.crossing
        values[f"slices S={selectivity:g}"] = chosen.slices
        values[f"latency S={selectivity:g}"] = chosen.latency_s
    thirty = image_load(0.1, image="middle")  # 30 KB
    values["bandwidth N=10"] = thirty.bandwidth_needed(UnitCosts(1e-3), 10)
    values["extra traffic N=10"] = image_load(0.1).extra_traffic(10)
    for place, flow in enumerate(relocate(5, 8).flows, start=1):
        values[f"flow {place}"] = float(flow)
    return values


FIGURES: Mapping[str, Callable[[], Values]] = {
    "fig8a": figure_8a,
    "fig8c": figure_8c,
    "fig8e": figure_8e,
    "fig8g": figure_8g,
    "ways": ways,
    "scale": scale,
    "costs": costs,
    "fitted": fitted,
}
