"""Faults that are real: a worker that kills itself, a task that fails once, a driver killed from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from tests.spark.inputs import near

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("fault_query.py")
POLL_S = 0.05  # how often to look whether the moment of a kill has come


def faulty(folder: Path, fault: Literal["kill", "raise"], rows: list[int]) -> Callable[[Any, Any], Any]:
    """`near`, but the first call that sees a left row numbered as one of `rows`, or above, is struck.

    Each strikes once over all processes: whoever makes the mark in `folder` first.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def struck(left: pa.Table, right: pa.Table) -> Any:
        latest = max(left["row"].to_pylist(), default=-1)
        for row in rows:
            mark = folder / str(row)
            if latest < row or mark.exists():
                continue
            mark.touch()
            if fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("this task fails once, on purpose")
        return near(left, right)

    return struck


class Driver:
    """A query in a process group of its own, which can be killed as a machine would be."""

    def __init__(self, base: Path, log: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(base)],
                env=environment,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    def kill_when(self, moment: Callable[[], bool]) -> bool:
        """Kill driver, JVM and workers at a moment; False if the query ended before."""
        while not moment():
            try:
                self._process.wait(POLL_S)
            except subprocess.TimeoutExpired:
                continue
            return False
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return True

    def finish(self) -> int:
        """Let it run to its end."""
        return self._process.wait()


def inside_batch(base: Path, batch: int) -> Callable[[], bool]:
    """While a micro-batch is planned and not committed."""
    checkpoint = base / "checkpoint"
    return lambda: (checkpoint / "offsets" / str(batch)).exists()


def after_batch(base: Path, batch: int) -> Callable[[], bool]:
    """As soon as a micro-batch is committed."""
    checkpoint = base / "checkpoint"
    return lambda: (checkpoint / "commits" / str(batch)).exists()
