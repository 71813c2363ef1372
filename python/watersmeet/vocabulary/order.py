"""AdaptiveOrder: results in timestamp order, by whichever of the two published ways is quicker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from watersmeet.errors import ConfigError
from watersmeet.vocabulary import _check
from watersmeet.vocabulary.duration import Span, SpanLike
from watersmeet.vocabulary.stream import positive_span

__all__ = ["AdaptiveOrder", "Order", "parse_order"]


@dataclass(frozen=True, slots=True, init=False)
class AdaptiveOrder:
    """Switch between Sync-Filter and Filter-Order by the measured load.

    alpha        None: whichever of the two answers sooner, Sync-Filter where they are within 2.5 % of each
                 other, since it holds no results; or [Hammad]'s rule by name of its parameter, 0.3 in the
                 paper: the load (cost per comparison x window x both rates) from which Filter-Order is used,
                 which saves alpha / (1 + alpha) of the response there and leaves up to that much below it
    alpha_down   load below which Sync-Filter is used again; lower than alpha, or the join would flap at it
    period       how often rates and costs are looked at, by the join's clock
    comparison_s seconds that deciding a pair of rows takes; None: measured while the join runs
    """

    alpha: float | None
    alpha_down: float | None
    period: Span
    comparison_s: float | None

    def __init__(
        self,
        alpha: float | None = None,
        *,
        alpha_down: float | None = None,
        period: SpanLike = "5s",
        comparison_s: float | None = None,
    ) -> None:
        up, down = _loads(alpha, alpha_down)
        object.__setattr__(self, "alpha", up)
        object.__setattr__(self, "alpha_down", down)
        object.__setattr__(self, "period", positive_span(period, argument="AdaptiveOrder(period)"))
        cost = comparison_s
        if cost is not None:
            cost = _check.finite_number(cost, argument="AdaptiveOrder(comparison_s)", lowest=0)
        object.__setattr__(self, "comparison_s", cost)


def _loads(alpha: float | None, alpha_down: float | None) -> tuple[float | None, float | None]:
    if alpha is None:
        if alpha_down is not None:
            raise ConfigError(f"AdaptiveOrder(alpha_down)={alpha_down!r}: expected alpha= as well")
        return None, None
    up = _check.finite_number(alpha, argument="AdaptiveOrder(alpha)", above=0)
    down = 0.6 * up if alpha_down is None else alpha_down
    down = _check.finite_number(down, argument="AdaptiveOrder(alpha_down)", lowest=0)
    if down > up:
        raise ConfigError(f"AdaptiveOrder(alpha_down)={alpha_down!r}: expected at most alpha={alpha!r}")
    return up, down


Order: TypeAlias = Literal["sync-filter", "filter-order"] | AdaptiveOrder | None


def parse_order(value: object) -> Order:
    """The order= argument of a join."""
    if value is None or isinstance(value, AdaptiveOrder):
        return value
    if value == "sync-filter":
        return "sync-filter"
    if value == "filter-order":
        return "filter-order"
    raise ConfigError(
        f"order={value!r}: expected None, 'sync-filter', 'filter-order' or wm.AdaptiveOrder(alpha=0.3)"
    )
