"""watersmeet explain: how a join would be run, and why; with inputs, after a look at their first rows."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

from watersmeet.cli.explain_rates import Told, explain_from_rates
from watersmeet.cli.failures import guarded
from watersmeet.cli.files import open_source, resolve_format
from watersmeet.cli.options import JoinOptions
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
        str | None, typer.Option(help="Rows per second, left,right: the cost model answers, nothing is run.")
    ] = None,
    keys: Annotated[
        str, typer.Option(help="Different keys (or items) per window, left,right, for --rates.")
    ] = "1000",
    items: Annotated[str, typer.Option(help="Items per set, left,right, for --rates.")] = "5",
    selectivity: Annotated[
        float | None, typer.Option(help="Share of the pairs that match, for --rates.", min=0.0, max=1.0)
    ] = None,
    vector_bytes: Annotated[
        float | None, typer.Option(help="Bytes of a vector, for --rates and distance().", min=1.0)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    time: Annotated[str, typer.Option(help="Time column, or left,right.")] = "ts",
    time_unit: Annotated[str, typer.Option(help="Unit of integer times: s, ms, us or ns.")] = "us",
    how: Annotated[str, typer.Option(help="inner, left, right, full, semi or anti.")] = "inner",
    index: Annotated[str, typer.Option(help="auto, scan, hash, inverted or inverted-by-id.")] = "auto",
    format: Annotated[str | None, typer.Option("--format", "-f", help="Format of the inputs.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows of the inputs to look at.")] = 200_000,
) -> None:
    """Print how a join would be run: index, algorithm per direction, cost.

    With --rates nothing is run: the cost model answers from rates and windows alone. With A and B their first
    rows are joined, so that measured figures stand beside the predicted ones.
    """
    options = JoinOptions(on, window, between, time, time_unit, how, index, "_right", None)
    if (left is None) != (right is None):
        raise ConfigError("expected both inputs or none")
    if rates is not None and left is None:
        told = Told(rates, keys, items, selectivity, vector_bytes)
        from watersmeet.join.calibration.cache import current_unit_costs

        explanation: Any = explain_from_rates(options, told, unit_costs=current_unit_costs())
        typer.echo(explanation.to_json() if json else str(explanation))
        return
    if rates is not None:
        raise ConfigError("--rates: expected without inputs; with them rates are measured")
    live = options.build()
    if left is not None and right is not None:
        _look(live, (left, right), options, format=format, rows=rows)
    typer.echo(str(live.explain(format="json") if json else live.explain()))


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
