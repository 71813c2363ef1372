"""Loads from what a join has seen: its counters over some stream time, or a sample of its first rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from watersmeet.cost import _check
from watersmeet.cost._check import Pair
from watersmeet.cost.unit_costs import Kind
from watersmeet.cost.work import DirectionLoad
from watersmeet.vocabulary import Metrics

__all__ = ["observed_loads", "sampled_share"]


def observed_loads(
    kind: Kind,
    before: Metrics,
    after: Metrics,
    *,
    seconds: float | Pair,
    items: Pair = (1.0, 1.0),
    entry_shares: Pair | None = None,
) -> tuple[DirectionLoad, DirectionLoad]:
    """What each window had to bear between two snapshots of a join's counters.

    seconds        of stream time between the snapshots; of each stream, where they are not equally far
    items          items per set of each stream, where windows are scanned and nothing is looked up
    entry_shares   per window, entries that a probe would read for each row of it; what was read is preferred

    Pairs found are not counted per direction; they are shared out by the pairs that were met in each, which
    are those due less those owed for rows given up under a memory limit: these cost nothing.
    """
    if not isinstance(seconds, tuple):
        seconds = (_check.positive(seconds, argument="seconds"),) * 2
    own_s = _check.pair(seconds, argument="seconds", above_zero=True)
    met = [
        _gained(before, after, probing, "due") - _gained(before, after, probing, "lost") for probing in (0, 1)
    ]
    found = after.results - before.results
    share = min(1.0, found / sum(met)) if sum(met) else 0.0
    loads = []
    for window in (0, 1):
        probing = 1 - window
        probes = _gained(before, after, probing, "probes")
        rows = met[probing] / probes if probes else float(after.streams[window].window_rows)
        share_read = None if entry_shares is None else entry_shares[window]
        looked_up, read = (_gained(before, after, probing, name) for name in ("lookups", "postings"))
        entries = rows * (share if share_read is None else share_read)
        loads.append(
            DirectionLoad(
                kind=kind,
                probing_rate=probes / own_s[probing],
                window_rate=_arrived(before, after, window) / own_s[window],
                window_rows=rows,
                matches=rows * share,
                items=looked_up / probes if looked_up and probes else items[probing],
                entries=read / probes if read and probes else entries,
                met_rows=rows,
            )
        )
    return loads[0], loads[1]


def sampled_share(own: Iterable[Any], other: Iterable[Any]) -> float:
    """The chance that a value of one sample equals a value of the other, drawn independently.

    Of keys it is the share of pairs that match; of sets' items, times the two sizes, entries per row.
    """
    counts, others = Counter(own), Counter(other)
    pairs = sum(counts.values()) * sum(others.values())
    return sum(count * others[value] for value, count in counts.items()) / pairs if pairs else 0.0


def _gained(before: Metrics, after: Metrics, direction: int, counter: str) -> int:
    start = getattr(before.directions[direction], counter) if before.directions else 0
    return int(getattr(after.directions[direction], counter) - start)


def _arrived(before: Metrics, after: Metrics, stream: int) -> int:
    return after.streams[stream].rows - (before.streams[stream].rows if before.streams else 0)
