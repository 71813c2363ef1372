"""watersmeet figures: draw the papers' figures again and check their claims, from a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from watersmeet.cli.failures import DATA_ERROR, guarded
from watersmeet.errors import ConfigError

__all__ = ["figures"]


@guarded
def figures(
    name: Annotated[
        str | None, typer.Argument(help="A paper (gedik) or one script (gedik/fig5); all without.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Only print the names.")] = False,
) -> None:
    """Run the scripts under bench/figures: each draws one figure and checks what the paper claims of it."""
    folder = _figures_folder()
    scripts = _chosen(folder, name)
    failed = []
    for script in scripts:
        title = script.relative_to(folder).with_suffix("").as_posix()
        if listing:
            typer.echo(title)
        elif not _run(script, folder.parent.parent):
            failed.append(title)
    if failed:
        typer.echo(f"watersmeet: {len(failed)} of {len(scripts)} failed: {', '.join(failed)}", err=True)
        raise typer.Exit(DATA_ERROR)


def _figures_folder() -> Path:
    starts = (Path.cwd(), Path(__file__).resolve().parent)
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / "bench" / "figures").is_dir() and (folder / "pyproject.toml").is_file():
                return folder / "bench" / "figures"
    raise ConfigError("figures: bench/figures was not found; run this inside a checkout of watersmeet")


def _chosen(folder: Path, name: str | None) -> list[Path]:
    scripts = [
        script
        for script in sorted(folder.glob("*/*.py"))
        if not script.name.startswith(("_", "test_")) and _is_script(script)
    ]
    if name is None:
        return scripts
    chosen = [s for s in scripts if name in (s.parent.name, s.stem, f"{s.parent.name}/{s.stem}")]
    if not chosen:
        papers = ", ".join(sorted({script.parent.name for script in scripts})) or "none yet"
        raise ConfigError(f"figures {name!r}: not found; expected a paper ({papers}) or a name from --list")
    return chosen


def _is_script(path: Path) -> bool:
    """A figure can be run by itself; what lies beside it as a library cannot."""
    return "__main__" in path.read_text(encoding="utf-8")


def _run(script: Path, root: Path) -> bool:
    typer.echo(f"== {script.relative_to(root)}")
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    module = ".".join(script.relative_to(root).with_suffix("").parts)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "Agg"}
    return (
        subprocess.run([sys.executable, "-m", module], cwd=root, env=environment, check=False).returncode == 0
    )
