"""Compiles and runs the bare C++ loops, `scenarios/<workload>/loop.cc`.

The flags are those of the wheel: -O3 and no -march=native, so that the ratio to a loop compares code, not
builds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.contract import Engine, Job, Measured, Sink, UnavailableError, Variant
from bench.sinks import CheckingSink
from bench.workloads import CACHE, Case, data_folder, load

__all__ = ["FLAGS", "compiler", "loop_engine"]

FLAGS = ("-O3", "-DNDEBUG", "-std=c++20")
_SCENARIOS = Path(__file__).resolve().parent / "scenarios"


def compiler() -> str:
    """The C++ compiler, `$CXX` or g++."""
    found = shutil.which(os.environ.get("CXX", "g++"))
    if found is None:
        raise UnavailableError("no C++ compiler was found: run `apt-get install g++` or set CXX")
    return found


def loop_engine(source: str, *variants: Variant) -> Engine:
    """The engine of the loop beside `source`, the path of a scenario's loop.py. Options: `kind` and
    `batch`.
    """
    folder = Path(source).resolve().parent

    def prepare(case: Case, options: Mapping[str, Any]) -> Job:
        return _prepare(folder, case, options)

    return Engine(kind="loop", prepare=prepare, variants=variants, warm=False)


def _prepare(folder: Path, case: Case, options: Mapping[str, Any]) -> Job:
    binary = _compile(folder)
    for stream in range(case.streams):
        load(case, stream)  # draws what is missing
    sizes = (case.rows, case.spacing_us, case.window_us, case.domain, case.threshold)
    command = [str(binary), str(data_folder(case)), *map(str, sizes)]
    command += [options.get("kind", "-"), str(options["batch"])]

    def job(sink: Sink) -> Measured:
        checking = isinstance(sink, CheckingSink)
        run = subprocess.run(
            [*command, "1" if checking else "0"], capture_output=True, text=True, check=False
        )
        if run.returncode != 0:
            raise UnavailableError(f"the loop failed: {run.stderr.strip()}")
        report = json.loads(run.stdout)
        return Measured(
            wall=report["wall"],
            cpu=report["cpu"],
            count=report["count"],
            checksum=report["checksum"] if checking else None,
        )

    return job


def _compile(folder: Path) -> Path:
    """Builds the loop unless its binary is newer than every C++ file of the scenarios."""
    binary = CACHE / "bin" / folder.name
    newest = max(path.stat().st_mtime for path in [*_SCENARIOS.rglob("*.h"), *_SCENARIOS.rglob("*.cc")])
    if not binary.exists() or binary.stat().st_mtime < newest:
        binary.parent.mkdir(parents=True, exist_ok=True)
        part = binary.with_suffix(f".{os.getpid()}")
        command = [compiler(), *FLAGS, str(folder / "loop.cc"), "-o", str(part)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise UnavailableError(f"the loop does not compile: {built.stderr.strip()[:400]}")
        part.replace(binary)
    return binary
