"""From freshness to refresh rates: how fast the states between joins must be renewed ([JAQPOT] 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from watersmeet.plan.plan import Plan

__all__ = ["refresh_rates", "slack_s"]


def slack_s(plan: Plan) -> Mapping[str, float]:
    """Per stream with a freshness and with states between it and the root: the time its rows may spend in
    those states, beyond their own window. Below or at 0 nothing is fresh enough.
    """
    return {
        stream: fresh - plan.window_s(stream)
        for stream, fresh in plan.freshness.items()
        if len(plan.paths[stream].hops) > 1
    }


def refresh_rates(plan: Plan, slack: Mapping[str, float] | None = None) -> Mapping[str, float]:
    """R_S of every state that some freshness constrains: rows per second that must enter it, or inf.

    Departs from [JAQPOT]: Lemma 1 divides a state by its probe allowance; a row's stay is ruled by what
    enters the state. A path's slack is split equally among its states, and the strictest path counts (SPEC
    J6).
    """
    rates: dict[str, float] = {}
    for stream, spare in (slack_s(plan) if slack is None else slack).items():
        states = plan.paths[stream].hops[1:]
        for state in states:
            rows = plan.states[state] * len(states)
            wanted = rows / spare if spare > 0.0 else (math.inf if rows else 0.0)
            rates[state] = max(rates.get(state, 0.0), wanted)
    return {state: rates[state] for state in plan.tree.susceptible if rates.get(state)}
