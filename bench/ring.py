"""Joins on several threads, measured: python bench/ring.py [--only w1,w2,images,where] [--repeats 5]

Each line first checks its answer against the line it is compared with, then all lines run in turn, round
after round, and the best of each counts. Wall clock, both cores: run it on a machine that does nothing
else. Windows are full for most of a run: NumPy's loop slows down where its temporaries leave the cache,
as they do with 500 images. Targets are those of the issue on expensive predicates. Writes
bench/results/ring.json, the groups that ran.

`images` also says what the machine allows: two joins of one slice at once, on two threads that share
nothing (both together count as one line, of twice the work), and what a join spends on images that meet
nothing, which one thread does. `where` is timed twice: in a fresh process, where the system has to find
memory for every temporary of NumPy's loop, and after a large array has come and gone, from when on the
allocator keeps such memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)
sys.path.insert(1, str(ROOT / "python"))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import typer  # noqa: E402

from bench import machine  # noqa: E402
from bench.arrow_input import alternating  # noqa: E402
from bench.workloads import WORKLOADS  # noqa: E402

PIXELS = 15_000
WINDOW = 500  # images per window and side
WARMING = 30_000_000  # below it malloc keeps what it has got, once a block of this size was freed
NEAR = 83.5  # of random images about one pair in ten thousand: whole images are compared


@dataclass(slots=True)
class Line:
    """One thing that is timed. `run` gives its answer, and how many comparisons it made."""

    name: str
    run: Callable[[], tuple[Any, int]]
    work: int = 1  # how many times that of the group's first line
    is_part: bool = False  # of the work of the first: another answer
    wall: float = float("inf")
    cpu: float = float("inf")
    delayed: float = (
        0.0  # of the best wall clock time: how long the caller's thread was ready and had no core
    )
    compared: int = 0

    def once(self) -> Any:
        wall, cpu, delayed = time.perf_counter(), time.process_time(), _delayed_s()
        answer, self.compared = self.run()
        wall = time.perf_counter() - wall
        if wall < self.wall:
            self.wall, self.delayed = wall, _delayed_s() - delayed
        self.cpu = min(self.cpu, time.process_time() - cpu)
        return answer


def _delayed_s() -> float:
    """How long this process's first thread has waited for a core so far, as Linux counts it."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _window_join(workload: str, *, batch: int, threads: int) -> Callable[[], tuple[Any, int]]:
    import watersmeet as wm

    case = WORKLOADS[workload]
    batches = list(alternating(case, batch=batch, payload=0))
    on = wm.equal("key") if case.kind == "keys" else wm.overlap("items", at_least=int(case.threshold))

    def run() -> tuple[Any, int]:
        streams = [wm.Stream(name, time="ts", window=case.window_us / 1e6) for name in ("one", "two")]
        join = wm.WindowJoin(*streams, on=on, output="rows", threads=threads)
        found = 0
        for stream, rows in batches:
            found += join.push(("one", "two")[stream], rows).num_rows
        return found + join.finish().num_rows, 0

    return run


def _images(rows: int, seed: int) -> tuple[Any, pa.Table]:
    pixels = np.random.default_rng(seed).integers(0, 256, (rows, PIXELS), dtype=np.uint8)
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(PIXELS), rows, [None, pa.py_buffer(pixels)])
    return pixels, pa.table({"ts": np.arange(rows) * 20_000, "image": column, "row": np.arange(rows)})


def _ring_join(
    tables: tuple[pa.Table, pa.Table],
    on: Any,
    *,
    slices: int,
    topology: Any,
    batch: int = 64,
    window: str = "10s",
) -> Callable[[], tuple[Any, int]]:
    import watersmeet as wm

    def run() -> tuple[Any, int]:
        streams = [wm.Stream(name, time="ts", window=window) for name in "AB"]
        join = wm.RingJoin(streams, on=on, slices=slices, topology=topology)
        found = 0
        for start in range(0, tables[0].num_rows, batch):
            for name, table in zip("AB", tables, strict=True):
                found += join.push(name, table.slice(start, batch)).num_rows
        found += join.finish().num_rows
        return found, sum(join.metrics.comparisons)

    return run


def _at_once(run: Callable[[], tuple[Any, int]], threads: int) -> Callable[[], tuple[Any, int]]:
    """The same on several threads, each for itself."""

    def run_all() -> tuple[Any, int]:
        with ThreadPoolExecutor(threads) as pool:
            answers = [each.result() for each in [pool.submit(run) for _ in range(threads)]]
        if len(set(answers)) != 1:
            raise SystemExit(f"answers differ between threads: {answers}")
        return answers[0][0], threads * answers[0][1]

    return run_all


def _on_threads(workload: str, *, batch: int) -> list[Line]:
    """One join on one thread and on two, and two joins of one thread at once: what the machine allows."""
    alone = _window_join(workload, batch=batch, threads=1)
    return [
        Line(f"{workload} threads=1", alone),
        Line(f"{workload} threads=2", _window_join(workload, batch=batch, threads=2)),
        Line(f"{workload} two joins at once", _at_once(alone, 2), work=2),
    ]


