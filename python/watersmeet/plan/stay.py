"""How long the rows that a join makes stay in the state above it, by which input's new row made them.

A combination lives as long as its shortest-lived member. One made by a new row of X has a member with all its
life before it, and one of Y that has been waiting: new rows of a stream with a short window, meeting rows of
one with a long window, make combinations that live longer than the other way round. Lives of streams' rows
are known; those of combinations are taken to be evenly spread between nothing and twice their mean. Both
stays are scaled so that with everything processed they give the number of living combinations that there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["stays", "turnover"]


def turnover(streams: Sequence[str], rates: Mapping[str, float], windows: Mapping[str, float]) -> float:
    """The share of the living combinations of these streams that is renewed per second, with everything
    processed: the sum over its streams, any of which ends it.
    """
    return sum(rates[name] / windows[name] for name in streams if windows[name] > 0.0)


def stays(
    one: Sequence[str], other: Sequence[str], rates: Mapping[str, float], windows: Mapping[str, float]
) -> tuple[float, float]:
    """Seconds that combinations of two inputs stay: made by new rows of the one, and of the other."""
    renewed = turnover(one, rates, windows), turnover(other, rates, windows)
    if min(renewed) <= 0.0:
        longest = 1.0 / max(renewed) if max(renewed) > 0.0 else 0.0
        return longest, longest
    by_one = _shorter(_life(one, renewed[0]), _rest(other, renewed[1]), exact=len(one) == 1)
    by_other = _shorter(_life(other, renewed[1]), _rest(one, renewed[0]), exact=len(other) == 1)
    scale = renewed[0] * by_one + renewed[1] * by_other
    return by_one / scale, by_other / scale


def _life(streams: Sequence[str], renewed: float) -> float:
    """A new row's life: its window, or the longest that a combination's may be."""
    return 1.0 / renewed if len(streams) == 1 else 2.0 / renewed


def _rest(streams: Sequence[str], renewed: float) -> float:
    """The longest that a waiting row may still live: evenly spread up to this."""
    return 1.0 / renewed if len(streams) == 1 else 4.0 / 3.0 / renewed


def _shorter(life: float, rest: float, *, exact: bool) -> float:
    """The mean of the shorter of a life, exactly so long or evenly spread, and an evenly spread rest."""
    if exact:
        return rest / 2.0 if rest <= life else life - life * life / (2.0 * rest)
    short, long = min(life, rest), max(life, rest)
    return short / 2.0 - short * short / (6.0 * long)
