"""What the user sees while a command runs: progress on standard error, and only where that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

__all__ = ["JoinProgress", "stderr", "stdout"]


def stdout() -> Console:
    """The console of standard output, made anew so that a redirection is seen."""
    return Console(file=sys.stdout, highlight=False)


def stderr() -> Console:
    """The console of standard error."""
    return Console(file=sys.stderr, highlight=False)


class _RateColumn(ProgressColumn):
    """Rows joined per second since the start."""

    def render(self, task: Task) -> Text:
        elapsed = task.finished_time if task.finished else task.elapsed
        rows = task.fields.get("rows", 0)
        return Text(f"{rows / elapsed:,.0f} rows/s" if elapsed else "- rows/s", style="cyan")


class JoinProgress:
    """A bar with rows, rate, results and the time left; silent unless standard error is a terminal."""

    def __init__(self, description: str, *, total: float | None, wanted: bool | None = None) -> None:
        console = stderr()
        shown = console.is_terminal if wanted is None else wanted
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rows]:,} rows"),
            _RateColumn(),
            TextColumn("{task.fields[results]:,} results"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=False,
            disable=not shown,
        )
        self._task = self._progress.add_task(description, total=total, rows=0, results=0)

    def update(self, *, done: float, rows: int, results: int) -> None:
        """Show how far the work has come."""
        self._progress.update(self._task, completed=done, rows=rows, results=results)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()
