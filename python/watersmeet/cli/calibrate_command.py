"""watersmeet calibrate: this machine's unit costs, as the cost model uses them."""

from __future__ import annotations

import importlib
from typing import Any

import typer

from watersmeet.cli.failures import guarded
from watersmeet.errors import WatersmeetError

__all__ = ["calibrate"]


@guarded
def calibrate() -> None:
    """Measure what scanning, hashing, reading postings, inserting and expiring cost on this machine."""
    typer.echo(str(_calibration()()))


def _calibration() -> Any:
    try:
        room: Any = importlib.import_module("watersmeet.cost")
    except ModuleNotFoundError:
        room = None
    found = getattr(room, "calibrate", None)
    if found is None:
        raise WatersmeetError("calibrate: not in this version; the cost model uses its defaults")
    return found
