"""Partial results on their way out of a node: they appear while a probe lasts and leave in pieces."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator

import numpy as np

from watersmeet.ring._check import whole

__all__ = ["Batches"]

_NOTHING = 1e-9


class Batches:
    """What each key (a node, a cycle, a step) has made and not yet sent.

    `pieces` is into how many messages the expected number is cut. With a seed, probes keep a Poisson number
    of rows and messages carry whole rows; without, both are means.
    """

    def __init__(self, pieces: int, *, seed: int | None) -> None:
        self._pieces = whole(pieces, 1, argument="pieces")
        self._rng = None if seed is None else np.random.default_rng(seed)
        self._held: dict[Hashable, float] = defaultdict(float)

    def kept(self, mean: float) -> float:
        """How many rows a probe keeps."""
        return mean if self._rng is None else float(self._rng.poisson(mean))

    def collect(
        self, key: Hashable, kept: float, *, expected: float, begin: float, end: float
    ) -> Iterator[tuple[float, float]]:
        """Add what a probe kept between two moments; yields when which full pieces leave."""
        piece = expected / max(1, min(self._pieces, int(expected)))
        if self._rng is not None:
            piece = float(max(1, math.ceil(piece)))
        before = self._held[key]
        full = int((before + kept) / piece + _NOTHING) if kept else 0
        self._held[key] = max(0.0, before + kept - full * piece)
        for number in range(1, full + 1):
            filled = min(1.0, (number * piece - before) / kept)
            yield begin + (end - begin) * filled, piece

    def rest(self, key: Hashable) -> float:
        """Take what is left, when nothing more will come."""
        count = self._held.pop(key, 0.0)
        return count if count > _NOTHING else 0.0
