from __future__ import annotations

import pytest
from bench.figures.claims import check, read_claims
from bench.figures.hammad.points import FIGURES
from bench.figures.hammad.simulate import Workload, simulate

from watersmeet.control.ordering import AdaptiveRule


@pytest.mark.parametrize("figure", list(FIGURES))
def test_every_claim_of_the_figure_holds(figure: str) -> None:
    failed = [
        (claim.says, measured)
        for claim, measured, holds in check("hammad", figure, FIGURES[figure]())
        if not holds
    ]
    assert failed == []
    assert len(read_claims("hammad", figure)) >= 10


def test_claim_can_fail() -> None:
    claim = read_claims("hammad", "fig5")[0]
    assert not claim.holds({claim.value: 99.0})


def test_simulation_is_a_function_of_its_seed() -> None:
    workload = Workload((1.0, 10.0), 5e-4, seconds=200.0, seed=3)
    rule = AdaptiveRule((60.0, 60.0), alpha=0.3)
    assert simulate(workload, rule) == simulate(workload, rule)
    assert simulate(workload, "sync-filter") != simulate(
        Workload((1.0, 10.0), 5e-4, seconds=200.0), "sync-filter"
    )
