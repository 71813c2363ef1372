"""What every Python test shares: reproducible Hypothesis runs, and a header that names the package."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Generator
from typing import Final

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


FEWEST_ORACLE_CASES: Final = 10_000  # of a whole run
_ORACLE_CASES: Final = "oracle cases"


@pytest.fixture
def count_case(request: pytest.FixtureRequest) -> Callable[[], None]:
    """Called once per random case that agreed with the oracle; the run's end says how many there were."""

    def count() -> None:
        request.node.oracle_cases = getattr(request.node, "oracle_cases", 0) + 1

    return count


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Report what count_case() counted, also from the processes of a divided run."""
    yield
    if count := getattr(item, "oracle_cases", 0):
        item.user_properties.append((_ORACLE_CASES, count))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A whole run with too few cases has failed, whatever its tests say."""
    whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS and not session.config.getoption(
        "keyword"
    )
    is_worker = hasattr(session.config, "workerinput")
    if (
        whole
        and not is_worker
        and session.testsfailed == 0
        and _oracle_cases(session.config) < FEWEST_ORACLE_CASES
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many random cases agreed with the oracle."""
    if count := _oracle_cases(config):
        terminalreporter.write_line(
            f"oracle: {count:,} random joins agreed with the definition (a whole run: at least"
            f" {FEWEST_ORACLE_CASES:,})"
        )


def _oracle_cases(config: pytest.Config) -> int:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    passed = [] if reporter is None else reporter.stats.get("passed", [])
    return sum(dict(report.user_properties).get(_ORACLE_CASES, 0) for report in passed)
