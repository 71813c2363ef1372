"""Writes down what was measured: bench/results/latest.json and latest.md, and the table on the terminal.

A file holds one part per run of the bench: its machine card, what was asked for, and its lines. A ratio is
taken inside one part only. A run either begins the files anew or, with `--add`, adds its part to theirs, in
place of an earlier one that was asked for the same; parts of another commit stay, and say so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

__all__ = ["Part", "markdown", "terminal", "write"]

_HEADINGS = (
    "workload",
    "input",
    "engine",
    "variant",
    "tuples/CPU-s",
    "of loop",
    "best",
    "median",
    "results",
    "note",
)


@dataclass(frozen=True, slots=True)
class Part:
    """One run of the bench."""

    asked: str  # workloads, engines, scale: what makes two runs the same part
    machine: Mapping[str, Any]
    scale: float
    repeats: int
    core: int | None
    lines: Sequence[Mapping[str, Any]]


def write(part: Part, folder: Path, *, add: bool) -> None:
    """Write both files of `folder`; with `add` the parts that are there stay."""
    file = folder / "latest.json"
    parts = [Part(**kept) for kept in json.loads(file.read_text())["parts"]] if add and file.exists() else []
    place = next((at for at, kept in enumerate(parts) if kept.asked == part.asked), len(parts))
    parts[place : place + 1] = [part]
    folder.mkdir(exist_ok=True)
    file.write_text(json.dumps({"parts": [asdict(each) for each in parts]}, indent=2) + "\n")
    (folder / "latest.md").write_text(markdown(parts))


def terminal(part: Part) -> Table:
    """The lines of a part for the terminal."""
    card = part.machine
    table = Table(*_HEADINGS, title=f"{card['cpu']}, {card['cores']} cores, load {card['load_average']}")
    for line in part.lines:
        table.add_row(*_cells(line))
    return table


def markdown(parts: Sequence[Part]) -> str:
    """A section per part, each under its machine card."""
    return "\n".join(_section(part) for part in parts)


def _section(part: Part) -> str:
    card = part.machine
    versions = ", ".join(f"{name} {version}" for name, version in card["versions"].items())
    head = [
        f"## {part.asked}",
        "",
        f"Measured {card['when']} at commit {card['commit']}, best of {part.repeats}: {card['cpu']}, "
        f"{card['cores']} cores, {card['memory_gib']} GiB, {card['compiler']} {card['loop_flags']}; "
        f"load average {card['load_average']}.",
        f"Versions: {versions}.",
        "",
        "| " + " | ".join(_HEADINGS) + " |",
        "|" + "---|" * len(_HEADINGS),
    ]
    return "\n".join(head + ["| " + " | ".join(_cells(line)) + " |" for line in part.lines]) + "\n"


def _cells(line: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        line["workload"],
        line["input"],
        f"{line['engine']} ({line['kind']})" if line["engine"] != "loop" else "C++ loop",
        line["variant"],
        _rate(line["tuples_per_cpu_s"]),
        "" if line["of_loop"] is None else f"{line['of_loop']:.3g}",
        _seconds(line["best_cpu_s"]),
        _seconds(line["median_cpu_s"]),
        "" if line["results"] is None else f"{line['results']:,}",
        _note(line),
    )


def _note(line: Mapping[str, Any]) -> str:
    if line["state"] != "ok":
        return str(line["state"])
    return "" if line["checked"] == "rows" else "only the number of results checked"


def _rate(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.1f} k"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f} s"
