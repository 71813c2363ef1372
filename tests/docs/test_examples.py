"""Every Python example in README.md and docs/ runs, and prints what the document says it prints.

The blocks of one document share one namespace, in order. A ``text`` block that follows a Python block
directly is what that block prints.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if path.exists()]
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$(?P<gap>\s*)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """One Python block, where it stands, and what the document says it prints, if it says so."""

    line: int
    code: str
    printed: str | None


def examples(text: str) -> list[Example]:
    """The Python blocks of a document, each with the output block that follows it."""
    blocks = list(FENCE.finditer(text))
    found = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block["language"] != "python":
            continue
        follows = (
            following is not None and following["language"] == "text" and following.start() == block.end()
        )
        printed = following["body"] if following is not None and follows else None
        found.append(Example(text.count("\n", 0, block.start()) + 2, block["body"], printed))
    return found


def trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_run_and_print_what_they_say(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for example in examples(document.read_text(encoding="utf-8")):
        padding = "\n" * (example.line - 1)  # a traceback then names the document's own line
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(padding + example.code, str(document), "exec"), namespace)
        if example.printed is not None:
            assert trimmed(out.getvalue()) == trimmed(example.printed), (
                f"{document.name}, line {example.line}"
            )


def test_the_readme_shows_a_program_and_its_output_on_its_first_screen() -> None:
    found = examples((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found
    assert found[0].line <= 12
    assert found[0].printed
    assert len(found[0].code.strip().splitlines()) <= 10


def test_an_output_block_belongs_to_the_block_right_before_it() -> None:
    text = (
        "```python\nprint(1)\n```\n```text\n1\n```\nwords\n```python\nprint(2)\n```\nwords\n```text\n2\n```\n"
    )
    assert [(example.code, example.printed) for example in examples(text)] == [
        ("print(1)\n", "1\n"),
        ("print(2)\n", None),
    ]


LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("document", [*sorted(ROOT.glob("*.md")), *DOCUMENTS[1:]], ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(document: Path) -> None:
    targets = [found["target"] for found in LINK.finditer(document.read_text(encoding="utf-8"))]
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (document.parent / target).exists()] == []
