"""The room rules of ARCHITECTURE.md for C++: who may include whom, and what the core never does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "cpp" / "watersmeet"

# Downwards only: a room may include itself and the rooms before it. `snapshot` reads and writes frames for
# the stateful rooms, so it comes right after `base`; a predicate is evaluated on rows of windows, so it
# follows them.
ROOMS = ["base", "snapshot", "tuple", "window", "predicate", "merge", "index", "order", "slice", "join"]

INCLUDE = re.compile(
    r'^\s*#\s*include\s*["<]watersmeet/(?P<room>[a-z_]+)/(?P<file>[a-z0-9_]+\.h)[">]', re.MULTILINE
)
QUOTED = re.compile(r'^\s*#\s*include\s*"(?P<path>[^"]+)"', re.MULTILINE)
PYTHON = re.compile(r"^\s*#\s*include\s*[\"<](pybind11/|Python\.h)", re.MULTILINE)
FORBIDDEN = re.compile(
    r"\b(std::cout|std::cerr|printf|fprintf|puts|std::abort|abort|std::exit|exit)\s*(\(|<<)"
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

FILES = sorted(path for pattern in ("*.h", "*.cc") for path in CORE.rglob(pattern))
HEADERS = [path for path in FILES if path.suffix == ".h"]


def upward_includes(room: str, text: str) -> list[str]:
    """The includes in a file of `room` that point at a room above it, or at no room at all."""
    allowed = ROOMS[: ROOMS.index(room) + 1]
    return [found[0].strip() for found in INCLUDE.finditer(text) if found["room"] not in allowed]


def name_of(path: Path) -> str:
    return str(path.relative_to(CORE))


def test_the_core_has_files() -> None:
    assert FILES


def test_every_folder_of_the_core_is_a_room() -> None:
    assert {path.name for path in CORE.iterdir() if path.is_dir()} <= set(ROOMS)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_includes_go_downwards_only(path: Path) -> None:
    assert upward_includes(path.parent.name, path.read_text(encoding="utf-8")) == []


def test_an_upward_include_is_found() -> None:
    text = '#include "watersmeet/base/types.h"\n#  include "watersmeet/join/drive.h"\n'
    assert upward_includes("window", text) == ['#  include "watersmeet/join/drive.h"']
    assert upward_includes("join", text) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_own_headers_are_included_by_their_full_path(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [found for found in QUOTED.findall(text) if not found.startswith("watersmeet/")] == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_core_knows_no_python_prints_nothing_and_never_aborts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not PYTHON.search(text)
    assert FORBIDDEN.search(COMMENT.sub("", text)) is None


@pytest.mark.parametrize("path", HEADERS, ids=name_of)
def test_a_header_opens_with_its_contract_and_is_included_once(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("// ")
    assert len(re.findall(r"^#pragma once$", text, re.MULTILINE)) == 1
