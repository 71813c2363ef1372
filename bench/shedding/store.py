"""Outcomes of single runs, kept between calls: a table that takes an hour can be made in pieces.

An outcome belongs to the code that made it: the store's file is named after a digest of the compiled core's
sources, the package and the bench. Change any of them and the table begins anew.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_CODE = ("cpp/watersmeet", "cpp/bindings", "python/watersmeet/control", "python/watersmeet/join",
         "python/watersmeet/testing", "bench/shedding")  # fmt: skip


class Store:
    """Outcomes by key; `minutes` bounds how long new ones are made, and `left` counts those not made."""

    def __init__(self, name: str, *, minutes: float = float("inf")) -> None:
        self.path = ROOT / "build" / "bench" / "shedding" / f"{name}-{digest()}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._until = time.monotonic() + 60.0 * minutes
        self._known = dict(_lines(self.path))
        self.left = 0

    def outcome(self, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """The outcome from an earlier call, or made now; None when the time is up."""
        if key in self._known:
            return self._known[key]
        if time.monotonic() >= self._until:
            self.left += 1
            return None
        self._known[key] = made = make()
        with self.path.open("a") as file:
            file.write(json.dumps([key, made]) + "\n")
        return made

    def closing(self) -> str:
        """What is to be done next, or nothing."""
        return f"{self.left} runs left: call again to go on ({self.path.name})" if self.left else "complete"


def digest() -> str:
    """Of all code that an outcome depends on."""
    hashed = hashlib.sha256()
    for folder in _CODE:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".cc", ".h"):
                hashed.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()[:16]


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            key, made = json.loads(line)
        except ValueError:  # the last line of a call that was cut off
            continue
        yield key, made
