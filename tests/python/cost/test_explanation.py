from __future__ import annotations

import json

import pytest

import watersmeet as wm
from watersmeet.cost import (
    Explanation,
    UnitCosts,
    estimate_loads,
    explain_direction,
    kind_of,
    predicted_cost,
    stream_cost,
)
from watersmeet.errors import ConfigError


def plan(structure: str | None = None, *, asked: bool = False, measured: float | None = None) -> Explanation:
    loads = estimate_loads("equal", rates=(10, 1e5), window_rows=(100, 1e6), keys=(50, 1e5))
    directions = tuple(
        explain_direction(
            loads[window],
            names=(("a", "b")[1 - window], ("a", "b")[window]),
            unit_costs=UnitCosts(),
            structure=structure,  # type: ignore[arg-type]
            asked=asked,
            measured=measured,
        )
        for window in (0, 1)
    )
    return Explanation(title="a ⋈ b on equal(key)", facts=("windows 10s, 10s",), directions=directions)


def test_the_tree_names_structure_cost_and_reason_of_each_direction() -> None:
    text = str(plan(measured=0.25))
    assert text.startswith("a ⋈ b on equal(key)\n├─ windows 10s, 10s\n├─ b → a\n")
    assert "hash, chosen by the cost model" in text
    assert "measured 250 ms of processor time per second" in text
    assert text.count("why: ") == 2
    assert text.endswith("└─ unit costs: defaults; run `watersmeet calibrate`")


def test_what_the_user_asked_for_is_kept_and_judged() -> None:
    directions = plan("scan", asked=True).directions
    assert directions[0].structure == "scan"
    assert directions[0].reason.startswith("asked for; the model would take hash")
    assert directions[0].costs["scan"] > directions[0].costs["hash"]


def test_json_holds_what_the_tree_shows() -> None:
    found = json.loads(plan().to_json())
    assert [each["window"] for each in found["directions"]] == ["a", "b"]
    assert found["directions"][0]["structure"] == "hash"
    assert found["directions"][0]["load"]["window_rows"] == 100
    assert found["directions"][0]["chosen_by"] == "cost model"


def test_nothing_is_predicted_without_rates() -> None:
    direction = explain_direction(None, names=("a", "b"), unit_costs=UnitCosts(), structure="hash")
    assert direction.predicted is None
    assert "rates are not known yet" in direction.reason


def test_the_cost_of_a_stream_s_rows_and_of_a_window_add_up_to_the_same() -> None:
    costs = UnitCosts()
    loads = estimate_loads("equal", rates=(10, 1e5), window_rows=(100, 1e6), keys=(50, 1e5))
    by_stream = sum(
        stream_cost(stream, loads, structures=("hash", "scan"), unit_costs=costs) for stream in (0, 1)
    )
    by_window = sum(
        predicted_cost(load, kept, costs.of("equal", kept, rows=load.window_rows))
        for load, kept in zip(loads, ("hash", "scan"), strict=True)
    )
    assert by_stream == pytest.approx(by_window + (10 + 1e5) * costs.ingest["equal"] * 1e-9)


def test_loads_are_estimated_from_keys_or_from_items() -> None:
    first, second = estimate_loads("equal", rates=(10, 20), window_rows=(600, 1200), keys=(6, 12))
    assert (first.probing_rate, first.window_rate, first.matches) == (20, 10, 100)
    assert (second.probing_rate, second.window_rate, second.matches) == (10, 20, 100)
    sets, _ = estimate_loads("overlap", rates=(1, 1), window_rows=(1000, 1), keys=(100, 100), items=(5, 4))
    assert (sets.items, sets.listed, sets.matches) == (4, 200, 1)
    exact, _ = estimate_loads("overlap", rates=(1, 1), window_rows=(1000, 1), selectivity=0.5)
    assert exact.matches == 500


@pytest.mark.parametrize(
    ("predicate", "kind"),
    [
        (wm.equal("k"), "equal"),
        (wm.band("x", within=1), "band"),
        (wm.overlap("t", at_least=2), "overlap"),
        (wm.jaccard("t", at_least=0.5), "overlap"),
        (wm.same_set("t"), "overlap"),
        (wm.cosine(items="k", weights="w", at_least=0.5), "weighted"),
        (wm.where(lambda left, right: left), "where"),
        (wm.distance("v", metric="l2", at_most=1.0), "distance/l2"),
        (wm.distance("v", metric="hamming", at_most=1.0), "distance/hamming"),
        (None, "every"),
    ],
)
def test_kind_is_what_can_find_the_partners(predicate: wm.Predicate | None, kind: str) -> None:
    assert kind_of(predicate) == kind


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ConfigError, match=r"keys\[1\]=0: expected a finite number above 0"):
        estimate_loads("equal", rates=(1, 1), window_rows=(1, 1), keys=(1, 0))
