"""watersmeet demo: two news agencies joined on shared keywords, while you watch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.table import Table

from watersmeet.cli.failures import guarded
from watersmeet.cli.news import news_stream, news_world
from watersmeet.cli.terminal import JoinProgress, stderr, stdout
from watersmeet.vocabulary import Stream, overlap

__all__ = ["demo"]

_AGENCIES = ("cnn", "reuters")
_RATE_PER_S = 200.0
_BATCH_ROWS = 8_192


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What the join did, for the closing table."""

    rows: int
    results: int
    join_s: float
    sample: pa.Table
    metrics: Any


@guarded
def demo(
    stories: Annotated[int, typer.Option(min=100, help="Stories per agency.")] = 500_000,
    window: Annotated[str, typer.Option(help="How far apart two stories may be.")] = "5m",
    at_least: Annotated[int, typer.Option(min=1, help="How many keywords they must share.")] = 4,
    seed: Annotated[int, typer.Option(help="Another seed, other news.")] = 1,
    sample: Annotated[int, typer.Option(min=0, help="Result rows to show.")] = 8,
) -> None:
    """Join two made-up news streams on shared keywords; show the rate and some of the pairs."""
    from watersmeet.join import WindowJoin

    console = stdout()
    with stderr().status(f"writing 2 x {stories:,} news stories ..."):
        world = news_world(seed, stories=stories, rate_per_s=_RATE_PER_S)
        streams = {name: news_stream(world, seed, agency=name, stories=stories) for name in _AGENCIES}
    on = overlap("keywords", at_least=at_least)
    left, right = (Stream(name, time="ts", window=window) for name in _AGENCIES)
    console.print(f"{' and '.join(_AGENCIES)}, {stories:,} stories each, {_RATE_PER_S:g} per second; on {on}")
    console.print(f"within {window} of each other; every pair that matches comes out, once")
    outcome = _join(WindowJoin(left, right, on=on), streams, sample=sample)
    console.print(_figures(outcome))
    if outcome.sample.num_rows:
        console.print(_pairs(outcome.sample))


def _join(live: Any, streams: dict[str, pa.Table], *, sample: int) -> _Outcome:
    rows = results = 0
    join_s = 0.0
    kept: list[pa.Table] = []
    with JoinProgress("joining", total=sum(table.num_rows for table in streams.values())) as bar:
        for name, batch in _in_turn(streams):
            start = time.perf_counter()
            out = live.finish() if batch is None else live.push(name, batch)
            join_s += time.perf_counter() - start
            rows += 0 if batch is None else batch.num_rows
            results += out.num_rows
            if (out.num_rows or batch is None) and sum(table.num_rows for table in kept) < sample:
                kept.append(out.slice(0, sample))
            bar.update(done=rows, rows=rows, results=results)
    return _Outcome(
        rows, results, join_s, pa.concat_tables(kept).slice(0, sample) if kept else pa.table({}), live.metrics
    )


def _in_turn(streams: dict[str, pa.Table]) -> Iterator[tuple[str, pa.RecordBatch | None]]:
    """Batches of the streams in turn, as they would arrive; then the end."""
    longest = max(table.num_rows for table in streams.values())
    for start in range(0, longest, _BATCH_ROWS):
        for name, table in streams.items():
            for batch in table.slice(start, _BATCH_ROWS).combine_chunks().to_batches():
                yield name, batch
    yield "", None


def _figures(outcome: _Outcome) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("stories joined", f"{outcome.rows:,}")
    table.add_row("pairs found", f"{outcome.results:,}")
    table.add_row("time in the join", f"{outcome.join_s:.2f} s")
    table.add_row("rate", f"{outcome.rows / max(outcome.join_s, 1e-9):,.0f} stories/s, results as Arrow rows")
    memory = getattr(outcome.metrics, "memory_bytes", 0)
    if memory:
        table.add_row("state held", f"{memory / 2**20:.1f} MiB")
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
