"""Whether the rows that come still make the load for which a join's indexes were chosen.

Counters are dear to look at, rows that come are not. So between two looks the rows of each stream are priced
at what a probe and an arrival cost at the last look, with the index that the window has and with the others:
where another would have been cheaper, the difference is a regret. It is time to look again once the regrets
make up for looking. Results say what prices cannot: that rows match more or less often than they did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from watersmeet.cost import Price

__all__ = ["LoadWatch", "Prices"]

Prices: TypeAlias = tuple[Price, tuple[Price, ...]]  # of the index that a window has, and of the others

_CHECK_EVERY_ROWS: Final = 32_768
_CLEAR: Final = 0.1  # share by which another index must be cheaper; nearer ones are not worth a change
_FEWEST_RESULTS: Final = 1_000  # more or fewer, or it may be chance
_SURPRISE: Final = 4.0  # times as many results as foreseen, or as few


class LoadWatch:
    """Counts rows and regrets since the last look."""

    def __init__(self) -> None:
        self._windows: tuple[Prices | None, ...] = ()
        self._came = [0, 0]  # rows of each stream since the last check
        self._rows = 0  # of both since the last look
        self._regret_s = self._enough_s = 0.0
        self._results = 0  # at the last look
        self._results_per_row = 0.0

    def start(
        self, windows: Sequence[Prices | None], *, enough_s: float, results: int, results_per_row: float
    ) -> None:
        """A look was made.

        windows           the prices at each window; None where the index is not to be changed
        enough_s          regret that makes up for another look
        results           of the join so far
        results_per_row   to be expected
        """
        self._windows, self._enough_s = tuple(windows), enough_s
        self._came, self._rows, self._regret_s = [0, 0], 0, 0.0
        self._results, self._results_per_row = results, results_per_row

    def came(self, stream: int, rows: int) -> bool:
        """So many rows of a stream come; whether it is time to check()."""
        self._came[stream] += rows
        return sum(self._came) >= _CHECK_EVERY_ROWS and bool(self._windows)

    def check(self, results: int) -> bool:
        """Whether the load has changed enough to look at it; `results` of the join so far."""
        self._regret_s += sum(
            _regret_s(prices, probes=self._came[1 - window], rows=self._came[window])
            for window, prices in enumerate(self._windows)
            if prices is not None
        )
        self._rows += sum(self._came)
        self._came = [0, 0]
        return self._regret_s >= self._enough_s or self._is_surprising(results - self._results)

    def _is_surprising(self, results: int) -> bool:
        foreseen = self._results_per_row * self._rows
        if max(results, foreseen) < _FEWEST_RESULTS:
            return False
        return results > _SURPRISE * foreseen or foreseen > _SURPRISE * results


def _regret_s(prices: Prices, *, probes: int, rows: int) -> float:
    (probe_s, row_s), others = prices
    taken_s = probes * probe_s + rows * row_s
    best_s = min((probes * probe + rows * row for probe, row in others), default=taken_s)
    return taken_s - best_s if best_s < (1.0 - _CLEAR) * taken_s else 0.0
