"""watersmeet demo: two news agencies joined on shared keywords, three ways side by side, while you watch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from watersmeet.cli.demo_report import Outcome, demo_report, summary_rows
from watersmeet.cli.demo_ways import Way, due_pairs, in_turn
from watersmeet.cli.failures import guarded
from watersmeet.cli.news import news_stream, news_world
from watersmeet.cli.terminal import stderr, stdout
from watersmeet.observe import write_report
from watersmeet.vocabulary import Predicate, Shed, Stream, comparisons, overlap, parse_span

__all__ = ["demo"]

_AGENCIES = ("cnn", "reuters")
_RATE_PER_S = 400.0
_STEP_S = 5.0  # of news in a batch
_FEWEST_STEPS = 60
_MOST_STORIES = 800_000  # half an hour of news, written before the clock starts
_LOOKS_PER_S = 4.0


@guarded
def demo(
    stories: Annotated[
        int | None, typer.Option(min=100, help="Stories per agency, however long they take.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="How long to join, without --stories.")] = 50.0,
    window: Annotated[str, typer.Option(help="How far apart two stories may be.")] = "1m",
    at_least: Annotated[int, typer.Option(min=1, help="How many keywords they must share.")] = 4,
    overload: Annotated[float, typer.Option(min=1.0, help="How much more work there is than budget.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Another seed, other news.")] = 1,
    sample: Annotated[int, typer.Option(min=0, help="Result rows to show.")] = 8,
    report: Annotated[Path, typer.Option(help="Where the HTML report goes.")] = Path("watersmeet-demo.html"),
) -> None:
    """Join two made-up news streams three ways: unlimited, overloaded, and overloaded with drops."""
    console = stdout()
    most = stories or _MOST_STORIES
    with stderr().status(f"writing 2 x {most:,} news stories ..."):
        world = news_world(seed, stories=most, rate_per_s=_RATE_PER_S)
        streams = {name: news_stream(world, seed, agency=name, stories=most) for name in _AGENCIES}
        due = due_pairs(streams.values(), window=parse_span(window, argument="--window"))
    on = overlap("keywords", at_least=at_least)
    length = "" if stories is None else f"{stories:,} stories each, "
    console.print(f"{' and '.join(_AGENCIES)}, {length}about {_RATE_PER_S:g} per second; on {on}")
    console.print(
        f"within {window} of each other; without limit, and twice with 1/{overload:g} of the comparisons"
    )
    budget = max(1.0, due / (most / _RATE_PER_S) / overload)
    ways = _ways(on, window, sample, seed, budget=budget)
    joined = _joined(ways, streams, most_s=None if stories else seconds)
    outcomes = tuple(way.outcome() for way in ways)
    console.print(_figures(outcomes[0]))
    console.print(_comparison(outcomes))
    write_report(demo_report(outcomes, stories=joined, window=window, overload=overload), report)
    console.print(f"report: {report}")
    if outcomes[0].sample.num_rows:
        console.print(_pairs(outcomes[0].sample))


def _ways(on: Predicate, window: str, sample: int, seed: int, *, budget: float) -> tuple[Way, ...]:
    """The joins; those with a budget scan, as for a predicate without index: every comparison counts."""
    from watersmeet.join import WindowJoin

    left, right = (Stream(name, time="ts", window=window) for name in _AGENCIES)
    selective, drop = Shed(comparisons(budget)), Shed(comparisons(budget), policy="random-drop")
    return (
        Way("unlimited", WindowJoin(left, right, on=on), sample),
        Way("selective", WindowJoin(left, right, on=on, shed=selective, seed=seed, index="scan"), sample),
        Way("random drop", WindowJoin(left, right, on=on, shed=drop, seed=seed, index="scan"), sample),
    )


def _joined(ways: Sequence[Way], streams: Mapping[str, pa.Table], *, most_s: float | None) -> int:
    """Feed all ways the same news until there is none, or the time is up; stories of each stream joined."""
    longest = max(table.num_rows for table in streams.values())
    step = min(int(_RATE_PER_S * _STEP_S), max(1, longest // _FEWEST_STEPS))
    begin = time.perf_counter()
    shown_s = float("-inf")
    stories = 0
    console = stderr()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for stream_s, batches in in_turn(streams, step=step):
            for way in ways:
                for name, batch in batches:
                    way.push(name, batch)
                way.look(stream_s)
            stories = min(longest, stories + step)
            passed_s = time.perf_counter() - begin
            if console.is_terminal and passed_s - shown_s >= 1 / _LOOKS_PER_S:
                shown_s = passed_s
                part = stories / longest if most_s is None else min(1.0, passed_s / most_s)
                live.update(_progress(ways, part, stream_s), refresh=True)
            if most_s is not None and passed_s >= most_s:
                break
    for way in ways:
        way.finish()
    return stories


def _progress(ways: Sequence[Way], part: float, stream_s: float) -> Group:
    """What is shown while the joins run."""
    table = _comparison([way.outcome() for way in ways])
    table.title = f"{stream_s:,.0f} s of news, {ways[0].rows:,} stories"
    return Group(table, ProgressBar(total=1.0, completed=part, width=60))


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


def _comparison(outcomes: Sequence[Outcome]) -> Table:
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
