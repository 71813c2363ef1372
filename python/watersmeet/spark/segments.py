"""The truth about a bucket: an append-only log of segments of rows, and an index that says what is in it.

A segment holds rows of one side and role of one micro-batch, in order of time, cut at basic windows. The
segments of a batch lie one after the other in as few entries of the store as keep to about a megabyte each:
every call costs the same, and state stores slow down beyond that. Segments are dropped whole, by the index
alone (retention.py says when); their bytes are read only to rebuild. Every batch that is applied leaves a
random token in the index, so that a join kept in memory can tell whether it has seen exactly the batches that
the store has: a batch that failed and came again has another token.
"""

from __future__ import annotations

import json
import secrets
from bisect import bisect_right
from dataclasses import astuple, dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, Protocol

import pyarrow as pa

from watersmeet.errors import WatersmeetError
from watersmeet.spark.blobs import from_blob, pieces, to_blob
from watersmeet.spark.copies import Copies
from watersmeet.spark.live import Arrived
from watersmeet.spark.request import Request, Role
from watersmeet.spark.retention import Segment, cuts, may_matter, needed

__all__ = ["Index", "Log", "Store"]

ENTRY_BYTES: Final = 1 << 20
_TOKENS_KEPT: Final = 64


class Store(Protocol):
    """Where a bucket's state lives: Spark's state store, or a dictionary in tests."""

    def index(self) -> str | None:
        """The index as it was last put; None at the start."""

    def put_index(self, text: str) -> None:
        """Replace the index."""

    def entry(self, number: int) -> bytes:
        """The bytes of an entry."""

    def put_entry(self, number: int, data: bytes) -> None:
        """Add an entry."""

    def drop_entry(self, number: int) -> None:
        """Remove an entry."""


@dataclass(frozen=True, slots=True)
class Index:
    """The state of a bucket but for its rows."""

    signature: str
    next: int = 0
    watermark: int | None = None
    disorder: int = 0  # how far behind its stream a row may come without a rebuild
    timer: int | None = None  # the one that is set, in milliseconds
    segments: tuple[Segment, ...] = ()
    tokens: tuple[tuple[str, int], ...] = field(default=())  # of the last batches, and where each ended
    carried: dict[str, Any] = field(default_factory=dict)  # what controllers remember

    @property
    def token(self) -> str:
        """The mark of the last batch; empty before the first."""
        return self.tokens[-1][0] if self.tokens else ""

    @property
    def rows(self) -> int:
        """The rows in all segments."""
        return sum(segment.rows for segment in self.segments)

    @property
    def bytes(self) -> int:
        """The bytes of all segments."""
        return sum(segment.bytes for segment in self.segments)

    def marked(self, token: str) -> Index:
        """After one more batch."""
        return replace(self, tokens=(*self.tokens, (token, self.next))[-_TOKENS_KEPT:])

    def writer(self, number: int) -> str | None:
        """The token of the batch that wrote an entry; None, where that is forgotten."""
        ends = [end for _, end in self.tokens]
        place = bisect_right(ends, number)
        known = place < len(ends) and (place > 0 or len(ends) < _TOKENS_KEPT)
        return self.tokens[place][0] if known else None

    def to_text(self) -> str:
        """As it is stored."""
        segments = [astuple(segment) for segment in self.segments]
        values = [self.signature, self.next, self.watermark, self.disorder, self.timer, segments]
        return json.dumps([*values, self.tokens, self.carried], separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None, signature: str) -> Index:
        """As it was stored, or a new one; WatersmeetError if it belongs to another join."""
        if text is None:
            return cls(signature)
        was, end, watermark, disorder, timer, segments, tokens, carried = json.loads(text)
        if was != signature:
            raise WatersmeetError(
                f"this checkpoint belongs to another join: it was made for {was}, and the query asks for"
                f" {signature}; start from a new checkpoint, or ask for the same join"
            )
        return cls(
            signature,
            end,
            watermark,
            disorder,
            timer,
            tuple(Segment(*segment) for segment in segments),
            tuple((token, place) for token, place in tokens),
            carried,
        )


class Log:
    """The segments of one bucket, read and written through its index."""

    def __init__(
        self, request: Request, store: Store, signature: str, *, copies: Copies | None = None
    ) -> None:
        self._request, self._store = request, store
        self._copies, self._token = copies, secrets.token_hex(8)
        self.index = Index.from_text(store.index(), signature)
        self._entry = b""  # of this batch, not yet put
        self._last_read: tuple[int, Any] = (-1, b"")

    def append(self, rows: Arrived, watermark: int | None) -> None:
        """Add rows of this batch, but for those that nothing still to come can need."""
        for start, end in pairwise(cuts(self._request, rows.times)):
            latest = int(rows.times[end - 1])
            if not may_matter(self._request, rows.side, rows.role, latest, watermark):
                continue
            for piece in pieces(rows.table.slice(start, end - start), most_bytes=ENTRY_BYTES):
                times = rows.times[start : start + piece.num_rows]
                self._add(rows.side, rows.role, piece, int(times[0]), int(times[-1]))
                start += piece.num_rows

    def _add(self, side: int, role: Role, piece: pa.Table, earliest: int, latest: int) -> None:
        data = to_blob(piece)
        if self._entry and len(self._entry) + len(data) > ENTRY_BYTES:
            self._put()
        place = (self.index.next, len(self._entry))
        segment = Segment(*place, side, role, piece.num_rows, len(data), earliest, latest)
        self._entry += data
        self.index = replace(self.index, segments=(*self.index.segments, segment))

    def read(self, segment: Segment) -> pa.Table:
        """The rows of a segment."""
        if self._last_read[0] != segment.number:
            self._last_read = (segment.number, self._fetched(segment.number))
        return from_blob(memoryview(self._last_read[1])[segment.start : segment.start + segment.bytes])

    def _fetched(self, number: int) -> Any:
        token = self.index.writer(number)
        copy = None if self._copies is None or token is None else self._copies.get(number, token)
        return self._store.entry(number) if copy is None else copy

    def _put(self) -> None:
        if self._entry:
            self._store.put_entry(self.index.next, self._entry)
            if self._copies is not None:
                self._copies.put(self.index.next, self._token, self._entry)
            self.index = replace(self.index, next=self.index.next + 1)
            self._entry = b""

    def expire(self, watermark: int | None) -> None:
        """Drop the segments that nothing still to come can need."""
        self._put()
        kept = needed(self._request, self.index.segments, watermark)
        gone = {s.number for s in self.index.segments} - {s.number for s in kept}
        for number in sorted(gone):
            self._store.drop_entry(number)
            if self._copies is not None:
                self._copies.drop(number)
        self.index = replace(self.index, segments=kept, watermark=watermark)

    def commit(self) -> None:
        """End the batch: a new token, and the index written."""
        self._put()
        self.index = self.index.marked(self._token)
        self._store.put_index(self.index.to_text())
