"""What one arriving row costs, on one node and on a ring of slices ([PSP] 5.1, SPEC P1, P4, P11).

Departs from [PSP]: equation 1 multiplies rate, window and selectivity of every step, which counts the rows
that a step produces; the rows it compares lack the last selectivity. Only that form makes equation 2 exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from watersmeet.cost import Calibration
from watersmeet.errors import ConfigError
from watersmeet.ring._check import at_least, per_stream, share

__all__ = ["RingLoad", "UnitCosts"]


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """Seconds per unit of work ([PSP] table 1), and what a link carries: infinite unless given.

    The last three are not the paper's: what the threads of one machine spend on results and on calls.
    """

    join_s: float  # T_j
    insert_s: float = 0.0  # T_i
    purge_s: float = 0.0  # T_p
    send_s: float = 0.0  # T_s
    hop_s: float = 0.0  # T_n
    link_bytes_per_s: float = math.inf
    emit_s: float = 0.0  # to give a result out
    call_s: float = 0.0  # a call, with whatever rows
    start_s: float = 0.0  # until the other slices begin with them

    def __post_init__(self) -> None:
        at_least(self.join_s, 0.0, argument="join_s", strictly=True)
        for name in ("insert_s", "purge_s", "send_s", "hop_s", "emit_s", "call_s", "start_s"):
            at_least(getattr(self, name), 0.0, argument=name)
        if not self.link_bytes_per_s > 0.0:
            raise ConfigError(f"link_bytes_per_s={self.link_bytes_per_s!r}: expected a number above 0")

    @classmethod
    def measured(
        cls,
        calibration: Calibration,
        *,
        vector_bytes: int,
        predicate: Literal["distance", "function"] = "distance",
        link_bytes_per_s: float = math.inf,
        streams: int = 2,
        crowded: bool = False,
    ) -> UnitCosts:
        """What `wm.cost.calibrate()` measured: threads of one machine that compare vectors of so many bytes,
        by wm.distance or by a function of NumPy's. Purging is counted with inserting, a row's whole life.
        A result has a vector of each stream. `crowded`: as fast as with a thread on every core.
        """
        costs = calibration.slices
        if not costs:
            raise ConfigError("calibration: made before it measured slices; call wm.cost.calibrate() again")
        byte_ns = costs["distance_byte" if predicate == "distance" else "function_byte"]
        if crowded:
            byte_ns *= costs.get("crowding", 1.0)
        result_ns = costs.get("result", 0.0) + streams * vector_bytes * costs.get("result_byte", 0.0)
        return cls(
            vector_bytes * byte_ns * 1e-9,
            insert_s=(costs["row"] + vector_bytes * costs["row_byte"]) * 1e-9,
            send_s=costs["message"] * 1e-9,
            hop_s=costs["hop"] * 1e-9,
            link_bytes_per_s=link_bytes_per_s,
            emit_s=result_ns * 1e-9,
            call_s=costs.get("call", 0.0) * 1e-9,
            start_s=costs.get("start", 0.0) * 1e-9,
        )

    def transfer_s(self, size: float) -> float:
        """How long a link is occupied by so many bytes."""
        return size / self.link_bytes_per_s


@dataclass(frozen=True, slots=True)
class RingLoad:
    """The streams of one join: rates, windows, selectivities (one, or one per stream) and bytes per row.

    A stream's selectivity is the share of its window that a probe of it keeps.
    """

    rates_per_s: tuple[float, ...]
    windows_s: tuple[float, ...]
    selectivity: tuple[float, ...]
    row_bytes: float = 0.0

    def __post_init__(self) -> None:
        if len(self.rates_per_s) < 2:
            raise ConfigError(f"rates={self.rates_per_s!r}: expected the rates of at least two streams")
        for rate in self.rates_per_s:
            at_least(rate, 0.0, argument="rates", strictly=True)
        for window in self.windows_s:
            at_least(window, 0.0, argument="windows", strictly=True)
        for chance in self.selectivity:
            share(chance, argument="selectivity")
        at_least(self.row_bytes, 0.0, argument="row_bytes")

    @classmethod
    def of(
        cls,
        rates: Sequence[float],
        windows: float | Sequence[float],
        *,
        selectivity: float | Sequence[float],
        row_bytes: float = 0.0,
    ) -> RingLoad:
        """The load of streams with these rates; the rest may be one number for all of them."""
        streams = len(rates)
        return cls(
            tuple(float(rate) for rate in rates),
            per_stream(windows, streams, argument="windows"),
            per_stream(selectivity, streams, argument="selectivity"),
            row_bytes,
        )

    @property
    def streams(self) -> int:
        """M."""
        return len(self.rates_per_s)

    @property
    def rate_per_s(self) -> float:
        """Rows per second, of all streams together."""
        return sum(self.rates_per_s)

    @property
    def window_rows(self) -> tuple[float, ...]:
        """Rows in each stream's window."""
        return tuple(rate * span for rate, span in zip(self.rates_per_s, self.windows_s, strict=True))

    @property
    def orderings(self) -> tuple[tuple[int, ...], ...]:
        """For rows of each stream, the others in the order in which they are probed: least growth first."""
        growth = [rows * kept for rows, kept in zip(self.window_rows, self.selectivity, strict=True)]
        return tuple(
            tuple(
                sorted(
                    (other for other in range(self.streams) if other != own),
                    key=lambda other: (growth[other], other),
                )
            )
            for own in range(self.streams)
        )

    def intermediates(self, own: int) -> tuple[float, ...]:
        """Rows that each probing step of a row of `own` starts from: 1, then what each step keeps."""
        counts = [1.0]
        for other in self.orderings[own]:
            counts.append(counts[-1] * self.window_rows[other] * self.selectivity[other])
        return tuple(counts)

    def comparisons(self, own: int) -> float:
        """Pairs compared for one row of `own`: at each step, the rows it starts from times the window."""
        starts = self.intermediates(own)[:-1]
        return sum(
            count * self.window_rows[other] for count, other in zip(starts, self.orderings[own], strict=True)
        )

    def central_s(self, costs: UnitCosts) -> float:
        """Mean work for one row on a single node: L_C, [PSP] equation 1 as corrected in SPEC P1."""
        return costs.insert_s + costs.purge_s + costs.join_s * self._mean(self.comparisons)

    def transmission_s(self, costs: UnitCosts) -> float:
        """Mean work per node to receive and send one row's traffic; on N nodes it is spent N times."""
        return costs.send_s * self._mean(lambda own: sum(self.intermediates(own)[:-1]))

    def ring_s(self, costs: UnitCosts, slices: int) -> float:
        """Mean work of all nodes together for one row: L_PSP, [PSP] equation 2."""
        return self.central_s(costs) + slices * self.transmission_s(costs)

    def link_s(self, costs: UnitCosts) -> float:
        """How long one row's traffic occupies every link of the ring (SPEC P4).

        Intermediate rows carry the bytes of all their members and pass every link once; so do the row
        itself and, in a steady state, one older row that moves into the next slice. Without [PSP]'s
        assumption of sufficient bandwidth this is a bound that no number of nodes lowers.
        """
        return costs.transfer_s(self.row_bytes) * (1.0 + self._mean(self._members))

    def _members(self, own: int) -> float:
        starts = self.intermediates(own)[:-1]
        return sum(count * (step + 1) for step, count in enumerate(starts))

    def results_per_row(self) -> float:
        """Mean results that one row completes."""
        return self._mean(lambda own: self.intermediates(own)[-1])

    def extra_traffic(self, slices: int) -> float:
        """Intermediate rows sent over all hops, relative to the results ([PSP] 4.3, SPEC P11): N / x."""
        sent = self._mean(lambda own: sum(self.intermediates(own)[1:-1])) * slices
        results = self.results_per_row()
        return sent / results if results else math.inf

    def bandwidth_needed(self, costs: UnitCosts, slices: int) -> float:
        """Bytes per second below which links stall the probing: [PSP] equation 6.

        Departs from [PSP]: the paper calls it an upper bound; it is a lower one (SPEC P5).
        """
        return self.row_bytes * slices / (costs.join_s * min(self.window_rows))

    def _mean(self, value: Callable[[int], float]) -> float:
        parts = [rate * value(own) for own, rate in enumerate(self.rates_per_s)]
        return sum(parts) / self.rate_per_s
