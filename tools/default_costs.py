"""Write python/watersmeet/cost/default_costs.py from the last calibration of this machine.

Usage: watersmeet calibrate, on a quiet machine; then python tools/default_costs.py
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from watersmeet.cost import Calibration
from watersmeet.join.calibration.cache import read_calibration

TARGET = Path(__file__).resolve().parents[1] / "python" / "watersmeet" / "cost" / "default_costs.py"
HEAD = '''"""Unit costs to start with on a machine that was never calibrated: measured on another.

{machine}, {date}: `watersmeet calibrate`,
written by tools/default_costs.py. Only their proportions matter to a choice, and `watersmeet calibrate` puts
a machine's own in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from watersmeet.cost.unit_costs import CostCurve, Kind, OperationCosts, Structure

__all__ = ["DEFAULT_CURVES", "DEFAULT_INGEST"]

# Nanoseconds by kind of predicate, structure, rows of the window, and operation.
_MEASURED: Final[Mapping[tuple[Kind, Structure], Mapping[float, Mapping[str, float]]]] = {{
'''
TAIL = """}}

DEFAULT_CURVES: Final[Mapping[tuple[Kind, Structure], CostCurve]] = MappingProxyType(
    {{
        key: CostCurve(tuple((rows, OperationCosts(**costs)) for rows, costs in sizes.items()))
        for key, sizes in _MEASURED.items()
    }}
)

DEFAULT_INGEST: Final[Mapping[Kind, float]] = MappingProxyType({ingest})
"""


def source(calibration: Calibration) -> str:
    """The text of the module."""
    found: dict[tuple[str, str], dict[float, dict[str, float]]] = {}
    for line in calibration.lines:
        sizes = found.setdefault((line.kind, line.structure), {})
        sizes.setdefault(line.window_rows, {})[line.operation] = float(f"{line.nanoseconds:.3g}")
    machine = f"{calibration.machine['processor']}, Python {calibration.machine['python']}"
    text = [HEAD.format(machine=machine, date=datetime.now(UTC).date())]
    for key, sizes in found.items():
        text.append(f"    {key!r}: {{\n")
        text += [f"        {rows!r}: {costs!r},\n" for rows, costs in sorted(sizes.items())]
        text.append("    },\n")
    ingest = {kind: float(f"{cost:.3g}") for kind, cost in calibration.ingest.items()}
    return "".join(text) + TAIL.format(ingest=ingest)


def main() -> int:
    """Write the module; run ruff format afterwards."""
    calibration = read_calibration()
    if calibration is None:
        print("default_costs: nothing was measured yet: run `watersmeet calibrate` first", file=sys.stderr)
        return 1
    TARGET.write_text(source(calibration), encoding="utf-8")
    print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
