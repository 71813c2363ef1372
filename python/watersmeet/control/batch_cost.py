"""What a micro-batch costs: seconds per row and seconds per unit of work, learnt from the batches before.

A bound on a batch's time becomes a bound on its work: what its rows will take, whatever is shed, is set
aside, and the rest is divided by what a unit costs. Old batches are forgotten by and by, since speed changes
with the content of the windows and with the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.control._check import above, at_least

__all__ = ["BatchCosts", "affordable_units", "learn_batch"]

# Before the first batch: guesses, on the slow side, that a few hundred rows outweigh.
_ROW_S = 1e-6
_UNIT_S = 5e-8
_GUESS_WEIGHT = 1e-10
_MEMORY = 0.85  # weight of the past against one batch
_LEAST_PART = 0.1  # of all seconds is laid on units, whatever the fit says
_ENOUGH = 4  # batches, to tell rows from units
_TELLING = 0.1  # share of a batch's seconds that units must have for it to say what a unit costs
_FOLLOWED = 0.15  # of the difference between what a batch took and what was foretold, where it does not
_JUMP = 2.0  # how many times slower or faster a machine is that has changed
_LEAST_SHARE = 0.02  # of the bound is worked for, even if the rows alone exceed it


@dataclass(frozen=True, slots=True)
class BatchCosts:
    """Faded sums of a least-squares fit: seconds = row_s * rows + unit_s * units; and plain sums."""

    rows_rows: float = 0.0
    rows_units: float = 0.0
    units_units: float = 0.0
    rows_seconds: float = 0.0
    units_seconds: float = 0.0
    batches: int = 0
    units: float = 0.0
    seconds: float = 0.0

    @property
    def per_row_and_unit(self) -> tuple[float, float]:
        """Seconds per row and per unit, both above 0.

        Rows and units often grow together, so that a batch does not tell whose the seconds were; then the
        guesses divide them.
        """
        row_weight = _GUESS_WEIGHT / _ROW_S**2
        unit_weight = _GUESS_WEIGHT / _UNIT_S**2
        a, b, c = self.rows_rows + row_weight, self.rows_units, self.units_units + unit_weight
        p, q = self.rows_seconds + row_weight * _ROW_S, self.units_seconds + unit_weight * _UNIT_S
        determinant = a * c - b * b
        row_s, unit_s = (p * c - q * b) / determinant, (q * a - p * b) / determinant
        # Where scatter would make units free, which invites any amount, they keep a part of what all took.
        least_unit_s = max(1e-10, _LEAST_PART * self.seconds / self.units if self.units else 0.0)
        if row_s <= 0.0:
            row_s, unit_s = 0.0, q / c
        elif unit_s < least_unit_s:
            row_s, unit_s = (p - b * least_unit_s) / a, least_unit_s
        return max(row_s, 1e-10), max(unit_s, least_unit_s)


def learn_batch(costs: BatchCosts, *, rows: float, units: float, seconds: float) -> BatchCosts:
    """The costs with one more batch known.

    One that did next to no work beside its rows tells how fast the machine is, and nothing of units: to
    forget for its sake what they cost would leave a join that was short of time without any measure.
    """
    at_least(rows, 0.0, argument="rows")
    at_least(units, 0.0, argument="units")
    at_least(seconds, 0.0, argument="seconds")
    if rows == 0.0:
        return costs
    costs = _at_the_speed_of(costs, rows=rows, units=units, seconds=seconds)
    if costs.batches >= _ENOUGH and costs.units > 0.0:
        row_s, unit_s = costs.per_row_and_unit
        foretold_s = row_s * rows + unit_s * units
        if unit_s * units < _TELLING * foretold_s:
            return _scaled(costs, (seconds / foretold_s) ** _FOLLOWED)
    return replace(
        costs,
        rows_rows=_MEMORY * costs.rows_rows + rows * rows,
        rows_units=_MEMORY * costs.rows_units + rows * units,
        units_units=_MEMORY * costs.units_units + units * units,
        rows_seconds=_MEMORY * costs.rows_seconds + rows * seconds,
        units_seconds=_MEMORY * costs.units_seconds + units * seconds,
        batches=costs.batches + 1,
        units=_MEMORY * costs.units + units,
        seconds=_MEMORY * costs.seconds + seconds,
    )


def _at_the_speed_of(costs: BatchCosts, *, rows: float, units: float, seconds: float) -> BatchCosts:
    """The past as it would have been, had the machine been as fast as in this batch, if that is far from it.

    A fit through batches of two speeds would lay the difference on rows or on units, as chance has it.
    """
    row_s, unit_s = costs.per_row_and_unit
    ratio = seconds / (row_s * rows + unit_s * units)
    if costs.batches < _ENOUGH or 1.0 / _JUMP <= ratio <= _JUMP:
        return costs
    return _scaled(costs, ratio)


def _scaled(costs: BatchCosts, ratio: float) -> BatchCosts:
    """The past on a machine that is so many times slower."""
    return replace(
        costs,
        rows_seconds=costs.rows_seconds * ratio,
        units_seconds=costs.units_seconds * ratio,
        seconds=costs.seconds * ratio,
    )


def affordable_units(costs: BatchCosts, *, rows: float, bound_s: float) -> float:
    """The units of work for which a batch of so many rows stays within the bound."""
    above(bound_s, 0.0, argument="bound_s")
    row_s, unit_s = costs.per_row_and_unit
    return max(bound_s - rows * row_s, _LEAST_SHARE * bound_s) / unit_s
