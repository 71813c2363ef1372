from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.multiway import MultiCase, draw_multiway
from tests.reference.predicates import FAMILIES

import watersmeet as wm
from watersmeet.join.ring_join import RingJoin
from watersmeet.join.rings.config import checked_ring_config
from watersmeet.join.rings.engine import RingEngine
from watersmeet.ring import Slicing, even_boundaries

CASES = 2000
PER_TEST = 100
ON_THREADS = 60
drawn: Counter[str] = Counter()  # what the cases of this process were made of


def ring_join(case: MultiCase, rng: np.random.Generator, *, threads: bool) -> RingJoin:
    """A join of the case with drawn slices and interleaving; nodes move in drawn orders, or on threads."""
    seed = case.seed
    topology = str(rng.choice(["ring", "ring", "split"]))
    slices: int | Slicing = int(rng.integers(1, 9))
    interleave = int(rng.integers(1, 33))
    if topology == "ring" and rng.random() < 0.2:
        lengths = tuple(int(length) for length in rng.integers(1, 9, len(case.names)))
        slices = Slicing(lengths, tuple(even_boundaries(1.0, length) for length in lengths), 0.0)
    config = checked_ring_config(
        case.streams(),
        on=case.on,
        slices=slices,
        interleave=interleave,
        topology=topology,
        edge="inclusive" if case.inclusive else "exclusive",
        orderings=None,
        test_seeds=(None, seed if seed % 2 else None) if threads else (seed, None),
    )
    join = RingJoin.__new__(RingJoin)
    join._hold(RingEngine(config))
    for fact in (
        f"M={len(case.names)}",
        f"N={config.slices}",
        f"interleave={interleave}",
        topology,
        "own lengths" if config.lengths else "one length",
        *case.families,
    ):
        drawn[fact] += 1
    return join


def rows_of(table: pa.Table, names: tuple[str, ...]) -> list[tuple[int, ...]]:
    columns = [
        table.column(f"{name}.row").to_pylist() for name in names if f"{name}.row" in table.column_names
    ]
    return list(zip(*columns, strict=True)) if len(columns) == len(names) else []


def run(case: MultiCase, *, threads: bool = False) -> list[tuple[int, ...]]:
    """Push random stretches, with resizes, promises and snapshots between them."""
    rng = np.random.default_rng(case.seed + 1)
    join = ring_join(case, rng, threads=threads)
    tables = [t.append_column("row", pa.array(np.arange(t.num_rows))) for t in case.tables]
    done = [0] * len(tables)
    results: list[tuple[int, ...]] = []
    for at, table in enumerate(tables):  # an empty batch declares a stream
        if rng.random() < 0.5 or table.num_rows == 0:
            results += rows_of(join.push(case.names[at], table.slice(0, 0)), case.names)
    while any(at < table.num_rows for at, table in zip(done, tables, strict=True)):
        at = int(rng.choice([s for s, table in enumerate(tables) if done[s] < table.num_rows]))
        until = min(tables[at].num_rows, done[at] + int(rng.integers(1, 12)))
        results += rows_of(
            join.push(case.names[at], tables[at].slice(done[at], until - done[at])), case.names
        )
        done[at] = until
        check_state(join, case)
        if rng.random() < 0.2:
            relocation: Any = rng.choice(["aggressive", "passive"])
            join.resize(slices=int(rng.integers(1, 9)), relocation=str(relocation))  # type: ignore[arg-type]
        if rng.random() < 0.1:
            to = int(tables[at].column("ts")[until - 1].as_py())
            results += rows_of(join.advance(case.names[at], to=to), case.names)
        if rng.random() < 0.05 and not any("where" in f or f == "and" for f in case.families):
            join = RingJoin.restore(join.snapshot())
    results += rows_of(join.finish(), case.names)
    check_state(join, case)
    join.close()
    return results


def check_state(join: RingJoin, case: MultiCase) -> None:
    """The slices hold what the windows hold, and nothing else."""
    metrics = join.metrics
    if metrics.rows_per_slice:
        assert sum(metrics.rows_per_slice) == sum(stream.window_rows for stream in metrics.streams)
    assert len(metrics.streams) == len(case.names)


@pytest.mark.parametrize("first", range(0, CASES, PER_TEST))
def test_oracle_of_random_joins_in_drawn_schedules(first: int) -> None:
    for seed in range(first, first + PER_TEST):
        case = draw_multiway(seed)
        assert run(case) == case.expected(), f"seed {seed}: {case.families}"


def test_oracle_of_random_joins_on_threads() -> None:
    for seed in range(50_000, 50_000 + ON_THREADS):
        case = draw_multiway(seed)
        assert run(case, threads=True) == case.expected(), f"seed {seed}: {case.families}"


def test_random_cases_are_of_every_kind() -> None:
    """M, N, interleaving, topology and kinds of predicate, over all cases compared with the oracle."""
    before = drawn.copy()
    for seed in range(CASES):
        case = draw_multiway(seed)
        ring_join(case, np.random.default_rng(case.seed + 1), threads=False).close()
    drawn.subtract(before)
    counts, least = Counter(drawn), CASES // 40
    drawn.update(before)
    assert min(counts[f"M={streams}"] for streams in range(2, 6)) >= 5 * least
    assert min(counts[f"N={slices}"] for slices in range(1, 9)) >= 3 * least
    assert min(counts[f"interleave={cycles}"] for cycles in range(1, 33)) >= 20
    assert min(counts[family] for family in FAMILIES) >= least
    assert counts["ring"] >= counts["split"] >= 10 * least
    assert counts["own lengths"] >= 3 * least


def test_random_cases_have_results() -> None:
    sizes = [len(draw_multiway(seed).expected()) for seed in range(100)]
    assert sum(size > 0 for size in sizes) >= 45


def test_differential_ring_of_two_streams_and_window_join() -> None:
    rng = np.random.default_rng(5)
    tables = [
        pa.table({"ts": np.cumsum(rng.integers(0, 3, 300)), "k": rng.integers(0, 9, 300)}) for _ in range(2)
    ]
    plain = wm.join(*tables, on=wm.equal("k"), window=20, time_unit="s")
    join = RingJoin(
        [wm.Stream(name, time="ts", window=20, time_unit="s") for name in "AB"], on=wm.equal("k"), slices=3
    )
    parts = [join.push("A", tables[0]), join.push("B", tables[1]), join.finish()]
    assert sum(part.num_rows for part in parts) == plain.num_rows
