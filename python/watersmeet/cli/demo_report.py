"""What the demo shows at its end: a table of the three ways, and a page with their course over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from watersmeet.observe import Chart, Curve, Report, Section
from watersmeet.vocabulary import Metrics

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

    @property
    def decided(self) -> float:
        """The share of the pairs of rows inside the windows that was compared."""
        parts = self.metrics.directions
        return sum(part.done for part in parts) / max(1, sum(part.due for part in parts))


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
                f"{outcome.decided:.1%}",
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
                "Input, and how much of it was compared",
                "Stories per second, and the share of the pairs in the windows that were decided.",
                Chart("input rate", "stream time (s)", "stories/s", [_rates(selective, _rows)]),
            ),
            Section(
                "Share of the comparisons",
                "1 is the full join.",
                Chart("fraction", "stream time (s)", "decided / due", [_fractions(o) for o in outcomes], 1.0),
            ),
            Section(
                "Where matches are",
                "Matches per pair decided, by age of the partner: cell 0 is the newest part of the window.",
                Chart("match density by age", "cell", "matches per pair", _densities(selective)),
            ),
            Section(
                "How much of the answer came out",
                "The estimate with its 95 % interval; beside it the truth of the whole run.",
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


def _fractions(outcome: Outcome) -> Curve:
    points = [
        (new.stream_s, (new.done - old.done) / (new.due - old.due))
        for old, new in pairwise(outcome.samples)
        if new.due > old.due
    ]
    return Curve(outcome.name, points)


def _densities(outcome: Outcome) -> list[Curve]:
    curves = []
    for stream, direction in zip(outcome.metrics.streams, outcome.metrics.directions, strict=True):
        cells = enumerate(direction.cell_densities)
        points = [(float(cell), density) for cell, density in cells if density is not None]
        curves.append(Curve(f"{stream.name} probes", points))
    return curves


def _recalls(outcomes: Sequence[Outcome]) -> list[Curve]:
    selective = outcomes[1]
    truth = selective.results / max(1, outcomes[0].results)
    samples = selective.samples
    return [
        Curve(
            "estimate",
            [(s.stream_s, s.recall[0]) for s in samples],
            band=[(s.stream_s, s.recall[1], s.recall[2]) for s in samples],
        ),
        Curve("truth at the end", [(s.stream_s, truth) for s in samples]),
    ]
