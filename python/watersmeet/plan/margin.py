"""Where a little more budget would go: what is left over at run time, and what exploring does not need."""

from __future__ import annotations

from collections.abc import Mapping

from watersmeet.plan.allocation import Allocation
from watersmeet.plan.plan import Plan

__all__ = ["margin"]

_FULL = 1.0 - 1e-6


def margin(plan: Plan | None, allocation: Allocation) -> dict[str, float]:
    """Per half-way join: its share of one probe more. Along the most productive path that can take more,
    divided as eq. 7 has it; where the policy does not think in paths, as the budget itself is divided.
    """
    names = list(allocation.probes)
    if plan is not None and allocation.paths.keys() == plan.paths.keys():
        open_paths = [
            path
            for path in plan.paths.values()
            if path.productivity > 0.0 and allocation.paths[path.stream] < _FULL * path.most
        ]
        if open_paths:
            best = max(open_paths, key=lambda path: path.productivity)
            per_row = dict(zip(best.hops, best.probes_per_hop, strict=True))
            return {name: per_row.get(name, 0.0) / best.probes_per_row for name in names}
    return _alike(allocation.probes)


def _alike(probes: Mapping[str, float]) -> dict[str, float]:
    total = sum(probes.values())
    return {name: each / total if total else 1.0 / len(probes) for name, each in probes.items()}
