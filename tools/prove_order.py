"""Ordered joins over random asynchronous arrivals, held against the exact answer: nothing out of order,
nothing lost, nothing repeated.

Usage: python tools/prove_order.py [--rate 1000] [--seed 1] [--only two-way|tree|ring] [--kept FILE]

Streams arrive late by exponential lags, in bursts, one a hundred times slower than the other, with many equal
timestamps, and stop and come back with all that they missed. Every order is run over the same arrivals; the
adaptive one has to switch both ways. The answer comes from sorting, not from any part of the join. Prints a
line per run and a sum; exit code 1 if anything is wrong. With --kept a run that was cut off goes on where it
was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import watersmeet as wm

__all__ = ["Faults", "Scenario", "exact_answer", "faults_of", "prove", "scenarios"]

Numbers = npt.NDArray[np.int64]
WINDOW_MS = 2_000
ORDERS = ("sync-filter", "filter-order", "adaptive")
# (seconds, how many times the usual rates): the load goes up with the square
# Joins of several streams compare other pairs than each row with its window: what brings them to the same
# loads, as counted. A stream that is slow makes averages long, and must not go up too far to come down again.
WEIGHTS = {
    ("tree", "one 100 times slower"): 0.12,
    ("ring", "alike"): 5.0,
    ("ring", "one 100 times slower"): 0.6,
}
STRETCHES = ((60.0, 1.0), (60.0, 4.0), (240.0, 1.0), (40.0, 4.0))


@dataclass(frozen=True, slots=True)
class Scenario:
    """Streams by name: timestamps (ms), keys, and arrivals (s) that keep each stream's order."""

    name: str
    times: tuple[Numbers, ...]
    keys: tuple[Numbers, ...]
    arrivals: tuple[npt.NDArray[np.float64], ...]
    comparison_s: float  # such that the usual load is 0.05 and a burst's 0.8

    def batches(self, rng: np.random.Generator, most: int) -> Iterator[tuple[int, int, int, float]]:
        """(stream, first row, end, arrival) in order of arrival; rows of one stream that come together."""
        stream = np.concatenate([np.full(len(own), at) for at, own in enumerate(self.times)])
        row = np.concatenate([np.arange(len(own)) for own in self.times])
        arrival = np.concatenate(self.arrivals)
        order = np.lexsort((row, stream, arrival))
        stream, row, arrival = stream[order], row[order], arrival[order]
        cuts = np.flatnonzero((np.diff(stream) != 0) | (rng.random(len(stream) - 1) < 1.0 / most)) + 1
        for first, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            yield int(stream[first]), int(row[first]), int(row[end - 1]) + 1, float(arrival[end - 1])


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with an answer, and how often the order changed."""

    results: int
    inversions: int
    lost: int
    repeated: int
    wrong: int
    switches: int = 0

    @property
    def any(self) -> bool:
        """Whether there is a fault."""
        return bool(self.inversions or self.lost or self.repeated or self.wrong)


def scenarios(rate: float, seed: int, *, streams: int = 2) -> list[Scenario]:
    """Two ways in which streams run apart: alike, and one a hundred times slower."""
    rng = np.random.default_rng(seed)
    alike = _scenario("alike", rng, [rate] * streams, keys=max(2, int(2 * rate)))
    rates = [rate * 10.0] * (streams - 1) + [rate / 10.0]
    return [alike, _scenario("one 100 times slower", rng, rates, keys=max(2, int(4 * rate)))]


def _scenario(name: str, rng: np.random.Generator, rates: Sequence[float], *, keys: int) -> Scenario:
    times, chosen, arrivals = [], [], []
    for rate in rates:
        own = _timestamps(rng, rate)
        times.append(own)
        chosen.append(rng.integers(0, keys, len(own)))
        arrivals.append(_arrivals(rng, own))
    pairs = float(rates[0] * rates[-1]) * WINDOW_MS / 1e3 * (1 if len(rates) == 2 else 4)  # per second
    return Scenario(name, tuple(times), tuple(chosen), tuple(arrivals), 0.05 / pairs)


def _timestamps(rng: np.random.Generator, rate: float) -> Numbers:
    """Exponential gaps in milliseconds: at a thousand a second most have company at their own time."""
    parts, start = [], 0.0
    for seconds, factor in STRETCHES:
        count = int(seconds * rate * factor * 1.2) + 50
        own = start + np.cumsum(rng.exponential(1.0 / (rate * factor), count))
        parts.append(own[own < start + seconds])
        start += seconds
    return np.floor(np.concatenate(parts) * 1e3).astype(np.int64)


def _arrivals(rng: np.random.Generator, times: Numbers) -> npt.NDArray[np.float64]:
    """Each row comes an exponential lag after its time, but none before an earlier row of its stream; now and
    then the stream stops for seconds, and what it missed comes at once.
    """
    came = times / 1e3 + rng.exponential(0.3, len(times)) * (rng.random(len(times)) < 0.01)
    length = float(times[-1]) / 1e3
    for start in np.sort(rng.random(6) * length):
        stop = start + rng.exponential(4.0)
        came = np.where((came >= start) & (came < stop), stop, came)
    return np.asarray(np.maximum.accumulate(came), np.float64)


def exact_answer(scenario: Scenario) -> list[Numbers]:
    """The rows of all results, by (largest timestamp, rows): joined stream after stream, then sorted."""
    columns = [np.arange(len(scenario.times[0]))]
    for other in range(1, len(scenario.times)):
        columns = _joined(scenario, columns, other)
    newest = np.max([own[rows] for own, rows in zip(scenario.times, columns, strict=True)], axis=0)
    order = np.lexsort((*reversed(columns), newest))
    return [rows[order] for rows in columns]


def _joined(scenario: Scenario, columns: list[Numbers], other: int) -> list[Numbers]:
    """Partial results with the rows of one more stream that are within the window of every member."""
    by_key = np.lexsort((scenario.times[other], scenario.keys[other]))
    span = int(max(own[-1] for own in scenario.times)) + 2 * WINDOW_MS + 1
    place = scenario.keys[other][by_key] * span + scenario.times[other][by_key]
    members = [own[rows] for own, rows in zip(scenario.times, columns, strict=False)]
    key = scenario.keys[0][columns[0]]
    low = np.maximum(np.max(members, axis=0) - WINDOW_MS, 0)
    high = np.min(members, axis=0) + WINDOW_MS
    first = np.searchsorted(place, key * span + low, side="left")
    count = np.maximum(np.searchsorted(place, key * span + high, side="right") - first, 0)
    repeated = np.repeat(np.arange(len(first)), count)
    offset = np.arange(len(repeated)) - np.repeat(np.cumsum(count) - count, count)
    return [rows[repeated] for rows in columns] + [by_key[first[repeated] + offset]]


def faults_of(
    scenario: Scenario, found: list[Numbers], expected: list[Numbers], *, switches: int = 0
) -> Faults:
    """Hold an answer, in the order in which it came, against the exact one."""
    newest = np.max([own[rows] for own, rows in zip(scenario.times, found, strict=True)], axis=0)
    later = np.zeros(max(0, len(newest) - 1), bool)
    same = np.ones_like(later)
    for column in (newest, *found):
        step = np.diff(column)
        later |= same & (step < 0)
        same &= step == 0
    got, wanted = _codes(scenario, found), _codes(scenario, expected)
    unique = np.unique(got)
    lost = len(wanted) - int(np.isin(wanted, unique, assume_unique=True).sum())
    wrong = len(unique) - int(np.isin(unique, wanted, assume_unique=True).sum())
    return Faults(len(got), int((later | same).sum()), lost, len(got) - len(unique), wrong, switches)


def _codes(scenario: Scenario, columns: list[Numbers]) -> Numbers:
    """One number per combination of rows."""
    code = np.zeros(len(columns[0]), np.int64)
    for own, rows in zip(scenario.times, columns, strict=True):
        code = code * len(own) + rows
    return code


def prove(scenario: Scenario, kind: str, order: str, *, seed: int, most: int = 64) -> Faults:
    """Run one kind of join ("two-way", "tree", "ring") in one order over a scenario."""
    rng = np.random.default_rng(seed)
    names = [chr(ord("A") + at) for at in range(len(scenario.times))]
    join = _join(kind, names, scenario, order)
    found: list[list[Numbers]] = [[] for _ in names]

    def take(out: pa.Table) -> None:
        if out.num_rows:
            for at, name in enumerate(names):
                wanted = ("left_row", "right_row")[at] if kind == "two-way" else f"{name}.row"
                found[at].append(out[wanted].to_numpy())

    for at, first, end, arrival in scenario.batches(rng, most):
        rows = {"ts": scenario.times[at][first:end], "k": scenario.keys[at][first:end]}
        if kind == "ring":
            rows["row"] = np.arange(first, end)
        take(join.push(names[at], pa.table(rows), at=arrival))
    take(join.finish())
    columns = [np.concatenate(parts) if parts else np.empty(0, np.int64) for parts in found]
    switch = join._engine.pace.switch
    switches = 0 if switch is None else switch.state.switches
    return faults_of(scenario, columns, exact_answer(scenario), switches=switches)


def _join(kind: str, names: list[str], scenario: Scenario, order: str) -> Any:
    cost = scenario.comparison_s * WEIGHTS.get((kind, scenario.name), 1.0)
    adaptive = wm.AdaptiveOrder(alpha=0.3, period="1s", comparison_s=cost)
    options: dict[str, Any] = {"order": adaptive if order == "adaptive" else order}
    streams = [wm.Stream(name, window=f"{WINDOW_MS}ms", time_unit="ms") for name in names]
    if kind == "two-way":
        return wm.WindowJoin(*streams, on=wm.equal("k"), output="rows", **options)
    on = {(names[0], name): wm.equal("k") for name in names[1:]}
    if kind == "tree":
        return wm.MultiJoin(streams, on=on, output="rows", **options)
    return wm.RingJoin(streams, on=on, **options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything that is not known yet, and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rate", type=float, default=1000.0, help="rows per second of the streams that are alike"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, help="a file of finished runs: those are not run again")
    parser.add_argument("--only", choices=("two-way", "tree", "ring"), help="one kind of join")
    given = parser.parse_args(arguments)
    done = _known(given.kept)
    total, bad, took = 0, 0, 0.0
    plans = [("two-way", given.rate, 2), ("tree", given.rate / 10, 3), ("ring", given.rate / 200, 3)]
    for kind, rate, streams in plans:
        if given.only not in (None, kind):
            continue
        for scenario in scenarios(rate, given.seed, streams=streams):
            for order in ORDERS:
                name = f"{kind:8} {scenario.name:22} {order:13} rate {rate:g} seed {given.seed}"
                if name not in done:
                    start = time.perf_counter()
                    faults = prove(scenario, kind, order, seed=given.seed)
                    done[name] = {**asdict(faults), "seconds": round(time.perf_counter() - start, 1)}
                    _keep(given.kept, name, done[name])
                faults, seconds = _read(done[name])
                idle = order == "adaptive" and faults.switches < 2
                total, bad, took = total + faults.results, bad + int(faults.any or idle), took + seconds
                print(
                    f"{name}  results {faults.results:>10,}  inversions {faults.inversions}"
                    f"  lost {faults.lost}  repeated {faults.repeated}  wrong {faults.wrong}"
                    + (f"  switches {faults.switches}" if order == "adaptive" else "")
                    + f"  {seconds:.1f} s",
                    flush=True,
                )
    print(f"{total:,} results, {bad} runs with faults, {took:.0f} s")
    return 1 if bad else 0


def _known(kept: Path | None) -> dict[str, dict[str, Any]]:
    if kept is None or not kept.exists():
        return {}
    lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    return {line.pop("run"): line for line in lines}


def _keep(kept: Path | None, name: str, found: dict[str, Any]) -> None:
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"run": name, **found}) + "\n")


def _read(found: dict[str, Any]) -> tuple[Faults, float]:
    counts = {name: value for name, value in found.items() if name != "seconds"}
    return Faults(**counts), float(found["seconds"])


if __name__ == "__main__":
    sys.exit(main())
