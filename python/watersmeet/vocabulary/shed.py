"""Shed: how a join that cannot keep up gives up comparisons, and the budgets it may be held to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.vocabulary import _check
from watersmeet.vocabulary.duration import Span, SpanLike
from watersmeet.vocabulary.stream import positive_span

__all__ = ["Adaptation", "Budget", "Comparisons", "PerBatch", "Policy", "Shed", "comparisons", "per_batch"]

Policy: TypeAlias = Literal["auto", "gedik", "density", "content", "random-drop"]
Adaptation: TypeAlias = Literal["rate", "time", "direction"]
RateControl: TypeAlias = Literal["backlog", "published"]

POLICIES: Final[tuple[Policy, ...]] = ("auto", "gedik", "density", "content", "random-drop")
ADAPTATIONS: Final[tuple[Adaptation, ...]] = ("rate", "time", "direction")
COST_UNITS: Final = ("comparison", "posting", "lookup", "score")


@dataclass(frozen=True, slots=True)
class Comparisons:
    """A virtual server that makes so many comparisons per second of stream time: deterministic.

    `costs` weighs the kinds of work ("comparison", "posting", "lookup", "score"); each costs 1 unless stated.
    """

    per_second: float
    costs: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        rate = _check.finite_number(self.per_second, argument="comparisons(per_second)", above=0)
        object.__setattr__(self, "per_second", rate)
        if not isinstance(self.costs, Mapping):
            raise ConfigError(f"comparisons(costs)={self.costs!r}: expected a mapping from work to cost")
        costs = dict.fromkeys(COST_UNITS, 1.0)
        for unit, cost in self.costs.items():
            _check.one_of(unit, COST_UNITS, argument="comparisons(costs): kind of work")
            costs[unit] = float(
                _check.finite_number(cost, argument=f"comparisons(costs[{unit!r}])", lowest=0)
            )
        object.__setattr__(self, "costs", costs)


@dataclass(frozen=True, slots=True)
class PerBatch:
    """A bound on the time that the join may take for each micro-batch (Spark)."""

    span: Span

    def __post_init__(self) -> None:
        object.__setattr__(self, "span", positive_span(self.span, argument="per_batch(span)"))


Budget: TypeAlias = Literal["cpu"] | Comparisons | PerBatch


def comparisons(per_second: float, *, costs: Mapping[str, float] | None = None) -> Comparisons:
    """A budget in comparisons per second of stream time."""
    return Comparisons(per_second, {} if costs is None else costs)


def per_batch(span: SpanLike) -> PerBatch:
    """A budget in time per micro-batch."""
    return PerBatch(span)  # type: ignore[arg-type]  # the value parses what users write


@dataclass(frozen=True, slots=True, init=False)
class Shed:
    """What to give up, and how to choose it, when the input outruns the budget.

    budget         "cpu": keep up with the wall clock; comparisons(n) per second of stream; per_batch(span)
    policy         "auto", "gedik" (as published), "density", "content", or "random-drop" (the baseline)
    adapt          for "gedik": a prefix of ("rate", "time", "direction"), or just "rate"
    utility        value of a row by its type (Stream.type); None values all alike
    utility_of     how the values of its members make a result's value: their "max" or "mean"
    rate_period    how often the fraction is set anew                                  T_r, [Gedik] Alg. 1
                   (against the clock every second, unless rate_control="published")
    time_period    how often the visiting order is set anew                            T_c, [Gedik] Alg. 2
    boost          factor by which the fraction is raised while the join keeps up      delta_r, [Gedik] Alg. 1
    rate_control   "backlog": solve for the fraction; "published": [Gedik] Alg. 1, a sawtooth (SPEC G11)
    sampling       share of the processed probes that visit the whole window           gamma, [Gedik] Alg. 3
    input_buffer   how much input may wait, per stream, before rows are dropped
    """

    budget: Budget
    policy: Policy
    adapt: tuple[Adaptation, ...]
    utility: Mapping[Any, float] | None = field(hash=False)
    utility_of: Literal["max", "mean"]
    rate_period: Span
    time_period: Span
    boost: float
    sampling: float
    input_buffer: Span
    rate_control: RateControl

    def __init__(
        self,
        budget: Budget = "cpu",
        *,
        policy: Policy = "auto",
        adapt: tuple[Adaptation, ...] | Literal["rate"] = ADAPTATIONS,
        utility: Mapping[Any, float] | None = None,
        utility_of: Literal["max", "mean"] = "max",
        rate_period: SpanLike = "5s",
        time_period: SpanLike = "5s",
        boost: float = 1.2,
        sampling: float = 0.1,
        input_buffer: SpanLike = "1s",
        rate_control: RateControl = "backlog",
    ) -> None:
        values = {
            "budget": _budget(budget),
            "policy": _check.one_of(policy, POLICIES, argument="Shed(policy)"),
            "adapt": _adaptations(adapt),
            "utility": None if utility is None else _utility(utility),
            "utility_of": _check.one_of(utility_of, ("max", "mean"), argument="Shed(utility_of)"),
            "rate_period": positive_span(rate_period, argument="Shed(rate_period)"),
            "time_period": positive_span(time_period, argument="Shed(time_period)"),
            "boost": _check.finite_number(boost, argument="Shed(boost)", above=1),
            "sampling": _check.share(sampling, argument="Shed(sampling)"),
            "input_buffer": positive_span(input_buffer, argument="Shed(input_buffer)"),
            "rate_control": _check.one_of(
                rate_control, ("backlog", "published"), argument="Shed(rate_control)"
            ),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _budget(value: object) -> Budget:
    if isinstance(value, Comparisons | PerBatch):
        return value
    if isinstance(value, str) and value == "cpu":
        return "cpu"
    raise ConfigError(
        f"Shed(budget)={value!r}: expected 'cpu', wm.comparisons(per_second) or wm.per_batch(span)"
    )


def _adaptations(value: object) -> tuple[Adaptation, ...]:
    given = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else None
    if not given or given != ADAPTATIONS[: len(given)]:
        raise ConfigError(
            f"Shed(adapt)={value!r}: expected 'rate', ('rate', 'time') or ('rate', 'time', 'direction')"
        )
    return ADAPTATIONS[: len(given)]


def _utility(value: object) -> dict[Hashable, float]:
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"Shed(utility)={value!r}: expected a mapping from row type to its value")
    return {
        kind: _check.finite_number(worth, argument=f"Shed(utility[{kind!r}])", lowest=0)
        for kind, worth in value.items()
    }
