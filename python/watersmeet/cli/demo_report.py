"""What the demo shows at its end: a table of the three ways, and a page with their course over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from watersmeet.observe import Chart, Curve, Report, Section
from watersmeet.vocabulary import Metrics, parse_span

__all__ = ["Outcome", "Sample", "demo_report", "summary_rows"]


@dataclass(frozen=True, slots=True)
class Sample:
    """Counters at one moment of a run."""

    stream_s: float
    rows: int
    results: int
    due: int
    done: int
    recall: tuple[float, float, float]

    @classmethod
    def of(cls, metrics: Metrics, *, stream_s: float) -> Sample:
        """What matters of the metrics."""
        return cls(
            stream_s,
            sum(stream.rows for stream in metrics.streams),
            metrics.results,
            sum(direction.due for direction in metrics.directions),
            sum(direction.done for direction in metrics.directions),
            (metrics.recall.value, metrics.recall.low, metrics.recall.high),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way of running the join."""

    name: str
    rows: int
    results: int
    join_s: float
    sample: pa.Table
    samples: tuple[Sample, ...]
    metrics: Metrics

    def decided(self, whole: Outcome) -> float:
        """The share of the pairs of rows inside the windows of the whole that was compared."""
        done = sum(part.done for part in self.metrics.directions)
        return done / max(1, sum(part.due for part in whole.metrics.directions))


def summary_rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Headings, then a row for each way; the first outcome is the full answer."""
    rows = [["", "pairs", "of all", "estimated", "decided", "dropped", "seconds"]]
    for outcome in outcomes:
        recall = outcome.metrics.recall
        dropped = sum(stream.dropped_rows for stream in outcome.metrics.streams)
        rows.append(
            [
                outcome.name,
                f"{outcome.results:,}",
                f"{outcome.results / max(1, outcomes[0].results):.1%}",
                f"{recall.low:.0%}-{recall.high:.0%}",
                f"{outcome.decided(outcomes[0]):.1%}",
                f"{dropped:,}",
                f"{outcome.join_s:.2f}",
            ]
        )
    return rows


def demo_report(outcomes: Sequence[Outcome], *, stories: int, window: str, overload: float) -> Report:
    """The page."""
    selective = outcomes[1]
    return Report(
        title="One overloaded join, three ways",
        text=(
            f"Two news agencies, {stories:,} stories each, joined on shared keywords within {window}. Without"
            f" limit every pair comes out. The other two runs may make 1/{overload:g} of the comparisons: one"
            " keeps every story and sheds the comparisons least likely to match, the other drops stories."
        ),
        table=summary_rows(outcomes),
        sections=(
            Section(
                "Output",
                "Pairs per second of stream time.",
                Chart("output rate", "stream time (s)", "pairs/s", [_rates(o, _results) for o in outcomes]),
            ),
            Section(
                "Input",
                "Stories per second: there are busy times and quiet ones.",
                Chart("input rate", "stream time (s)", "stories/s", [_rates(selective, _rows)]),
            ),
            Section(
                "Share of the comparisons",
                "Of the pairs of stories in the windows, how many were decided; 1 is the full join.",
                Chart("fraction", "stream time (s)", "decided / due", _fractions(outcomes), 1.0),
            ),
            Section(
                "Where matches are",
                "Matches per million pairs decided, by age of the partner, in the join that is selective.",
                Chart("match density by age", _age(window), "per million", _densities(selective, window)),
            ),
            Section(
                "How much of the answer came out",
                "The selective join's estimate with its 95 % interval, and the truth by the unlimited join.",
                Chart("recall", "stream time (s)", "share of the answer", _recalls(outcomes), 1.0),
            ),
        ),
    )


def _results(sample: Sample) -> int:
    return sample.results


def _rows(sample: Sample) -> int:
    return sample.rows


def _rates(outcome: Outcome, count: Callable[[Sample], int]) -> Curve:
    points = [
        (new.stream_s, (count(new) - count(old)) / (new.stream_s - old.stream_s))
        for old, new in pairwise(outcome.samples)
        if new.stream_s > old.stream_s
    ]
    return Curve(outcome.name, points)


def _fractions(outcomes: Sequence[Outcome]) -> list[Curve]:
    """What each way compared, of what the first was to compare."""
    curves = []
    for outcome in outcomes:
        steps = zip(pairwise(outcome.samples), pairwise(outcomes[0].samples), strict=True)
        points = [
            (new.stream_s, (new.done - old.done) / (whole.due - before.due))
            for (old, new), (before, whole) in steps
            if whole.due > before.due
        ]
        curves.append(Curve(outcome.name, points))
    return curves


def _age(window: str) -> str:
    return "age (stories)" if parse_span(window, argument="--window").is_rows else "age (s)"


def _densities(outcome: Outcome, window: str) -> list[Curve]:
    """The newest cell is still filling, so there is one more of them than basic windows in the window."""
    span = parse_span(window, argument="--window")
    reach = span.amount if span.is_rows else span.amount * 1e-9
    curves = []
    for stream, direction in zip(outcome.metrics.streams, outcome.metrics.directions, strict=True):
        cells = direction.cell_densities
        each = reach / max(1, len(cells) - 1)
        points = [(cell * each, 1e6 * density) for cell, density in enumerate(cells) if density is not None]
        curves.append(Curve(f"{stream.name} probes", points))
    return curves


def _recalls(outcomes: Sequence[Outcome]) -> list[Curve]:
    samples = outcomes[1].samples
    whole = outcomes[0].samples
    return [
        Curve(
            "estimate",
            [(s.stream_s, s.recall[0]) for s in samples],
            band=[(s.stream_s, s.recall[1], s.recall[2]) for s in samples],
        ),
        Curve(
            "truth",
            [
                (s.stream_s, s.results / full.results)
                for s, full in zip(samples, whole, strict=True)
                if full.results
            ],
        ),
    ]
