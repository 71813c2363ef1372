"""Print what pyproject.toml asks for, one a line: build system, dependencies and the extras named.

Usage: python tools/requirements.py dev spark

The Makefile installs these before it builds the package itself without isolation, so that a second build is
incremental and the versions stand in one file only.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def extra_requirements(project: dict[str, Any], extra: str) -> list[str]:
    """The requirements of one extra, with references to the project's own extras resolved."""
    own = re.compile(rf"{re.escape(project['name'])}\[(?P<extras>[^\]]+)\]")
    found: list[str] = []
    for requirement in project["optional-dependencies"][extra]:
        if reference := own.fullmatch(requirement):
            for name in reference["extras"].split(","):
                found += extra_requirements(project, name.strip())
        else:
            found.append(requirement)
    return found


def requirements(extras: list[str]) -> list[str]:
    """Everything to install before the package is built and tested with these extras."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    found = [*settings["build-system"]["requires"], *project["dependencies"]]
    for extra in extras:
        found += extra_requirements(project, extra)
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
