"""Promises about the repository itself."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def project_files() -> list[Path]:
    """The files that git tracks or would track."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    paths = (ROOT / line for line in done.stdout.splitlines())
    return [path for path in paths if path.is_file() and path.resolve() != Path(__file__).resolve()]


def build_files() -> list[Path]:
    names = {"CMakeLists.txt", "CMakePresets.json", "Makefile", "pyproject.toml"}
    return [
        path for path in project_files() if path.name in names or path.suffix in {".cmake", ".sh", ".yml"}
    ]


def test_the_version_is_written_in_pyproject_alone() -> None:
    version = re.escape(SETTINGS["project"]["version"])
    typed = re.compile(rf"""version\w*\s*[=:(]\s*["']?{version}\b""", re.IGNORECASE)
    sources = [
        path
        for path in project_files()
        if path.suffix in {".py", ".cc", ".h", ".txt", ".cmake", ".toml", ".json"}
    ]
    found = [path.name for path in sources if typed.search(path.read_text(encoding="utf-8"))]
    assert found == ["pyproject.toml"]


def test_nothing_is_built_for_the_machine_that_builds_it() -> None:
    option = re.compile(r"-m(arch|tune|cpu)=native")
    lines = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in build_files()
        for line in path.read_text(encoding="utf-8").splitlines()
        if option.search(line) and not line.lstrip().startswith("#")
    ]
    assert lines == []


def test_every_lint_exception_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text[text.index("\nignore = [") :].split("\n]", maxsplit=1)[0].splitlines()[2:]
    per_file = (
        text[text.index("[tool.ruff.lint.per-file-ignores]") :].split("\n\n", maxsplit=1)[0].splitlines()[1:]
    )
    assert block
    assert [line for line in block + per_file if "#" not in line] == []


def test_ci_runs_make_test() -> None:
    run = ROOT / ".ci" / "run"
    assert run.read_text(encoding="utf-8").rstrip().endswith("exec make test")
    assert run.stat().st_mode & 0o111


def test_the_changelog_knows_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(SETTINGS['project']['version'])}\]", text, re.MULTILINE)
