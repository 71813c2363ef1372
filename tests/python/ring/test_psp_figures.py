from __future__ import annotations

import pytest
from bench.figures.claims import check, read_claims
from bench.figures.psp.draw import curves
from bench.figures.psp.points import FIGURES


@pytest.mark.parametrize("figure", list(FIGURES))
def test_every_claim_of_the_figure_holds(figure: str) -> None:
    failed = [
        (claim.says, measured)
        for claim, measured, holds in check("psp", figure, FIGURES[figure]())
        if not holds
    ]
    assert failed == []
    assert len(read_claims("psp", figure)) >= 3


def test_claim_can_fail() -> None:
    claim = read_claims("psp", "costs")[0]
    assert not claim.holds({claim.value: 99.0})


def test_curves_are_read_off_the_names_of_their_points() -> None:
    values = {
        "latency S=0.1 N=4": 1.0,
        "latency S=0.1 N=5": 2.0,
        "state S=0.1 N=4": 3.0,
        "optimum S=0.1": 4.0,
    }
    assert curves(values, "latency", "N") == {"latency S=0.1": [(4.0, 1.0), (5.0, 2.0)]}
