"""What the core asks about candidates of a ring join: distances, exact bands and users' functions, in blocks.

Slices ask from their own threads. A function that fails is called again on ever smaller parts of its block,
so that the error can say which rows it fails for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import WatersmeetError
from watersmeet.join.columns.candidates import truths
from watersmeet.join.columns.distances import distance_holds
from watersmeet.join.columns.exact import ExactBand
from watersmeet.join.columns.payload import PayloadStore, Rows
from watersmeet.vocabulary import Distance, Where

__all__ = ["RingCheck", "RingChecks"]

Truths = npt.NDArray[np.bool_]

_PIECE_BYTES: Final = 1 << 21  # of one stream's block: long enough that the call does not count
_FIRST_ROW_BYTES: Final = 1 << 12
_LEAST_PIECE: Final = 16


@dataclass(frozen=True, slots=True)
class RingCheck:
    """One test of candidates: of which streams, and a function of one block for each of them."""

    streams: tuple[int, ...]
    label: str
    holds: Callable[..., Truths]

    @classmethod
    def of_where(cls, where: Where, streams: tuple[int, ...]) -> RingCheck:
        """A user's function; `swapped` ones get their two blocks the other way round."""

        def holds(*blocks: pa.Table) -> Truths:
            verdict = where.fn(*reversed(blocks)) if where.swapped else where.fn(*blocks)
            return truths(verdict, blocks[0].num_rows, where)

        return cls(streams, str(where), holds)

    @classmethod
    def of_distance(cls, leaf: Distance, streams: tuple[int, int]) -> RingCheck:
        """A distance between two columns."""

        def holds(left: pa.Table, right: pa.Table) -> Truths:
            return distance_holds(leaf, left.column(leaf.left), right.column(leaf.right))

        return cls(streams, str(leaf), holds)

    @classmethod
    def of_band(cls, band: ExactBand, streams: tuple[int, int], label: str) -> RingCheck:
        """What the core could check only nearly."""
        return cls(streams, label, band.holds)


class RingChecks:
    """All checks of a join, over the payload of its streams."""

    def __init__(
        self,
        checks: Sequence[RingCheck],
        *,
        names: Sequence[str],
        stores: Sequence[PayloadStore],
        asking: set[int],
    ) -> None:
        self.checks = tuple(checks)
        self._names = names
        self._stores = stores
        self._gathering = threading.Lock()  # a store serves one caller at a time
        self._row_bytes: dict[int, float] = {}  # of each stream, in the last block
        self._asking = asking  # threads that are inside a check: from there the join may not be called

    @property
    def streams(self) -> list[list[int]]:
        """The streams that each check is about."""
        return [list(check.streams) for check in self.checks]

    def __call__(self, number: int, rows: list[Rows]) -> Truths:
        """The verdict on candidates, given the rows of each of the check's streams."""
        check = self.checks[number]
        me = threading.get_ident()
        self._asking.add(me)
        try:
            return self._ask(check, rows)
        except WatersmeetError:
            raise
        except Exception as error:
            raise self._explained(check, rows, error) from error
        finally:
            self._asking.discard(me)

    def _ask(self, check: RingCheck, rows: Sequence[Rows]) -> Truths:
        """The verdict on all candidates, in pieces that fit a cache."""
        count = len(rows[0])
        starts = [self._stores[stream].block_starts for stream in check.streams]
        ends = _ends_of_stretches(rows, starts)
        verdicts: list[Truths] = []
        first = 0
        while first < count:
            last = _end_of_piece(ends, first, self._piece_rows(check))
            piece = [part[first:last] for part in rows]
            verdicts.append(self._ask_piece(check, piece, is_first=first == 0))
            first = last
        return verdicts[0] if len(verdicts) == 1 else np.concatenate(verdicts)

    def _piece_rows(self, check: RingCheck) -> int:
        widest = max(self._row_bytes.get(stream, _FIRST_ROW_BYTES) for stream in check.streams)
        return int(max(_LEAST_PIECE, _PIECE_BYTES // max(1, widest)))

    def _ask_piece(self, check: RingCheck, rows: Sequence[Rows], *, is_first: bool) -> Truths:
        with self._gathering:
            blocks = [
                self._stores[stream].table(part) for stream, part in zip(check.streams, rows, strict=True)
            ]
        if is_first:  # counting bytes takes as long as comparing some wide rows
            for stream, block in zip(check.streams, blocks, strict=True):
                self._row_bytes[stream] = block.nbytes / max(1, block.num_rows)
        return check.holds(*blocks)

    def _explained(self, check: RingCheck, rows: list[Rows], error: Exception) -> WatersmeetError:
        """The error with the rows that cause it: halves of the block are tried until one row is left."""
        first, count = 0, len(rows[0])
        while count > 1:
            half = count // 2
            if not self._fails(check, [part[first : first + half] for part in rows]):
                if not self._fails(check, [part[first + half : first + count] for part in rows]):
                    break
                first += half
                count -= half
            else:
                count = half
        where = ", ".join(
            f"row {int(part[first])} of {self._names[stream]!r}"
            for stream, part in zip(check.streams, rows, strict=True)
        )
        about = f"for {where}" if count == 1 else f"for a block of {count} that begins with {where}"
        return WatersmeetError(f"{check.label}: {type(error).__name__}: {error} ({about})")

    def _fails(self, check: RingCheck, rows: list[Rows]) -> bool:
        try:
            self._ask(check, rows)
        except Exception:
            return True
        return False


def _ends_of_stretches(rows: Sequence[Rows], starts: Sequence[Rows]) -> Rows:
    """Where candidates end that have one row of one stream and a stretch of rows of another, of one block.

    Such rows need not be copied. `starts` are the first rows of each stream's blocks.
    """
    ends = np.zeros(len(rows[0]) - 1, np.bool_)
    for part, firsts in zip(rows, starts, strict=True):
        steps = np.diff(part)
        ends |= (steps < 0) | (steps > 1)
        if len(firsts) > 1:
            ends |= np.diff(np.searchsorted(firsts, part, side="right")) != 0
    return np.append(np.flatnonzero(ends) + 1, len(rows[0]))


def _end_of_piece(ends: Rows, first: int, most: int) -> int:
    """Where a piece of at most so many candidates ends: with a stretch, or evenly cut from a longer one.

    Stretches that are not worth a call of their own share one.
    """
    last = int(ends[np.searchsorted(ends, first, side="right")])
    if last - first > most:
        pieces = -(-(last - first) // most)
        return first - (first - last) // pieces
    if last - first >= _LEAST_PIECE:
        return last
    return int(ends[np.searchsorted(ends, first + most, side="right") - 1])
