"""The machine card: what a figure was measured on, and what else was running there."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import peers
from bench.contract import UnavailableError
from bench.loops import FLAGS, compiler

__all__ = ["card"]

_ROOT = Path(__file__).resolve().parent.parent
_NOTED_FLAGS = ("sse4_2", "avx2", "avx512f", "avx512bw", "avx512_vpopcntdq")
_LIBRARIES = ("watersmeet", "numpy", "pyarrow", "duckdb", "polars")


def card() -> dict[str, Any]:
    """Everything a reader needs to judge a figure, as plain JSON values."""
    cpu = _cpu()
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "cpu": cpu.get("model name", platform.processor()),
        "cpu_flags": [flag for flag in _NOTED_FLAGS if flag in cpu.get("flags", "").split()],
        "cache": cpu.get("cache size", ""),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "compiler": _compiler(),
        "loop_flags": " ".join(FLAGS),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _cpu() -> dict[str, str]:
    """The fields of the first processor; empty where there is no /proc."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return {}
    first = info.read_text().split("\n\n")[0]
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def _commit() -> str:
    """The commit measured, marked when the tree differs from it."""
    described = _output("git", "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=12")
    return described or "unknown"


def _compiler() -> str:
    try:
        return _output(compiler(), "--version").split("\n")[0]
    except UnavailableError:
        return "none"


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "from the source tree" if name == "watersmeet" else "not installed"
    for name in peers.OWN_ENVIRONMENT:
        found[name] = peers.version(name) or "not installed"
    return found


def _output(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else ""
