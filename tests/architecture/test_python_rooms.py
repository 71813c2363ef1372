"""The room rules of ARCHITECTURE.md for Python: who imports whom, and what importing a room loads."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "watersmeet"
PURE_ROOMS = ["vocabulary", "errors", "cost", "control", "plan", "ring"]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of pyproject.toml over the package `watersmeet` found in `folder`."""
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", program, "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def imported_modules(path: Path, *, package: Path) -> set[str]:
    """The full names of everything a file imports, wherever in the file it does so."""
    inside = ["watersmeet", *path.relative_to(package).parent.parts]
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = inside[: len(inside) + 1 - node.level] if node.level else []
            origin = ".".join([*start, *([node.module] if node.module else [])])
            names |= {origin} | {f"{origin}.{alias.name}" for alias in node.names}
    return names


def rooms_that_import(module: str, *, package: Path) -> set[str]:
    """The rooms, other than the module's own, with a file that imports `module` or something in it."""
    found = set()
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        names = imported_modules(path, package=package)
        if f"watersmeet.{room}" != module and any(f"{name}.".startswith(f"{module}.") for name in names):
            found.add(room)
    return found


def plant_package(folder: Path, files: dict[str, str]) -> Path:
    """A package `watersmeet` with every room empty but for the given files."""
    package = folder / "watersmeet"
    rooms = [
        "_core",
        "vocabulary",
        "cost",
        "control",
        "plan",
        "ring",
        "join",
        "spark",
        "observe",
        "testing",
        "cli",
    ]
    for room in rooms:
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").write_text("")
    for path in ["__init__.py", "errors.py", "_core/_native.py"]:
        (package / path).write_text("")
    for path, text in files.items():
        (package / path).write_text(text)
    return folder


def test_imports_follow_the_contracts() -> None:
    done = lint_imports(ROOT / "python")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("vocabulary/stream.py", "from watersmeet import join\n"),
        ("cost/model.py", "import watersmeet.plan\n"),
        ("control/rate.py", "import watersmeet.ring\n"),
        ("join/drive.py", "import watersmeet.observe\n"),
        ("errors.py", "def late():\n    from .vocabulary import stream\n"),
    ],
)
def test_an_upward_import_breaks_the_contract(tmp_path: Path, path: str, text: str) -> None:
    done = lint_imports(plant_package(tmp_path, {"vocabulary/stream.py": "", path: text}))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout


def test_downward_imports_keep_the_contract(tmp_path: Path) -> None:
    allowed = {
        "join/drive.py": "from watersmeet._core import _native\nimport watersmeet.control\n",
        "testing/clock.py": "import watersmeet._core\n",
        "spark/frames.py": "import watersmeet.join\n",
        "cli/run.py": "import watersmeet.spark, watersmeet.testing\n",
    }
    done = lint_imports(plant_package(tmp_path, allowed))
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_join_and_testing_open_the_compiled_core() -> None:
    assert rooms_that_import("watersmeet._core", package=PACKAGE) <= {"join", "testing"}


def test_only_spark_and_cli_know_pyspark() -> None:
    assert rooms_that_import("pyspark", package=PACKAGE) <= {"spark", "cli"}


@pytest.mark.parametrize(
    "text",
    [
        "import watersmeet._core\n",
        "from watersmeet import _core\n",
        "from watersmeet._core import _native\n",
        "def late():\n    from .. import _core\n",
        "from .._core._native import Join\n",
    ],
)
def test_every_way_to_open_a_door_is_seen(tmp_path: Path, text: str) -> None:
    package = plant_package(tmp_path, {"control/rate.py": text}) / "watersmeet"
    assert rooms_that_import("watersmeet._core", package=package) == {"control"}


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_does_not_load_the_compiled_core(room: str) -> None:
    if not list(PACKAGE.glob(f"{room}*")):
        pytest.skip(f"watersmeet.{room} is not written yet")
    program = (
        f"import sys, watersmeet.{room}\n"
        "loaded = [name for name in sys.modules if name.startswith(('watersmeet._core', 'pyspark'))]\n"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
