from __future__ import annotations

from pathlib import Path

import pytest

import watersmeet as wm
from watersmeet.cost import STRUCTURES, Calibration
from watersmeet.errors import ConfigError
from watersmeet.join.calibration import calibrate as room
from watersmeet.join.calibration.cache import (
    calibration_path,
    current_unit_costs,
    read_calibration,
    write_calibration,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WATERSMEET_CACHE", str(tmp_path))
    current_unit_costs.cache_clear()
    return tmp_path


def small(**more: object) -> Calibration:
    return wm.cost.calibrate(sizes=(96, 1_056), repeats=1, **more)  # type: ignore[arg-type]


def test_every_structure_that_may_be_advised_is_measured_and_kept() -> None:
    steps: list[tuple[int, int, str]] = []
    measured = small(progress=lambda *step: steps.append(step))
    assert steps[0][0] == 0
    assert steps[-1][0] == steps[-1][1] == len(steps) - 1
    costs = measured.unit_costs
    for kind, structures in STRUCTURES.items():
        if kind != "every":
            assert costs.structures(kind) == structures
            assert kind == "checked" or costs.ingest[kind] > 0.0
    assert read_calibration() == measured
    assert current_unit_costs().measured


def test_a_calibration_can_be_had_without_keeping_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SHAPES", room.SHAPES[:1])
    assert small(cache=False).lines
    assert not calibration_path().exists()
    assert not current_unit_costs().measured


def test_a_damaged_or_foreign_file_is_as_good_as_none() -> None:
    calibration_path().write_text("{", encoding="utf-8")
    assert read_calibration() is None
    assert not current_unit_costs().measured


def test_the_cache_follows_the_user_s_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATERSMEET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert calibration_path() == Path("/somewhere/watersmeet/calibration.json")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert calibration_path() == Path("/home/me/.cache/watersmeet/calibration.json")


def test_sizes_and_repeats_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"calibrate\(sizes\)=\(\): expected"):
        wm.cost.calibrate(sizes=())
    with pytest.raises(ConfigError, match=r"calibrate\(repeats\)=0: expected"):
        wm.cost.calibrate(repeats=0)


def test_what_is_written_is_whole(cache: Path) -> None:
    write_calibration(Calibration((), {}, {"processor": "x"}))
    assert [path.name for path in cache.iterdir()] == ["calibration.json"]
