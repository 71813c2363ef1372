"""watersmeet demo: two news agencies joined on shared keywords, unlimited and overloaded, while you watch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.table import Table

from watersmeet.cli.demo_report import Outcome, Sample, demo_report, summary_rows
from watersmeet.cli.failures import guarded
from watersmeet.cli.news import news_stream, news_world
from watersmeet.cli.terminal import JoinProgress, stderr, stdout
from watersmeet.observe import write_report
from watersmeet.vocabulary import Shed, Stream, comparisons, overlap

__all__ = ["demo"]

_AGENCIES = ("cnn", "reuters")
_RATE_PER_S = 200.0
_SAMPLES = 60  # of the metrics, over a run
_MOST_BATCH_ROWS = 8_192


@guarded
def demo(
    stories: Annotated[int, typer.Option(min=100, help="Stories per agency.")] = 60_000,
    window: Annotated[str, typer.Option(help="How far apart two stories may be.")] = "1m",
    at_least: Annotated[int, typer.Option(min=1, help="How many keywords they must share.")] = 4,
    overload: Annotated[float, typer.Option(min=1.0, help="How much more work there is than budget.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Another seed, other news.")] = 1,
    sample: Annotated[int, typer.Option(min=0, help="Result rows to show.")] = 8,
    report: Annotated[Path, typer.Option(help="Where the HTML report goes.")] = Path("watersmeet-demo.html"),
) -> None:
    """Join two made-up news streams three ways: unlimited, overloaded, and overloaded with drops."""
    from watersmeet.join import WindowJoin

    console = stdout()
    with stderr().status(f"writing 2 x {stories:,} news stories ..."):
        world = news_world(seed, stories=stories, rate_per_s=_RATE_PER_S)
        streams = {name: news_stream(world, seed, agency=name, stories=stories) for name in _AGENCIES}
    on = overlap("keywords", at_least=at_least)
    left, right = (Stream(name, time="ts", window=window) for name in _AGENCIES)
    console.print(f"{' and '.join(_AGENCIES)}, {stories:,} stories each, {_RATE_PER_S:g} per second; on {on}")
    console.print(
        f"within {window} of each other; without limit, then twice with 1/{overload:g} of the comparisons"
    )

    def run(name: str, shed: Shed | None) -> Outcome:
        index: Any = (
            "auto" if shed is None else "scan"
        )  # every comparison counts, as for a predicate without index
        live = WindowJoin(left, right, on=on, shed=shed, seed=seed, index=index)
        return _join(name, live, streams, sample=sample)

    unlimited = run("unlimited", None)
    due = sum(direction.due for direction in unlimited.metrics.directions)
    budget = max(1.0, due / (stories / _RATE_PER_S) / overload)
    outcomes = (
        unlimited,
        run("selective", Shed(comparisons(budget))),
        run("random drop", Shed(comparisons(budget), policy="random-drop")),
    )
    console.print(_figures(unlimited))
    console.print(_comparison(outcomes))
    write_report(demo_report(outcomes, stories=stories, window=window, overload=overload), report)
    console.print(f"report: {report}")
    if unlimited.sample.num_rows:
        console.print(_pairs(unlimited.sample))


def _join(name: str, live: Any, streams: dict[str, pa.Table], *, sample: int) -> Outcome:
    rows = results = 0
    join_s = 0.0
    kept: list[pa.Table] = []
    samples: list[Sample] = []
    total = sum(table.num_rows for table in streams.values())
    with JoinProgress(f"{name:11}", total=total) as bar:
        for stream, batch in _in_turn(streams):
            start = time.perf_counter()
            out = live.finish() if batch is None else live.push(stream, batch)
            join_s += time.perf_counter() - start
            rows += 0 if batch is None else batch.num_rows
            results += out.num_rows
            if (out.num_rows or batch is None) and sum(table.num_rows for table in kept) < sample:
                kept.append(out.slice(0, sample))
            if stream == _AGENCIES[-1] or batch is None:
                samples.append(Sample.of(live.metrics, stream_s=rows / 2 / _RATE_PER_S))
            bar.update(done=rows, rows=rows, results=results)
    shown = pa.concat_tables(kept).slice(0, sample) if kept else pa.table({})
    return Outcome(name, rows, results, join_s, shown, tuple(samples), live.metrics)


def _in_turn(streams: dict[str, pa.Table]) -> Iterator[tuple[str, pa.RecordBatch | None]]:
    """Batches of the streams in turn, as they would arrive; then the end."""
    longest = max(table.num_rows for table in streams.values())
    step = min(_MOST_BATCH_ROWS, max(1, longest // _SAMPLES))
    for start in range(0, longest, step):
        for name, table in streams.items():
            for batch in table.slice(start, step).combine_chunks().to_batches():
                yield name, batch
    yield "", None


def _figures(outcome: Outcome) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("stories joined", f"{outcome.rows:,}")
    table.add_row("pairs found", f"{outcome.results:,}")
    table.add_row("time in the join", f"{outcome.join_s:.2f} s")
    table.add_row("rate", f"{outcome.rows / max(outcome.join_s, 1e-9):,.0f} stories/s, results as Arrow rows")
    table.add_row("state held", f"{outcome.metrics.memory_bytes / 2**20:.1f} MiB")
    return table


def _comparison(outcomes: tuple[Outcome, ...]) -> Table:
    head, *rows = summary_rows(outcomes)
    table = Table(title="three ways", title_justify="left")
    for place, heading in enumerate(head):
        table.add_column(heading, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _pairs(sample: pa.Table) -> Table:
    table = Table(title="some of the pairs", title_justify="left")
    for heading in ("cnn at", "reuters at", "shared keywords"):
        table.add_column(heading)
    clock = [pc.strftime(sample.column(name), format="%H:%M:%S").to_pylist() for name in ("ts", "ts_right")]
    words = (sample.column(name).to_pylist() for name in ("keywords", "keywords_right"))
    for left_at, right_at, left_words, right_words in zip(*clock, *words, strict=True):
        table.add_row(left_at[:12], right_at[:12], " ".join(sorted(set(left_words) & set(right_words))))
    return table