def _numpy_loop(pixels: tuple[Any, Any]) -> Callable[[], tuple[Any, int]]:
    """What a user without an engine would write: each new image against the other window (PEERS.md W5)."""
    bound = NEAR * PIXELS

    def near(image: Any, window: Any) -> int:
        difference = np.maximum(window, image) - np.minimum(window, image)
        return int((difference.sum(axis=1, dtype=np.uint32) <= bound).sum())

    def run() -> tuple[Any, int]:
        found = compared = 0
        for row in range(len(pixels[0])):
            low = max(0, row - WINDOW)
            found += near(pixels[0][row], pixels[1][low:row]) + near(pixels[1][row], pixels[0][low : row + 1])
            compared += 2 * (row - low) + 1
        return found, compared

    return run


def _pixels(block: pa.Table) -> Any:
    """The images of a block as they lie there; combine_chunks() copies, also a single chunk."""
    column = block.column("image")
    images = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    values = np.frombuffer(images.buffers()[1], np.uint8)
    return values[images.offset * PIXELS :][: len(images) * PIXELS].reshape(len(images), PIXELS)


def _numpy_where(left: pa.Table, right: pa.Table) -> Any:
    one, two = _pixels(left), _pixels(right)
    difference = np.maximum(one, two) - np.minimum(one, two)
    return difference.sum(axis=1, dtype=np.uint32) <= NEAR * PIXELS


def _groups(rows: int, where_rows: int) -> dict[str, Callable[[], list[Line]]]:
    """Lines that are compared with the first of their group, made when they are wanted."""
    import watersmeet as wm

    near = wm.distance("image", metric="mean-abs", at_most=NEAR)

    def images() -> list[Line]:
        tables = _images(rows, 1)[1], _images(rows, 2)[1]
        lines = [
            Line(f"images {topology} slices={n}", _ring_join(tables, near, slices=n, topology=topology))
            for topology in ("split", "ring")
            for n in (1, 2)
        ]
        taken_in = _ring_join(tables, near, slices=1, topology="split", window="0s")
        return [
            *lines,
            Line("images two joins at once", _at_once(lines[0].run, 2), work=2),
            Line("images taken in only", taken_in, is_part=True),
        ]

    def where() -> list[Line]:
        few = _images(where_rows, 1), _images(where_rows, 2)
        join = _ring_join((few[0][1], few[1][1]), wm.where(_numpy_where), slices=1, topology="split")
        return [
            Line("images numpy loop", _numpy_loop((few[0][0], few[1][0]))),
            Line("images where", join),
        ]

    return {
        "w1": lambda: _on_threads("W1", batch=65_536),
        "w2": lambda: _on_threads("W2", batch=1_024),
        "images": images,
        "where": where,
        "where-warm": lambda: _warmed(where),
    }


def _warmed(group: Callable[[], list[Line]]) -> list[Line]:
    """The group, after an array has come and gone that is larger than any temporary."""
    np.zeros(WARMING, np.uint8).fill(1)
    return group()


def main(
    only: str = "", repeats: Annotated[int, typer.Option(min=1)] = 5, rows: int = 2000, where_rows: int = 1200
) -> None:
    """Run the lines, print the ratios and write them down."""
    groups = _groups(rows, where_rows)
    if not only:  # each in a process of its own: what one leaves behind would change the next
        for name in groups:
            arguments = ("--only", name, "--repeats", str(repeats), "--rows", str(rows))
            subprocess.run(
                [sys.executable, __file__, *arguments, "--where-rows", str(where_rows)], check=True
            )
        return
    file = ROOT / "bench" / "results" / "ring.json"
    kept = json.loads(file.read_text()).get("groups", {}) if file.exists() else {}
    for name in only.split(","):
        kept[name] = {"machine": machine.card(), "lines": _measured(groups[name](), repeats)}
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"groups": kept}, indent=1, default=str) + "\n")


def _measured(group: list[Line], repeats: int) -> list[dict[str, Any]]:
    answers = {line.name: line.once() for line in group}
    if len({answers[line.name] for line in group if not line.is_part}) != 1:
        raise SystemExit(f"answers differ: {answers}")
    for _ in range(repeats):
        for line in group:
            line.once()
    for line in group:
        rate = f"{line.compared / line.cpu / 1e6:8.3f} M comparisons/CPU-s" if line.compared else ""
        ratio = line.work * group[0].wall / line.wall
        print(
            f"{line.name:24} wall {line.wall:7.3f} s  cpu {line.cpu:7.3f} s  x{ratio:5.2f} {rate}"
            + (
                f"  DISTURBED: {line.delayed:.3f} s without a core" if line.delayed > 0.02 * line.wall else ""
            ),
            flush=True,
        )
    return [
        {
            "name": line.name,
            "wall": line.wall,
            "cpu": line.cpu,
            "delayed": line.delayed,
            "compared": line.compared,
        }
        for line in group
    ]


if __name__ == "__main__":
    typer.run(main)
