from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from watersmeet.cli import app
from watersmeet.cost import calibrate
from watersmeet.join.calibration.cache import current_unit_costs


@pytest.fixture(autouse=True)
def _not_calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WATERSMEET_CACHE", str(tmp_path))
    current_unit_costs.cache_clear()
    yield
    current_unit_costs.cache_clear()


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["explain", *arguments])


def test_a_fast_stream_is_scanned_and_a_slow_one_hashed_before_anything_runs() -> None:
    result = explain("--on", "equal(key)", "--window", "1s", "--rates", "10,100000", "--keys", "100")
    assert result.exit_code == 0, result.output
    assert "left → right" in result.stdout
    assert result.stdout.count("why: ") == 2
    assert "scan, chosen by the cost model" in result.stdout
    assert "windows of 10 and 100,000 rows at 10 and 100000 rows/s" in result.stdout


def test_json_is_for_programs() -> None:
    result = explain(
        "--on", "overlap(tags, 3) & equal(city)", "--window", "1m,500i", "--rates", "100", "--json"
    )
    found = json.loads(result.stdout)
    assert found["join"].startswith("left ⋈ right on overlap(")
    loads = {each["window"]: each["load"] for each in found["directions"]}
    assert loads["left"]["window_rows"] == 6000
    assert loads["right"]["window_rows"] == 500
    assert loads["left"]["kind"] == "equal"


def test_an_index_that_was_asked_for_is_kept() -> None:
    result = explain(
        "--on", "equal(key)", "--between=-5s,1s", "--rates", "1000", "--keys", "9", "--index", "scan,hash"
    )
    assert result.exit_code == 0, result.output
    assert "hash, as asked" in result.stdout
    assert "scan, as asked" in result.stdout
    assert "windows of 1,000 and 5,000 rows" in result.stdout


def test_bad_rates_end_with_a_message() -> None:
    result = explain("--on", "equal(key)", "--window", "1s", "--rates", "0,5")
    assert result.exit_code == 2
    assert "--rates '0': expected a number above 0" in result.stderr
    assert explain("--on", "equal(key)", "--rates", "5").exit_code == 2


def test_costs_are_those_measured_on_this_machine_once_there_are_any() -> None:
    rates = "--on", "equal(key)", "--window", "1s", "--rates", "1000", "--keys", "9"
    assert "unit costs: defaults" in explain(*rates).stdout
    calibrate(sizes=(8,), repeats=1)
    assert "unit costs: measured on this machine" in explain(*rates).stdout


def test_nothing_is_predicted_of_pairs_whose_cost_is_the_user_s() -> None:
    result = explain("--on", "distance(image, l2, 5)", "--window", "1s", "--rates", "1000")
    assert result.exit_code == 0, result.output
    assert "predicted" not in result.stdout.replace("so nothing is predicted", "")
    assert "scan, the usual one for this predicate" in result.stdout


def test_a_distance_is_priced_by_the_bytes_of_its_vectors() -> None:
    costs = []
    for size in ("64", "640000"):
        rates = "--on", "distance(image, 'mean-abs', 5)", "--window", "1s", "--rates", "1000"
        found = json.loads(explain(*rates, "--vector-bytes", size, "--json").stdout)
        costs.append(found["directions"][0]["predicted_s_per_s"])
    assert costs[1] > 100 * costs[0] > 0


def test_the_baseline_is_never_advised_and_predicted_all_the_same() -> None:
    result = explain(
        "--on", "overlap(tags, 3)", "--window", "1s", "--rates", "1000", "--index", "inverted-by-id"
    )
    assert result.stdout.count("inverted-by-id, as asked") == 2
    assert result.stdout.count("predicted") == 2
