"""`pip install .` of a clean clone into an empty environment, offline: what a stranger gets."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Filled by `make venv` with what the build and the package require, so that this test downloads nothing.
WHEELHOUSE = Path(os.environ.get("WATERSMEET_WHEELHOUSE", ROOT / ".venv" / "wheelhouse"))


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Run a command away from this process's Python settings; fail with what it printed."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PIP_", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the commit under test: what is not committed is not in it."""
    head = subprocess.run(
        ["git", "rev-parse", "--verify", "-q", "HEAD"], cwd=ROOT, capture_output=True, check=False
    )
    if head.returncode:
        pytest.skip("no commit to clone: not a git checkout, or nothing committed yet")
    folder = tmp_path_factory.mktemp("clone") / "watersmeet"
    run("git", "clone", "-q", "--no-hardlinks", ROOT, folder)
    return folder


@pytest.mark.slow
@pytest.mark.installs
def test_a_clean_clone_installs_into_an_empty_environment_and_passes_the_smoke_test(
    clone: Path, tmp_path: Path
) -> None:
    if not any(WHEELHOUSE.glob("*.whl")):
        pytest.skip(f"no wheels in {WHEELHOUSE}: run `make venv`")
    if not (clone / "pyproject.toml").exists():
        pytest.skip("the commit has no pyproject.toml yet")
    environment = tmp_path / "empty"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(
        *(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-index",
            "--find-links",
            WHEELHOUSE,
            clone,
            "pytest",
        ),
        cwd=tmp_path,
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(WHEELHOUSE),
        CMAKE_BUILD_PARALLEL_LEVEL="2",
        CCACHE_BASEDIR=str(clone),
        CCACHE_NOHASHDIR="1",
    )
    where = run(python, "-c", "import watersmeet; print(watersmeet.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(environment)
    smoke = clone / "tests" / "packaging" / "test_smoke.py"
    printed = run(
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--noconftest",
        "--rootdir",
        tmp_path,
        "-c",
        os.devnull,
        smoke,
        cwd=tmp_path,
    )
    assert " passed" in printed
