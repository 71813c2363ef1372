"""watersmeet calibrate: this machine's unit costs, as the cost model uses them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from watersmeet.cli import terminal
from watersmeet.cli.failures import guarded
from watersmeet.cost import Calibration
from watersmeet.errors import ConfigError

__all__ = ["calibrate"]

_WIDTH = 176  # a table that is cut says nothing


@guarded
def calibrate(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small windows and few repeats; is not kept.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Print what was measured last, measure nothing.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure what scanning, hashing, reading postings, inserting and expiring cost on this machine.

    Kept in the user's cache folder, where index="auto" finds it.
    """
    found = _kept() if show else _measured(quick=quick)
    if json:
        typer.echo(found.to_json())
        return
    console = terminal.stdout()
    console.width = max(console.width, _WIDTH)
    console.print(_table(found))
    for kind, cost in found.ingest.items():
        console.print(f"a row of {kind!r}, whatever the index: {cost:.3g} ns")


def _kept() -> Calibration:
    from watersmeet.join.calibration.cache import calibration_path, read_calibration

    found = read_calibration()
    if found is None:
        raise ConfigError(f"--show: nothing usable in {calibration_path()}; run `watersmeet calibrate` first")
    return found


def _measured(*, quick: bool) -> Calibration:
    from watersmeet.join.calibration.calibrate import calibrate as measure

    console = terminal.stderr()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("calibrate", total=1)

        def progress(done: int, steps: int, what: str) -> None:
            bar.update(task, completed=done, total=steps, description=what)

        if quick:
            return measure(progress=progress, sizes=(64, 4_096), repeats=2, cache=False)
        return measure(progress=progress)


def _table(calibration: Calibration) -> Table:
    table = Table(title="nanoseconds per operation, best repeat and worst", title_justify="left", box=None)
    for name in ("predicate", "structure", "operation"):
        table.add_column(name, no_wrap=True)
    sizes = sorted({line.window_rows for line in calibration.lines})
    for size in sizes:
        table.add_column(f"{size:,.0f} rows", justify="right", no_wrap=True)
    rows: dict[tuple[str, str, str], dict[float, str]] = {}
    for line in calibration.lines:
        cells = rows.setdefault((line.kind, line.structure, line.operation), {})
        cells[line.window_rows] = f"{_figure(line.nanoseconds)} - {_figure(line.high)}"
    for (kind, structure, operation), cells in sorted(rows.items(), key=lambda row: row[0][:2]):
        table.add_row(kind, structure, operation, *(cells.get(size, "") for size in sizes))
    return table


def _figure(nanoseconds: float) -> str:
    """Three digits at most before the point, or none after it."""
    return f"{nanoseconds:.3g}" if nanoseconds < 100.0 else f"{nanoseconds:,.0f}"
