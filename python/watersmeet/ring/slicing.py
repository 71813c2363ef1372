"""Where to cut the windows when a ring starts: a length for every stream's ring ([PSP] 5.4).

The lengths depend on each other and the space is exponential, so the streams are settled one by one, those
with the least influence first; a stream not yet settled is taken to be cut like the current one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.ring._check import at_least, whole
from watersmeet.ring.load import RingLoad, UnitCosts

__all__ = ["Slicing", "even_boundaries", "latency_of_lengths", "slice_initially"]


@dataclass(frozen=True, slots=True)
class Slicing:
    """How many slices each stream's window has, and the ages (s) at which they end, the head's first."""

    lengths: tuple[int, ...]
    boundaries_s: tuple[tuple[float, ...], ...]
    latency_s: float

    @property
    def nodes(self) -> int:
        """Nodes that hold at least one slice."""
        return max(self.lengths)


def even_boundaries(window_s: float, slices: int) -> tuple[float, ...]:
    """The ages at which equal slices of a window end; the last is the window itself, exactly."""
    at_least(window_s, 0.0, argument="window_s", strictly=True)
    whole(slices, 1, argument="slices")
    return (*(window_s * end / slices for end in range(1, slices)), window_s)


def slice_initially(load: RingLoad, costs: UnitCosts, *, most: int) -> Slicing:
    """Settle the streams in ascending order of rate x window x selectivity, each at its best length."""
    whole(most, 1, argument="most")
    influence = [rows * kept for rows, kept in zip(load.window_rows, load.selectivity, strict=True)]
    settled: dict[int, int] = {}
    for stream in sorted(range(load.streams), key=lambda stream: (influence[stream], stream)):
        settled[stream] = min(
            range(1, most + 1),
            key=lambda length: (
                latency_of_lengths(load, costs, _assumed(settled, load.streams, length)),
                length,
            ),
        )
    lengths = tuple(settled[stream] for stream in range(load.streams))
    boundaries = tuple(
        even_boundaries(window, length) for window, length in zip(load.windows_s, lengths, strict=True)
    )
    return Slicing(lengths, boundaries, latency_of_lengths(load, costs, lengths))


def latency_of_lengths(load: RingLoad, costs: UnitCosts, lengths: Sequence[int]) -> float:
    """[PSP] equation 5 when every stream's window is cut into its own number of slices.

    A probing step is spread over the slices of the window it probes; a trip goes round the longest ring.
    """
    hop_s = costs.hop_s + costs.transfer_s(load.row_bytes)
    nodes = max(lengths)
    total = 0.0
    for own, rate in enumerate(load.rates_per_s):
        starts = load.intermediates(own)[:-1]
        steps = zip(starts, load.orderings[own], strict=True)
        work_s = sum(
            count * (load.window_rows[other] * costs.join_s / lengths[other] + costs.send_s)
            for count, other in steps
        )
        total += rate * max(work_s, load.streams * nodes * hop_s, load.link_s(costs))
    return (nodes - 1) / 2 * hop_s + total / load.rate_per_s


def _assumed(settled: dict[int, int], streams: int, length: int) -> tuple[int, ...]:
    return tuple(settled.get(stream, length) for stream in range(streams))
