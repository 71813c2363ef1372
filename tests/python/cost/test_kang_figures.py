from __future__ import annotations

import pytest
from bench.figures.claims import check, read_claims
from bench.figures.kang.draw import curves
from bench.figures.kang.points import FIGURES


@pytest.mark.parametrize("figure", list(FIGURES))
def test_every_claim_of_the_figure_holds(figure: str) -> None:
    failed = [
        (claim.says, measured)
        for claim, measured, holds in check("kang", figure, FIGURES[figure]())
        if not holds
    ]
    assert failed == []
    assert len(read_claims("kang", figure)) >= 5


def test_a_claim_can_fail() -> None:
    claim = read_claims("kang", "fig2")[0]
    assert not claim.holds({claim.value: 99.0})


def test_points_of_a_curve_are_found_by_its_name() -> None:
    found = curves(FIGURES["fig2"]())
    assert set(found) == {"HHJ", "HNJ", "NHJ", "NNJ"}
    assert (70.0, 24196.5) in found["HNJ"]
