"""Where calibrations are kept: a file in the user's cache folder, one per machine."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

from watersmeet.cost import Calibration, UnitCosts
from watersmeet.errors import ConfigError

__all__ = ["calibration_path", "current_unit_costs", "read_calibration", "write_calibration"]


def calibration_path() -> Path:
    """The file: under WATERSMEET_CACHE, else XDG_CACHE_HOME, else ~/.cache."""
    own = os.environ.get("WATERSMEET_CACHE")
    if own:
        return Path(own) / "calibration.json"
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "watersmeet" / "calibration.json"


def read_calibration() -> Calibration | None:
    """What was measured last; None where nothing was, or the file cannot be used."""
    try:
        return Calibration.from_json(calibration_path().read_text(encoding="utf-8"))
    except (OSError, ConfigError):
        return None


def write_calibration(calibration: Calibration) -> Path:
    """Keep a calibration; the file is complete or untouched, whatever happens meanwhile."""
    path = calibration_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=".calibration-", delete=False
    ) as file:
        file.write(calibration.to_json())
    Path(file.name).replace(path)
    current_unit_costs.cache_clear()
    return path


@functools.cache
def current_unit_costs() -> UnitCosts:
    """The unit costs to choose by: this machine's if it was calibrated, else the defaults."""
    found = read_calibration()
    return UnitCosts() if found is None else found.unit_costs
