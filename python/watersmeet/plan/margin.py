"""Where a little more budget would go, and where a little less: what is left over at run time, what exploring
does not need, and room for bursts.
"""

from __future__ import annotations

from collections.abc import Mapping

from watersmeet.plan.allocation import Allocation
from watersmeet.plan.plan import Path, Plan

__all__ = ["carried", "margin", "with_headroom"]

_FULL = 1.0 - 1e-6
_HEADROOM = 0.05
_MOST_TAKEN = 0.5  # of what the path on the margin has
_KEPT_S, _LONGEST_S = 2.0, 30.0
_BUNCHES = 20.0  # that what is kept should last for


def margin(plan: Plan | None, allocation: Allocation) -> dict[str, float]:
    """Per half-way join: its share of one probe more. Along the most productive path that can take more,
    divided as eq. 7 has it; where the policy does not think in paths, as the budget itself is divided.
    """
    path = None if plan is None else _open_path(plan, allocation)
    if path is not None:
        per_row = dict(zip(path.hops, path.probes_per_hop, strict=True))
        return {name: per_row.get(name, 0.0) / path.probes_per_row for name in allocation.probes}
    total = sum(allocation.probes.values())
    return {
        name: each / total if total else 1.0 / len(allocation.probes)
        for name, each in allocation.probes.items()
    }


def with_headroom(
    plan: Plan | None, allocation: Allocation, allowances: Mapping[str, float]
) -> dict[str, float]:
    """The same sum, with some room everywhere but at the entrance of the path on the margin, which lends it.

    Rows come in bursts. One that a better path cannot probe is a loss; what its half-way joins do not need
    comes back to the margin, where a row is worth least.
    """
    path = None if plan is None else _open_path(plan, allocation)
    if path is None:
        return dict(allowances)
    entrance = path.hops[0]
    room = {
        name: _HEADROOM * each if name != entrance and allocation.probes.get(name, 0.0) > 0.0 else 0.0
        for name, each in allowances.items()
    }
    wanted = sum(room.values())
    part = min(1.0, _MOST_TAKEN * allocation.paths[path.stream] / wanted) if wanted else 0.0
    lent = dict(zip(path.hops, path.probes_per_hop, strict=True))
    return {
        name: each + part * (room[name] - wanted * lent.get(name, 0.0) / path.probes_per_row)
        for name, each in allowances.items()
    }


def carried(allowances: Mapping[str, float]) -> dict[str, float]:
    """Per half-way join: seconds that it keeps what it does not use, before others may have it.

    A state between joins gets its rows in bunches, one for every probe of the streams below. Where these are
    few a second, most seconds bring nothing, and one of them more than is allowed in it.
    """
    bunches = {name: sum(allowances.get(leaf, 0.0) for leaf in name.split("+")) for name in allowances}
    return {
        name: _KEPT_S if "+" not in name else min(_LONGEST_S, _KEPT_S + _BUNCHES / max(each, 1e-9))
        for name, each in bunches.items()
    }


def _open_path(plan: Plan, allocation: Allocation) -> Path | None:
    """The most productive path that can take more."""
    if allocation.paths.keys() != plan.paths.keys():
        return None
    return max(
        (
            path
            for path in plan.paths.values()
            if path.productivity > 0.0 and allocation.paths[path.stream] < _FULL * path.most
        ),
        key=lambda path: path.productivity,
        default=None,
    )
