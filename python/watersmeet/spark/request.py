"""What a Spark join was asked to do, checked once on the driver; the value that travels to every worker."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from watersmeet.errors import SchemaError
from watersmeet.join import WindowJoin
from watersmeet.join.metered_join import MeteredJoin
from watersmeet.vocabulary import Predicate, Shed, Span, Stream, TimeUnit
from watersmeet.vocabulary.duration import NANOSECONDS

__all__ = ["SIDES", "By", "How", "Lane", "Request", "Role"]

How: TypeAlias = Literal["inner", "left", "right", "full", "semi", "anti"]
By: TypeAlias = Literal["key", "slice", "one"]
Role: TypeAlias = int  # OWNED or VISITING

SIDES = ("left", "right")
OWNED, VISITING = 0, 1


@dataclass(frozen=True, slots=True)
class Lane:
    """One join inside a bucket: its bounds on ts_right - ts_left, and which roles of each side enter it."""

    lower: int
    upper: int
    roles: tuple[tuple[Role, ...], tuple[Role, ...]]


@dataclass(frozen=True)
class Request:
    """The join, in the terms that workers need. Times are whole numbers of `unit` since 1970."""

    on: Predicate | None
    how: How
    suffix: str
    lower: int
    upper: int
    rows_windows: tuple[Span, Span] | None  # windows of which at least one counts rows; None: by time
    times: tuple[str, str]
    time_unit: TimeUnit  # of integer time columns
    unit: TimeUnit
    steps: tuple[int, int]  # one step of each time column, in `unit`
    schemas: tuple[bytes, bytes]  # of the two inputs, as Arrow writes them
    by: By
    labels: tuple[int, ...]  # the group that each bucket is sent under
    width: int  # of a slice
    streaming: bool
    shed: Shed | None = None
    types: tuple[str | None, str | None] = (
        None,
        None,
    )  # columns for Shed.utility
    waves: int = 1  # how often a core has a bucket's turn in a micro-batch
    identity: str = ""

    @property
    def partitions(self) -> int:
        """How many buckets there are."""
        return len(self.labels)

    @property
    def extent(self) -> int:
        """How far apart in time the two rows of a pair may be, over both directions."""
        return self.upper - self.lower

    @property
    def home(self) -> int:
        """The side each of whose rows must meet all its partners in one place."""
        return 1 if self.how == "right" else 0

    @property
    def shares_probes(self) -> bool:
        """Whether rows are kept by one owner and visit the others.

        [PSP] Zero-copy slices; only inner joins: an outer row must see all its partners in one place. A batch
        is not divided so unless it has a budget, which this spreads evenly over time.
        """
        return self.by == "slice" and self.how == "inner" and (self.streaming or self.shed is not None)

    @property
    def waits(self) -> bool:
        """Whether rows wait for the watermark before they join, as results about missing partners must."""
        return self.how != "inner" or self.rows_windows is not None

    @functools.cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """The joins of a bucket.

        A pair belongs to the owner of its earlier row (left, on a tie), where the later one visits: one lane
        for pairs whose left row is earlier, one for the others.
        """
        every = (OWNED, VISITING)
        if not self.shares_probes:
            return (Lane(self.lower, self.upper, (every, every)),)
        lanes = []
        if self.upper >= 0:
            lanes.append(Lane(max(self.lower, 0), self.upper, ((OWNED,), every)))
        if self.lower < 0:
            lanes.append(Lane(self.lower, min(self.upper, -1), (every, (OWNED,))))
        return tuple(lanes)

    def reach(self, side: int, role: Role) -> int:
        """How long after its own time a row may still be needed: until the watermark passes both."""
        if self.waits:  # the partners of a row that waits for its verdict are needed as long as it is
            return max(self.upper, 0) - min(self.lower, 0)
        return max(
            (lane.upper if side == 0 else -lane.lower) for lane in self.lanes if role in lane.roles[side]
        )

    def span(self, amount: int) -> Span:
        """A number of units as a span."""
        return Span(nanoseconds=amount * NANOSECONDS[self.unit])

    def schema(self, side: int) -> pa.Schema:
        """The columns of one input."""
        return pa.ipc.read_schema(pa.py_buffer(self.schemas[side]))

    def windows(self) -> dict[str, Any]:
        """The window, as wm.join takes it."""
        if self.rows_windows is not None:
            return {"window": self.rows_windows}
        return {"between": (self.span(self.lower), self.span(self.upper))}

    def output_schema(self) -> pa.Schema:
        """The columns of the result, by the join itself; SchemaError where the inputs do not fit it."""
        if self.shed is not None:  # the policy must go with the predicate, too
            return self._metered_schema()
        windows = self.rows_windows or (None, None)
        join = WindowJoin(
            *(
                Stream(name, time=time, window=window, time_unit=self.time_unit)
                for name, time, window in zip(SIDES, self.times, windows, strict=True)
            ),
            on=self.on,
            how=self.how,
            suffix=self.suffix,
            between=None if self.rows_windows else (self.span(self.lower), self.span(self.upper)),
        )
        out = None
        for side, name in enumerate(SIDES):
            out = join.push(name, self.schema(side).empty_table())
        assert out is not None
        return out.schema

    def _metered_schema(self) -> pa.Schema:
        assert self.shed is not None
        left, right = (
            Stream(name, time=time, time_unit=self.time_unit, type=kind)
            for name, time, kind in zip(SIDES, self.times, self.types, strict=True)
        )
        for side, kind in enumerate(self.types):
            if kind is not None and kind not in self.schema(side).names:
                raise SchemaError(f"stream {SIDES[side]!r}: type={kind!r} is no column of it")
        join = MeteredJoin(
            left,
            right,
            on=self.on,
            between=(self.span(self.lower), self.span(self.upper)),
            suffix=self.suffix,
            shed=self.shed,
            schemas=(self.schema(0), self.schema(1)),
        )
        return join.finish().schema
