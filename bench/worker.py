"""One measurement in a process of its own: `python -m bench.worker '<JSON request>'`, started by run.py.

The process is pinned to one core, prepares the input, runs the join on a short prefix to load what loads
lazily (and once in full, where the variant is rehearsed), and then runs it once under the clock. It prints
one JSON line. CPU time is user + system time of all threads and of child processes (Flink's JVM), so an
engine that uses helper threads pays for them.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from bench.contract import Engine, Measured, UnavailableError, Variant
from bench.sinks import CheckingSink, CountingSink
from bench.workloads import WORKLOADS, Case

__all__ = ["engine_of", "measure"]

_WARM_ROWS = 2_000


def engine_of(workload: str, engine: str) -> Engine:
    """The `ENGINE` of scenarios/<workload>/<engine>.py."""
    module = importlib.import_module(f"bench.scenarios.{workload.lower()}.{engine}")
    found: Engine = module.ENGINE
    return found


def measure(engine: Engine, variant: Variant, case: Case, *, check: bool) -> Measured:
    """Runs the job once, under the clock; with `check` the results' checksum is taken, and the times mean
    nothing.
    """
    if engine.warm:
        engine.prepare(case.resized(rows=_WARM_ROWS), variant.options)(CountingSink())
    if variant.rehearsed and not check:
        engine.prepare(case, variant.options)(CountingSink())
    job = engine.prepare(case, variant.options)
    sink = CheckingSink() if check else CountingSink()
    wall, cpu = time.perf_counter(), _cpu_seconds()
    own = job(sink)
    wall, cpu = time.perf_counter() - wall, _cpu_seconds() - cpu
    return own or Measured(wall=wall, cpu=cpu, count=sink.count, checksum=sink.checksum)


def _cpu_seconds() -> float:
    """User + system time of this process, its ended children and its running descendants."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total + sum(_cpu_of(process) for process in _descendants(os.getpid()))


def _descendants(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children")
    if not children.exists():
        return []
    found = [int(child) for task in Path(f"/proc/{process}/task").iterdir() for child in _children(task)]
    return found + [deeper for child in found for deeper in _descendants(child)]


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):  # the thread ended meanwhile
        return []


def _cpu_of(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    engine = engine_of(request["workload"], request["engine"])
    variant = next(variant for variant in engine.variants if variant.name == request["variant"])
    case = WORKLOADS[request["workload"]].scaled(request["scale"]).resized(**request["resize"])
    if engine.pinned and request["core"] is not None:
        os.sched_setaffinity(0, {request["core"]})
    measured = measure(engine, variant, case, check=request["check"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "wall": measured.wall,
        "cpu": measured.cpu,
        "count": measured.count,
        "checksum": measured.checksum,
        "peak_mb": round(peak),
    }


def _main(arguments: list[str]) -> None:
    try:
        answer = _answer(json.loads(arguments[0]))
    except UnavailableError as reason:
        answer = {"unavailable": str(reason)}
    print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1:])
