"""Runs the workloads on every engine, checks each answer, times it, prints a table and writes it down.

    python bench/run.py [W1 W2 ...] [--engines ours,duckdb] [--scale 0.1] [--repeats 3] [--add]

Every line of the table first runs once untimed with its results' count and checksum compared with the
reference (reference.py); a line that is wrong is not timed. Then come the rounds: each round runs every line
once, each in a process of its own pinned to one core, so that a slow moment of the machine hits all lines
alike. The unit is tuples (both sides together) per CPU-second; "of loop" is the bare C++ loop's best CPU time
over this line's, both from this run, same input.

Writes bench/results/latest.json (with the machine card) and bench/results/latest.md anew, or adds to them
(report.py). Exit code 1 if an answer was wrong or ours broke.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # started as a script: `bench` is the package, not the folder on the path
# The sources, where the module was built beside them (`make dev`); else the installed package.
SOURCES = [str(ROOT / "python")] if any(ROOT.glob("python/watersmeet/_core/_native*.so")) else []
sys.path[1:1] = SOURCES

import typer  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: E402

from bench import machine, peers, report  # noqa: E402
from bench.contract import UnavailableError, Variant  # noqa: E402
from bench.reference import Answer, answer  # noqa: E402
from bench.worker import engine_of  # noqa: E402
from bench.workloads import WORKLOADS, Case  # noqa: E402

__all__ = ["main"]

_RESULTS = ROOT / "bench" / "results"
_ENGINES = ("loop", "ours", "duckdb", "polars", "pathway", "flink", "numpy")
_LIMIT_SECONDS = 900.0


@dataclass(slots=True)
class Line:
    """One line of the table: what is run, and what came of it."""

    workload: str
    engine: str
    variant: Variant
    case: Case
    scale: float
    state: str = "ok"  # or why there are no figures
    wrong: bool = False
    rows_checked: bool = False  # else only the number of results was compared
    timed: list[dict[str, Any]] = field(default_factory=list)

    @property
    def limit(self) -> int | None:
        return self.variant.repeats

    @property
    def best_cpu(self) -> float | None:
        return min((run["cpu"] for run in self.timed), default=None)

    @property
    def rate(self) -> float | None:
        best = self.best_cpu
        return None if not best else self.case.tuples / best

    def request(self, *, core: int | None, check: bool) -> dict[str, Any]:
        case = self.case
        resize = {"rows": case.rows, "window_us": case.window_us, "domain": case.domain}
        return {
            "workload": self.workload,
            "engine": self.engine,
            "variant": self.variant.name,
            "scale": max(1.0, self.scale),
            "resize": resize,
            "core": core,
            "check": check,
        }


def _lines(workload: str, engines: list[str], scale: float) -> list[Line]:
    """The engines' own lines, and, for every smaller input one of them needs, the loop and ours on that
    input.
    """
    full = WORKLOADS[workload].scaled(scale)
    lines = []
    for engine in engines:
        if not (ROOT / "bench" / "scenarios" / workload.lower() / f"{engine}.py").exists():
            continue
        for variant in engine_of(workload, engine).variants:
            lines.append(Line(workload, engine, variant, variant.case(full), scale))
    for case in {line.case.slug: line.case for line in lines}.values():
        for engine in ("loop", "ours"):
            if engine not in engines or any(_same(line, engine, case) for line in lines):
                continue
            first = engine_of(workload, engine).variants[0]
            lines.append(Line(workload, engine, first, case, scale))
    return lines


def _same(line: Line, engine: str, case: Case) -> bool:
    return line.engine == engine and line.case.slug == case.slug


def _start(line: Line, *, core: int | None, check: bool) -> dict[str, Any]:
    """Runs one worker process. Raises `UnavailableError` with the reason when it gives no figures."""
    python = peers.interpreter(engine_of(line.workload, line.engine).needs)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *SOURCES))}
    request = json.dumps(line.request(core=core, check=check))
    try:
        run = subprocess.run(
            [python, "-m", "bench.worker", request],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment,
            timeout=_LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired as late:
        raise UnavailableError(f"gave no answer in {_LIMIT_SECONDS:.0f} s") from late
    if run.returncode != 0:
        raise UnavailableError(f"failed: {(run.stderr.strip().splitlines() or ['no message'])[-1][:200]}")
    report: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
    if "unavailable" in report:
        raise UnavailableError(report["unavailable"])
    return report


def _verify(line: Line, report: dict[str, Any], right: Answer) -> None:
    """Notes a wrong answer. A line that gives no row numbers is held to the count."""
    if report["count"] != right.count:
        line.wrong, line.state = True, f"WRONG: {report['count']} results, not {right.count}"
    elif report["checksum"] not in (None, right.checksum):
        line.wrong, line.state = True, "WRONG: as many results as there should be, but other ones"
    line.rows_checked |= report["checksum"] is not None


def _check(line: Line, *, core: int | None) -> None:
    """The untimed run. A line that cannot hand over row numbers, or runs only once, is checked by its timed
    run instead.
    """
    if line.variant.repeats == 1 and not line.variant.checks:
        return
    try:
        _verify(line, _start(line, core=core, check=True), answer(line.case))
    except UnavailableError as reason:
        line.state = str(reason)


def _time(line: Line, *, core: int | None) -> None:
    try:
        report = _start(line, core=core, check=False)
    except UnavailableError as reason:
        line.state = str(reason)
        return
    _verify(line, report, answer(line.case))
    if not line.wrong:
        line.timed.append(report)


def _run(lines: list[Line], *, repeats: int, core: int | None, console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("checking", total=len(lines) * (1 + repeats))
        for line in lines:
            progress.update(task, description=f"checking {_label(line)}")
            _check(line, core=core)
            progress.advance(task)
        for number in range(repeats):
            for line in lines:
                progress.update(task, description=f"round {number + 1} {_label(line)}")
                if line.state == "ok" and number < (line.limit or repeats):
                    _time(line, core=core)
                progress.advance(task)


def _label(line: Line) -> str:
    return f"{line.workload} {line.engine}, {line.variant.name}"


def _loop_of(lines: list[Line], line: Line) -> Line | None:
    """The loop that this line is compared with: the first one on the same input."""
    loops = (other for other in lines if other.workload == line.workload and _same(other, "loop", line.case))
    return next(loops, None)


def _figures(lines: list[Line], line: Line) -> dict[str, Any]:
    """A line as plain values, as report.py takes them."""
    best, rate = line.best_cpu, line.rate
    loop = _loop_of(lines, line)
    against = loop.best_cpu / best if loop and loop.best_cpu and best else None
    return {
        "workload": line.workload,
        "engine": line.engine,
        "kind": engine_of(line.workload, line.engine).kind,
        "variant": line.variant.name,
        "input": line.case.shape,
        "state": line.state,
        "checked": "rows" if line.rows_checked else "count",
        "runs": len(line.timed),
        "results": line.timed[0]["count"] if line.timed else None,
        "tuples_per_cpu_s": rate,
        "best_cpu_s": best,
        "median_cpu_s": statistics.median(run["cpu"] for run in line.timed) if line.timed else None,
        "best_wall_s": min((run["wall"] for run in line.timed), default=None),
        "peak_mb": max((run["peak_mb"] for run in line.timed), default=None)
        if line.engine != "loop"
        else None,
        "of_loop": against,
        "results_per_cpu_s": line.timed[0]["count"] / best if line.timed and best else None,
    }


def main(
    workloads: Annotated[
        list[str] | None, typer.Argument(help="W1 W1z W2 W2b W3 W4 W5; all by default")
    ] = None,
    *,
    engines: Annotated[str, typer.Option(help="comma-separated")] = ",".join(_ENGINES),
    scale: Annotated[float, typer.Option(help="part of each stream; below 1 is for a quick look")] = 1.0,
    repeats: Annotated[int, typer.Option(help="rounds of timed runs", min=1)] = 3,
    core: Annotated[int, typer.Option(help="the core to run on; -1: do not pin")] = -2,
    add: Annotated[bool, typer.Option("--add", help="keep the parts that are in the files")] = False,
) -> None:
    """Checks and times every engine on the workloads."""
    chosen = workloads or list(WORKLOADS)
    named = [name.strip() for name in engines.split(",")]
    for given, allowed in ((chosen, tuple(WORKLOADS)), (named, _ENGINES)):
        unknown = [name for name in given if name not in allowed]
        if unknown:
            raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(allowed)}")
    pinned = (os.cpu_count() or 1) - 1 if core == -2 else None if core < 0 else core
    console = Console()
    card = machine.card()
    lines = [line for name in chosen for line in _lines(name, named, scale)]
    _run(lines, repeats=repeats, core=pinned, console=console)
    rows = [_figures(lines, line) for line in lines]
    asked = f"{' '.join(chosen)}: {', '.join(named)}" + ("" if scale == 1.0 else f", scale {scale:g}")
    part = report.Part(asked, card, scale, repeats, pinned, rows)
    console.print(report.terminal(part))
    report.write(part, _RESULTS, add=add)
    console.print(f"written: {_RESULTS.relative_to(ROOT)}/latest.json, latest.md")
    if any(line.wrong or (line.engine == "ours" and line.state.startswith("failed")) for line in lines):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
