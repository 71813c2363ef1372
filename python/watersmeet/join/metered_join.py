"""A join that is given its budget micro-batch by micro-batch, by a caller who measures what it costs.

Rows of a micro-batch are held; then they are joined together, in order of their arrival on a clock of the
caller's own, by a server that does so many units of work per second of that clock. What is over budget is
shed as in any join with shed=. Between micro-batches nothing waits, so that the rows and course() are all
that there is: a new join, refilled with the rows, goes on from there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import ConfigError
from watersmeet.join.shedding.layout import check_shed
from watersmeet.join.two_way.config import checked_config
from watersmeet.join.two_way.engine import Engine
from watersmeet.join.window_join import WindowJoin
from watersmeet.vocabulary import Predicate, Shed, Span, Stream

__all__ = ["MeteredJoin"]


class MeteredJoin(WindowJoin):
    """A WindowJoin for micro-batches. Both streams' types are declared from the start."""

    def __init__(
        self,
        left: Stream,
        right: Stream,
        *,
        on: Predicate | None,
        between: tuple[Span, Span],
        suffix: str,
        shed: Shed,
        schemas: tuple[pa.Schema, pa.Schema],
        seed: int = 0,
    ) -> None:
        config = checked_config(
            left,
            right,
            on=on,
            how="inner",
            output="columns",
            suffix=suffix,
            between=between,
            basic_window=None,
            order=None,
            index="auto",
            merge="auto",
            expiry="active",
            seed=seed,
            shed=shed,
        )
        config = replace(config, metered=True)
        check_shed(config, shed)
        self._hold(Engine(config))
        for name, schema in zip(config.names, schemas, strict=True):
            self.push(name, schema.empty_table())

    def hold(self, stream: str, batch: Any, *, arrivals: npt.NDArray[np.int64]) -> None:
        """Take rows of a micro-batch; they arrive at these ticks, in order, and wait for drain()."""
        side = self._side(stream)
        with self._guard:
            self._engine.hold(side, batch, arrivals)

    def drain(self, *, units_per_s: float) -> pa.Table:
        """Join the rows that wait, at this speed; returns the results."""
        if not units_per_s > 0:
            raise ConfigError(f"drain(units_per_s)={units_per_s!r}: expected a number above 0")
        with self._guard:
            self._engine.setup.core.set_speed(units_per_s)
            return self._engine.drain()

    @property
    def units(self) -> float:
        """The work done so far, in the units of the budget."""
        with self._guard:
            return float(self._engine.setup.core.statistics()["units"])

    def course(self) -> bytes:
        """What this join knows but for its rows."""
        with self._guard:
            return bytes(self._engine.setup.core.course())

    def set_course(self, course: bytes) -> None:
        """Go on as the join did that this is from. Requires: its rows are here."""
        with self._guard:
            self._engine.setup.core.set_course(course)
