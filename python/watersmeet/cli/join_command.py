"""watersmeet join: two files or pipes in, their windowed join out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from watersmeet.cli.failures import guarded
from watersmeet.cli.files import FORMATS, Sink, Source, open_sink, open_source, resolve_format
from watersmeet.cli.options import HOWS, ORDERS, JoinOptions, choice
from watersmeet.cli.streaming import Side, drive
from watersmeet.cli.terminal import JoinProgress
from watersmeet.errors import ConfigError, OrderError

__all__ = ["join"]

_FORMAT_WORDS = ", ".join(FORMATS)


@guarded
def join(
    left: Annotated[str, typer.Argument(help="Left input; '-' reads standard input.", metavar="A")],
    right: Annotated[str, typer.Argument(help="Right input; '-' reads standard input.", metavar="B")],
    on: Annotated[
        str | None,
        typer.Option(
            help="Predicate, e.g. 'overlap(tags, 3) & equal(city)'. Without it: every pair in the window."
        ),
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="How far apart in time: 10s, or left,right: 10s,1m; 5000i counts rows.")
    ] = None,
    between: Annotated[
        str | None, typer.Option(help="Instead of --window: bounds of ts_right - ts_left, e.g. -2s,1s.")
    ] = None,
    time: Annotated[str, typer.Option(help="Time column, or left,right.")] = "ts",
    time_unit: Annotated[str, typer.Option(help="Unit of integer times: s, ms, us or ns.")] = "us",
    how: Annotated[str, typer.Option(help=f"One of {', '.join(HOWS)}.")] = "inner",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Output file; '-' writes standard output.")
    ] = "-",
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", help=f"Format of inputs, where no ending tells: {_FORMAT_WORDS}."),
    ] = None,
    output_format: Annotated[
        str | None, typer.Option(help="Format of the output; by its ending, else --format, else jsonl.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=0, help="Stop after so many results.")] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Print the number of results and write nothing.")
    ] = False,
    index: Annotated[
        str, typer.Option(help="auto, scan, hash, inverted or inverted-by-id; left,right sets each window's.")
    ] = "auto",
    suffix: Annotated[str, typer.Option(help="Added to right columns whose name is taken.")] = "_right",
    lateness: Annotated[
        str | None,
        typer.Option(help="Rows may be out of order by this much, e.g. 2s. Later ones are counted."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(help=f"Write results by time: {' or '.join(ORDERS)}. Default: as they are found."),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads on which rows look for partners.")] = 1,
    memory_limit: Annotated[
        str | None, typer.Option(help="Most memory that windows, indexes and waiting rows take, e.g. 512MiB.")
    ] = None,
    on_memory: Annotated[
        str,
        typer.Option(
            help="At --memory-limit: shrink gives up rows, and says what that costs; raise ends the command."
        ),
    ] = "shrink",
    split: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=SEPARATOR: a text column that holds a set, e.g. 'tags=;'. Repeatable."),
    ] = None,
    batch_rows: Annotated[int, typer.Option(min=1, help="Rows per batch.")] = 65_536,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="Default: on a terminal only.")
    ] = None,
) -> None:
    """Join two files or pipes inside a sliding window.

    Inputs are read in batches and must be sorted by time, or nearly so with --lateness.
    """
    options = JoinOptions(
        on,
        window,
        between,
        time,
        time_unit,
        how,
        index,
        suffix,
        lateness,
        order=order,
        threads=threads,
        memory_limit=memory_limit,
        on_memory=on_memory,
    )
    live = options.build(output="rows" if count else "columns")
    sides = _sides((left, right), format, options, split or [], batch_rows)
    sink = None if count else open_sink(output, _output_format(output, output_format, format))
    try:
        results = _run(live, sides, sink, limit=limit, progress=progress)
        if sink is not None:
            sink.commit()
    except OrderError as error:
        raise OrderError(f"{error} (sort the input by time, or allow for it with --lateness)") from None
    finally:
        if sink is not None:
            sink.abandon()
        for side in sides:
            side.source.close()
    _report(live, results, count=count)


def _run(
    live: object, sides: tuple[Side, Side], sink: Sink | None, *, limit: int | None, progress: bool | None
) -> int:
    """Push everything through; returns the number of results."""
    sources = tuple(side.source for side in sides)
    rows = results = 0
    with JoinProgress("join", total=_total(sources), wanted=progress) as bar:
        for step in drive(live, sides):  # type: ignore[arg-type]  # a WindowJoin, known by its methods
            rows += step.rows
            if step.table is not None:
                table = step.table if limit is None else step.table.slice(0, limit - results)
                results += table.num_rows
                if sink is not None:
                    sink.write(table)
                if limit is not None and results >= limit:
                    break
            bar.update(done=sum(source.done for source in sources), rows=rows, results=results)
    return results


def _sides(
    paths: tuple[str, str], format: str | None, options: JoinOptions, split: list[str], batch_rows: int
) -> tuple[Side, Side]:
    if paths == ("-", "-"):
        raise ConfigError("A and B are both '-': only one of them can be standard input")
    columns = tuple(_split_column(text) for text in split)
    left, right = (
        Side(stream, _open(path, format, batch_rows), time, options.time_unit, columns)
        for stream, path, time in zip(("left", "right"), paths, options.times(), strict=True)
    )
    return left, right


def _open(path: str, format: str | None, batch_rows: int) -> Source:
    if path != "-" and not Path(path).is_file():
        raise ConfigError(f"{path!r}: no such file")
    return open_source(path, _input_format(path, format), batch_rows=batch_rows)


def _input_format(path: str, given: str | None) -> str:
    """--format speaks for the inputs that have no telling ending; a file named x.csv is csv."""
    if given is not None and path != "-":
        choice(given, FORMATS, option="--format")
        try:
            return resolve_format(path, None, option="--format")
        except ConfigError:
            return given
    return resolve_format(path, given, option="--format")


def _output_format(path: str, given: str | None, input_format: str | None) -> str:
    if given is not None or path != "-":
        return resolve_format(path, given, option="--output-format")
    return resolve_format(path, input_format or "jsonl", option="--format")


def _split_column(text: str) -> tuple[str, str]:
    column, equals, separator = text.partition("=")
    if not column or not equals or not separator:
        raise ConfigError(f"--split {text!r}: expected COLUMN=SEPARATOR, e.g. 'tags=;'")
    return column, separator


def _total(sources: tuple[Source, ...]) -> float | None:
    totals = [source.total for source in sources]
    return None if None in totals else float(sum(total for total in totals if total is not None))


def _report(live: object, results: int, *, count: bool) -> None:
    """The count, and a warning where rows were left out: nobody loses results unknowingly."""
    if count:
        typer.echo(results)
    for stream in getattr(getattr(live, "metrics", None), "streams", ()):
        for rows, what in ((stream.late_rows, "late"), (stream.bad_rows, "without a time")):
            if rows:
                typer.echo(f"watersmeet: {stream.name}: {rows:,} rows {what} were not joined", err=True)
    metrics = getattr(live, "metrics", None)
    if metrics is not None and any(direction.lost for direction in metrics.directions):
        typer.echo(
            f"watersmeet: --memory-limit: rows were given up; recall {metrics.recall} of the full answer",
            err=True,
        )
