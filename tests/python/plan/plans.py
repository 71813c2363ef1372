"""Plans that several tests speak about."""

from __future__ import annotations

import numpy as np

from watersmeet.plan import Plan, parse_tree

LINEAR = ((("A", "B"), "C"), "D")
BUSHY = (("A", "B"), ("C", "D"))


def paper_plan(*, rate_c: float = 600.0) -> Plan:
    """The plan of [JAQPOT] Fig. 2b and Table 4, as SPEC J1 recovers it."""
    return Plan(
        (("A", "B"), "C"),
        rates={"A": 500, "B": 700, "C": rate_c},
        states={"A": 5000, "B": 500, "C": 1000, "A+B": 200},
        selectivity={"A+B": 0.001, "A+B+C": 0.005},
    )


def random_plan(rng: np.random.Generator, *, streams: int, most_selectivity: float = 0.002) -> Plan:
    """A random tree with statistics drawn as in [JAQPOT] Table 3, but for the selectivity."""
    parts: list[object] = list("ABCDEFGH"[:streams])
    while len(parts) > 1:
        one, other = (parts.pop(int(rng.integers(len(parts)))) for _ in range(2))
        parts.append((one, other))
    tree = parse_tree(parts[0])  # type: ignore[arg-type]
    return Plan(
        tree,
        rates={name: rng.uniform(300, 1200) for name in tree.streams},
        states={name: rng.uniform(200, 5000) for name in tree.states},
        selectivity={join.name: rng.uniform(0.0001, most_selectivity) for join in tree.joins},
    )
