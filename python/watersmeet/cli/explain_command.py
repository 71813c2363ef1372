"""watersmeet explain: how a join would be run, and why; with inputs, after a look at their first rows."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

from watersmeet.cli.failures import guarded
from watersmeet.cli.files import open_source, resolve_format
from watersmeet.cli.options import JoinOptions, pair
from watersmeet.cli.streaming import Side, drive
from watersmeet.errors import ConfigError

__all__ = ["explain"]


@guarded
def explain(
    left: Annotated[str | None, typer.Argument(help="Left input, to look at.", metavar="[A]")] = None,
    right: Annotated[str | None, typer.Argument(help="Right input, to look at.", metavar="[B]")] = None,
    on: Annotated[str | None, typer.Option(help="Predicate, e.g. 'overlap(tags, 3)'.")] = None,
    window: Annotated[str | None, typer.Option(help="Window: 10s, or left,right: 10s,1m.")] = None,
    between: Annotated[str | None, typer.Option(help="Instead of --window, e.g. -2s,1s.")] = None,
    rates: Annotated[
        str | None, typer.Option(help="Rows per second, left,right: adds what the cost model predicts.")
    ] = None,
    keys: Annotated[str, typer.Option(help="Different keys per window, left,right, for --rates.")] = "1000",
    time: Annotated[str, typer.Option(help="Time column, or left,right.")] = "ts",
    time_unit: Annotated[str, typer.Option(help="Unit of integer times: s, ms, us or ns.")] = "us",
    how: Annotated[str, typer.Option(help="inner, left, right, full, semi or anti.")] = "inner",
    index: Annotated[str, typer.Option(help="auto, scan, hash, inverted or inverted-by-id.")] = "auto",
    format: Annotated[str | None, typer.Option("--format", "-f", help="Format of the inputs.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows of the inputs to look at.")] = 200_000,
) -> None:
    """Print how a join would be run: index, algorithm per direction, cost.

    With A and B their first rows are joined, so that measured figures stand beside the predicted ones.
    """
    options = JoinOptions(on, window, between, time, time_unit, how, index, "_right", None)
    live = options.build()
    if (left is None) != (right is None):
        raise ConfigError("expected both inputs or none")
    if left is not None and right is not None:
        _look(live, (left, right), options, format=format, rows=rows)
    typer.echo(str(live.explain()))
    if rates is not None:
        typer.echo(_predicted(options, rates, keys))


def _look(live: Any, paths: tuple[str, str], options: JoinOptions, *, format: str | None, rows: int) -> None:
    batch_rows = min(rows, 16_384)
    sides = []
    for stream, path, time in zip(("left", "right"), paths, options.times(), strict=True):
        if not Path(path).is_file():
            raise ConfigError(f"{path!r}: no such file")
        source = open_source(path, resolve_format(path, format, option="--format"), batch_rows=batch_rows)
        sides.append(Side(stream, source, time, options.time_unit))
    pushes = max(2, rows // batch_rows)
    for _ in itertools.islice(drive(live, (sides[0], sides[1])), pushes):
        pass


def _predicted(options: JoinOptions, rates: str, keys: str) -> str:
    """The cost model's four combinations of hashed and scanned windows, cheapest first."""
    try:
        cost: Any = importlib.import_module("watersmeet.cost")
    except ModuleNotFoundError:
        raise ConfigError("--rates: the cost model (watersmeet.cost) is not part of this version") from None
    windows = options.windows()
    if windows is None or not all(span.is_time for span in windows):
        raise ConfigError("--rates: expected a --window of time; the cost model knows no other")
    model = cost.Model(
        rates=pair(rates, option="--rates", read=_positive("--rates")),
        windows=(windows[0].seconds, windows[1].seconds),
        buckets=pair(keys, option="--keys", read=_positive("--keys")),
    )
    names = ("hash", "scan")
    lines = ["predicted cost per second, in comparisons (left window, right window):"]
    for left, right in sorted(itertools.product(names, names), key=lambda choice: model.cost(*choice)):
        lines.append(f"  {left:>4}, {right:<4}  {model.cost(left, right):>18,.1f}")
    return "\n".join(lines)


def _positive(option: str) -> Any:
    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 < number < float("inf"):
            raise ConfigError(f"{option} {text!r}: expected a number above 0")
        return number

    return read
