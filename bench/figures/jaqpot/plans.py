"""The plans of the figures: the paper's running examples, and draws from Table 3."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from watersmeet.plan import Plan, parse_tree

__all__ = ["HEURISTICS", "SHAPES", "draws", "fig2b", "fig4", "fig6", "per_cycle"]

HEURISTICS = ("equal", "global-ratio", "equal-best", "selectivity-best")
SHAPES = {"linear": ((("A", "B"), "C"), "D"), "bushy": (("A", "B"), ("C", "D"))}
_SEED = 7


def fig2b(*, rate_c: float = 600.0) -> Plan:
    """J-Fig2b, J-Fig10 and J-Tab4 with the parameters of SPEC J1."""
    return Plan(
        (("A", "B"), "C"),
        rates={"A": 500, "B": 700, "C": rate_c},
        states={"A": 5000, "B": 500, "C": 1000, "A+B": 200},
        selectivity={"A+B": 0.001, "A+B+C": 0.005},
    )


def fig4() -> Plan:
    """A plan with the path table of J-Tab2: 11 rows of A become 4, 11 of B become 5, 10 of C become 1."""
    return Plan(
        (("A", "B"), "C"),
        rates={"A": 30, "B": 30, "C": 30},
        states={"A": 500, "B": 400, "C": 1100, "A+B": 110},
        selectivity={"A+B": 1 / 1100, "A+B+C": 1 / 1100},
    )


def fig6(shape: str, selectivity: tuple[float, float, float]) -> Plan:
    """The plan of J-Fig6 with the selectivities of its three joins, the root's last.

    The paper gives neither rates nor windows. The windows lie in Table 3's range; the rates are a tenth of
    it, so that a window lasts several cycles.
    """
    tree = parse_tree(SHAPES[shape])
    return Plan(
        tree,
        rates={"A": 60, "B": 50, "C": 70, "D": 40},
        states=dict.fromkeys(tree.states, 400) | {"A": 500, "D": 300},
        selectivity=dict(zip((join.name for join in tree.joins), selectivity, strict=True)),
    ).with_freshness(windows=1.5)


def draws(
    shape: str, *, count: int = 500, selectivity: tuple[float, float] = (0.01, 0.1), seed: int = _SEED
) -> Iterator[Plan]:
    """Plans drawn from Table 3, each number by itself; the selectivity's range may be another (SPEC
    J-Fig7).
    """
    rng = np.random.default_rng(seed)
    tree = parse_tree(SHAPES[shape])
    for _ in range(count):
        yield Plan(
            tree,
            rates={name: rng.uniform(300, 1200) for name in tree.streams},
            states={name: rng.uniform(200, 5000) for name in tree.states},
            selectivity={join.name: rng.uniform(*selectivity) for join in tree.joins},
        )


def per_cycle(plan: Plan, *, cycles_per_s: float) -> Plan:
    """The same plan in another unit of time, for windows that are short next to a second."""
    return Plan(
        plan.tree,
        rates={name: rate / cycles_per_s for name, rate in plan.rates.items()},
        states=plan.states,
        selectivity=plan.selectivity,
        freshness={name: seconds * cycles_per_s for name, seconds in plan.freshness.items()},
    )
