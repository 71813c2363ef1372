"""Calibration: the unit costs of one machine with their spread, as a value that can be kept in a file.

The measuring is done by the join room, which alone can run the core and read a clock; here is what its
timings mean. Times come in several repeats: a cost is fitted to the shortest, which were disturbed least, and
its spread is the range of what the repeats give one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, cast

from watersmeet.cost.fit import fit_costs
from watersmeet.cost.unit_costs import CostCurve, Kind, OperationCosts, Structure, UnitCosts
from watersmeet.cost.work import Work
from watersmeet.errors import ConfigError

__all__ = ["Calibration", "CalibrationLine", "Observation"]

_FORMAT: Final = 1
_Key = tuple[Kind, Structure, float]


@dataclass(frozen=True, slots=True)
class Observation:
    """One timed run: how much of each operation it made, and the nanoseconds of every repeat.

    Nanoseconds are beyond those of a run without these operations, `noise` is what the two may differ by all
    the same.
    """

    kind: Kind
    structure: Structure
    window_rows: float
    work: Work
    nanoseconds: tuple[float, ...]
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class CalibrationLine:
    """One measured cost: nanoseconds, with the lowest and the highest that a repeat gave."""

    kind: Kind
    structure: Structure
    window_rows: float
    operation: str
    nanoseconds: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The unit costs of the machine described by `machine`, line by line.

    `slices`: nanoseconds of what a ring of slices does, by names of join.calibration.slices; those it has.
    """

    lines: tuple[CalibrationLine, ...]
    ingest: Mapping[Kind, float]
    machine: Mapping[str, str]
    slices: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_observations(
        cls,
        observations: Iterable[Observation],
        *,
        ingest: Mapping[Kind, float],
        machine: Mapping[str, str],
        slices: Mapping[str, float],
    ) -> Calibration:
        """Fit unit costs to timed runs, separately for each kind, structure and window size."""
        groups: dict[_Key, list[Observation]] = {}
        for each in observations:
            groups.setdefault((each.kind, each.structure, each.window_rows), []).append(each)
        lines = [line for key in groups for line in _lines(key, _with_neighbour(groups, key))]
        return cls(
            tuple(lines),
            MappingProxyType(dict(ingest)),
            MappingProxyType(dict(machine)),
            MappingProxyType(dict(slices)),
        )

    @property
    def unit_costs(self) -> UnitCosts:
        """The costs in the form that choices are made with."""
        points: dict[tuple[Kind, Structure], dict[float, dict[str, float]]] = {}
        for line in self.lines:
            sizes = points.setdefault((line.kind, line.structure), {})
            sizes.setdefault(line.window_rows, {})[line.operation] = line.nanoseconds
        curves = {
            key: CostCurve(tuple((rows, OperationCosts(**costs)) for rows, costs in sorted(sizes.items())))
            for key, sizes in points.items()
        }
        return UnitCosts(curves, ingest=self.ingest, measured=True)

    def to_json(self) -> str:
        """The text of the cache file."""
        names = [each.name for each in fields(CalibrationLine)]
        return json.dumps(
            {
                "format": _FORMAT,
                "machine": dict(self.machine),
                "ingest": dict(self.ingest),
                "slices": dict(self.slices),
                "columns": names,
                "lines": [[getattr(line, name) for name in names] for line in self.lines],
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Read the text of a cache file; ConfigError where it is damaged or of another version."""
        try:
            found = cast("dict[str, Any]", json.loads(text))
            if found["format"] != _FORMAT:
                raise ConfigError(f"calibration file: format {found['format']!r}, expected {_FORMAT}")
            lines = (
                CalibrationLine(**dict(zip(found["columns"], line, strict=True))) for line in found["lines"]
            )
            calibration = cls(
                tuple(lines),
                MappingProxyType(found["ingest"]),
                MappingProxyType(found["machine"]),
                MappingProxyType(found.get("slices", {})),
            )
            _ = calibration.unit_costs
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"calibration file: damaged ({error}); run `watersmeet calibrate`") from None
        return calibration

    def __str__(self) -> str:
        """A table: one line per structure and size, operations in nanoseconds with half their range."""
        rows: dict[_Key, list[str]] = {}
        for line in self.lines:
            spread = max(line.high - line.nanoseconds, line.nanoseconds - line.low)
            cell = f"{line.operation} {line.nanoseconds:.3g} ± {spread:.2g}"
            rows.setdefault((line.kind, line.structure, line.window_rows), []).append(cell)
        return "\n".join(
            f"{kind:<8} {structure:<15} {size:>9,.0f} rows   {'   '.join(cells)}"
            for (kind, structure, size), cells in rows.items()
        )


def _with_neighbour(groups: Mapping[_Key, list[Observation]], key: _Key) -> list[Observation]:
    """The runs at this size, and at the next smaller one (for the smallest, the next larger).

    At one size the rows scanned per probe are the same in every run, and only another size tells their cost
    from that of the probe itself. A hashed window has no such cost, and changes more from size to size.
    """
    kind, structure, rows = key
    sizes = sorted(size for one, other, size in groups if (one, other) == (kind, structure))
    if structure == "hash" or len(sizes) == 1:
        return groups[key]
    at = sizes.index(rows)
    neighbour = sizes[at - 1] if at else sizes[1]
    return [*groups[key], *(each for each in groups[kind, structure, neighbour] if not each.work.insert)]


def _lines(key: _Key, group: Sequence[Observation]) -> list[CalibrationLine]:
    kind, structure, rows = key
    works = [each.work for each in group]
    repeats = min(len(each.nanoseconds) for each in group)
    noise = [each.noise for each in group]
    costs = fit_costs(works, [min(each.nanoseconds) for each in group], noise=noise)
    single = [
        fit_costs(works, [each.nanoseconds[at] for each in group], noise=noise) for at in range(repeats)
    ]
    lines = []
    for each in fields(OperationCosts):
        value, values = getattr(costs, each.name), [getattr(one, each.name) for one in single]
        if value > 0.0 or max(values) > 0.0:
            low, high = min(*values, value), max(*values, value)
            lines.append(CalibrationLine(kind, structure, rows, each.name, value, low, high))
    return lines
