"""The list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

import watersmeet
from watersmeet.cli.calibrate_command import calibrate
from watersmeet.cli.demo_command import demo
from watersmeet.cli.explain_command import explain
from watersmeet.cli.figures_command import figures
from watersmeet.cli.join_command import join

__all__ = ["app", "main"]

app = typer.Typer(
    name="watersmeet",
    help="Join two timestamped streams inside sliding windows: on keys, sets, weighted sets or bands.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (join, explain, demo, figures, calibrate):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"watersmeet {watersmeet.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Join two timestamped streams inside sliding windows: on keys, sets, weighted sets or bands."""


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="watersmeet")
