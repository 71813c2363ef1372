"""The choice between our two, by what a probe costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from watersmeet.join.shedding.period import Period
from watersmeet.join.shedding.policies.content import ContentPolicy
from watersmeet.join.shedding.policies.density import DensityPolicy
from watersmeet.join.shedding.policies.policy import Plans, PolicyState

__all__ = ["AutoPolicy"]

_WORTH_SCORING: Final = 4.0  # times what scoring costs must be at stake in a probe


class AutoPolicy:
    """Content where a probe is dear, density where the index makes it so cheap that scores cost more."""

    def __init__(self, content: ContentPolicy, density: DensityPolicy, *, score_units: float) -> None:
        self._content, self._density = content, density
        self._score_units = score_units  # of one probe, at most

    @property
    def state(self) -> PolicyState:
        """Both states as one."""
        return replace(self._content.state, alternative=self._density.state)

    @state.setter
    def state(self, state: PolicyState) -> None:
        assert state.alternative is not None
        self._density.state = state.alternative
        self._content.state = replace(state, alternative=None)

    def step(self, period: Period) -> Plans:
        """Let both learn; follow the one that pays."""
        by_content, by_density = self._content.step(period), self._density.step(period)
        probes_per_s = max(period.started / period.elapsed_s, 1e-9)
        probe_units = period.due_pairs_per_s * period.units_per_pair / probes_per_s
        return by_content if probe_units >= _WORTH_SCORING * self._score_units else by_density
