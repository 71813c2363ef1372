"""The other systems: where their interpreters are, and how to install them.

DuckDB and Polars live in the environment that runs the bench. Pathway and Flink pin old versions of NumPy and
Arrow, so each has an environment of its own under `bench/.cache/venvs`, made by `make bench-peers` (`python
-m bench.peers`). Flink also needs Java 11 or 17 on the PATH or in JAVA_HOME.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.contract import UnavailableError
from bench.workloads import CACHE

__all__ = ["OWN_ENVIRONMENT", "install", "interpreter", "java_home", "version"]

# Peer -> what pip installs for it.
OWN_ENVIRONMENT = {"pathway": ("pathway",), "flink": ("apache-flink",)}
_SAME_ENVIRONMENT = ("duckdb", "polars", "pyarrow", "scipy", "watersmeet")
_DISTRIBUTION = {"flink": "apache-flink"}
_JAVA_VERSIONS = ("17", "11")


def interpreter(peer: str | None) -> str:
    """The Python that can load this peer. Raises `UnavailableError` with the command that installs it."""
    if peer in OWN_ENVIRONMENT:
        python = _environment(peer) / "bin" / "python"
        if not python.exists():
            raise UnavailableError(f"{peer} is not installed: run `make bench-peers`")
        return str(python)
    if peer in _SAME_ENVIRONMENT and importlib.util.find_spec(peer) is None:
        how = "build it (`make build`)" if peer == "watersmeet" else f"run `pip install {peer}`"
        raise UnavailableError(f"{peer} is not installed: {how}")
    return sys.executable


def java_home() -> str:
    """A Java that Flink runs on. Raises `UnavailableError` if there is none."""
    candidates = [os.environ.get("JAVA_HOME", "")]
    candidates += [
        str(path) for number in _JAVA_VERSIONS for path in Path("/usr/lib/jvm").glob(f"*{number}*")
    ]
    for home in candidates:
        if home and (Path(home) / "bin" / "java").exists():
            return home
    raise UnavailableError(
        "Java 17 was not found: run `apt-get install openjdk-17-jre-headless` or set JAVA_HOME"
    )


def version(peer: str) -> str | None:
    """The installed version of a peer, or None."""
    try:
        python = interpreter(peer)
    except UnavailableError:
        return None
    name = _DISTRIBUTION.get(peer, peer)
    asked = subprocess.run(
        [python, "-c", f"import importlib.metadata as m; print(m.version({name!r}))"],
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or None


def install(peer: str) -> None:
    """Makes the peer's environment anew and installs it there."""
    folder = _environment(peer)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--prefer-binary"]
    # Flink's set-up still asks for pkg_resources, which newer setuptools no longer has.
    subprocess.run([*pip, "numpy", "setuptools<80", *OWN_ENVIRONMENT[peer]], check=True)


def _environment(peer: str) -> Path:
    return CACHE / "venvs" / peer


def _main(arguments: list[str]) -> int:
    failed = []
    unknown = [peer for peer in arguments if peer not in OWN_ENVIRONMENT]
    if unknown:
        print(f"{unknown[0]!r} is none of {', '.join(OWN_ENVIRONMENT)}", file=sys.stderr)
        return 2
    for peer in arguments or OWN_ENVIRONMENT:
        print(f"installing {peer} into {_environment(peer)}", flush=True)
        try:
            install(peer)
        except subprocess.CalledProcessError as error:
            failed.append(peer)
            print(f"{peer} could not be installed: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
