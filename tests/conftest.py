"""What every Python test shares: reproducible Hypothesis runs, and a header that names the package."""

from __future__ import annotations

import importlib.metadata
import os

import pytest
from hypothesis import HealthCheck, settings

# Examples follow from the test itself, so a run can be repeated; HYPOTHESIS_PROFILE=explore looks further.
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "explore", parent=settings.get_profile("fixed"), derandomize=False, max_examples=2000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_report_header() -> str:
    """Name the installed version, or say that the sources are tested in place."""
    try:
        return f"watersmeet {importlib.metadata.version('watersmeet')}"
    except importlib.metadata.PackageNotFoundError:
        return "watersmeet: not installed, from PYTHONPATH"


@pytest.fixture(autouse=True)
def _no_terminal_width_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables printed by the command line must not depend on the terminal that runs the tests."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
