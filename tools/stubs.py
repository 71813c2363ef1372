"""Write the type stub of the compiled module from the module itself.

Usage: python tools/stubs.py, which writes python/watersmeet/_core/_native.pyi; with --check it writes nothing
and fails when that file declares other names or parameters than the installed module has. (Texts are not
compared: another version of the generator may word the same types differently.)
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "python" / "watersmeet" / "_core" / "_native.pyi"
MODULE = "watersmeet._core._native"


def generate() -> str:
    """The stub's text, from the module that this interpreter imports."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pybind11_stubgen", MODULE, "--output-dir", folder, "--exit-code"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"stubs: pybind11-stubgen failed\n{done.stdout}{done.stderr}")
        return (Path(folder) / (MODULE.replace(".", "/") + ".pyi")).read_text(encoding="utf-8")


def outline(text: str) -> set[str]:
    """What a stub declares: classes, functions with their parameters, and attributes, by dotted name."""
    found: set[str] = set()

    def visit(nodes: list[ast.stmt], prefix: str) -> None:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                found.add(f"class {prefix}{node.name}")
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                found.add(f"{prefix}{node.name}({', '.join(argument.arg for argument in every)})")
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(f"{prefix}{node.target.id}")

    visit(ast.parse(text).body, "")
    return found


def main() -> int:
    """Write or check the stub."""
    parser = argparse.ArgumentParser(description="Write the stub of the compiled module.")
    parser.add_argument("--check", action="store_true", help="compare only")
    arguments = parser.parse_args()
    text = generate()
    if not arguments.check:
        STUB.write_text(text, encoding="utf-8")
        print(f"wrote {STUB.relative_to(ROOT)}")
        return 0
    written = outline(STUB.read_text(encoding="utf-8")) if STUB.exists() else set()
    if differing := sorted(written ^ outline(text)):
        print(f"{STUB.relative_to(ROOT)} is not what the module gives: run `make stubs`", file=sys.stderr)
        print("\n".join(differing), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
