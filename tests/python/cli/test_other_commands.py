from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import watersmeet as wm
from watersmeet.cli import app, terminal
from watersmeet.cli.news import news_stream, news_world


def definition(left: pa.Table, right: pa.Table, **arguments: Any) -> pa.Table:
    """What the join is by its definition, with the columns of both sides."""
    return wm.testing.brute_force_join(left, right, output="columns", **arguments)


def run(command: str, *more: str) -> Result:
    return CliRunner().invoke(app, [*command.split(), *more])


def small_news() -> list[pa.Table]:
    world = news_world(3, stories=200, rate_per_s=400.0)
    return [news_stream(world, 3, agency=name, stories=200) for name in ("cnn", "reuters")]


def test_news_are_sorted_seeded_and_shared() -> None:
    left, right = small_news()
    assert left.equals(small_news()[0])
    assert not left.column("keywords").equals(right.column("keywords"))
    times = left.column("ts").to_pylist()
    assert times == sorted(times)
    pairs = definition(left, right, on=wm.overlap("keywords", at_least=4), window="5m")
    assert 0 < pairs.num_rows < 200 * 200 / 10


def test_the_demo_prints_its_rate_and_pairs_and_the_true_count(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    result = run("demo", "--stories", "200", "--seed", "3", "--report", str(report))
    assert result.exit_code == 0, result.output
    left, right = small_news()
    expected = definition(left, right, on=wm.overlap("keywords", at_least=4), window="1m").num_rows
    found = next(line for line in result.stdout.splitlines() if line.startswith("pairs found"))
    assert int(found.split()[-1].replace(",", "")) == expected
    assert "stories/s" in result.stdout
    assert "shared keywords" in result.stdout
    for way in ("unlimited", "selective", "random drop"):
        assert way in result.stdout
    page = report.read_text()
    assert page.count("<svg") == 5
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # it loads nothing from anywhere


def test_the_demo_ends_when_its_time_is_up(tmp_path: Path) -> None:
    result = run("demo", "--seconds", "1", "--report", str(tmp_path / "report.html"))
    assert result.exit_code == 0, result.output
    rows = next(line for line in result.stdout.splitlines() if line.startswith("stories joined"))
    assert int(rows.split()[-1].replace(",", "")) >= 4_000  # a batch of each agency, of the 800,000 there are


def test_explain_says_something_of_the_predicate_without_any_data() -> None:
    result = run("explain", "--on", "overlap(tags, 3)", "--window", "10s")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip()


def test_explain_looks_at_inputs(folder: Path) -> None:
    result = run("explain a.parquet b.parquet --on equal(key) --window 10s --rows 100")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip()
    assert run("explain a.parquet --on equal(key) --window 10s").exit_code == 2


def test_calibrate_prints_costs_with_their_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATERSMEET_CACHE", str(tmp_path))
    assert run("calibrate --show").exit_code == 2
    result = run("calibrate --quick")
    assert result.exit_code == 0, result.output
    for word in ("nanoseconds per operation", "equal", "hash", "inverted/bitmap", "insert", "4,096 rows"):
        assert word in result.stdout
    assert run("calibrate --show").exit_code == 2  # a quick look is not kept


def checkout(root: Path) -> None:
    papers = root / "bench" / "figures"
    (papers / "gedik").mkdir(parents=True)
    (root / "pyproject.toml").write_text("")
    (papers / "gedik" / "fig5.py").write_text("if __name__ == '__main__': open('drawn', 'w').close()")
    (papers / "gedik" / "fig6.py").write_text("if __name__ == '__main__': raise SystemExit('claim 1 fails')")
    (papers / "gedik" / "library.py").write_text("raise RuntimeError('not a figure')")


def test_figures_runs_the_scripts_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run("figures", "--list").stdout.split() == ["gedik/fig5", "gedik/fig6"]
    assert run("figures", "fig5").exit_code == 0
    assert (tmp_path / "drawn").exists()
    failed = run("figures", "gedik")
    assert failed.exit_code == 1
    assert "1 of 2 failed: gedik/fig6" in failed.stderr
    assert run("figures", "kang").exit_code == 2


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal that writes into memory in place of standard error."""
    written = io.StringIO()
    monkeypatch.setattr(terminal, "stderr", lambda: Console(file=written, force_terminal=True, width=200))
    return written


def test_progress_shows_rows_rate_results_and_time_left_on_a_terminal(screen: io.StringIO) -> None:
    with terminal.JoinProgress("join", total=100.0) as bar:
        bar.update(done=50.0, rows=12_345, results=678)
    for part in ("50%", "12,345 rows", "rows/s", "678 results", "left"):
        assert part in screen.getvalue()


def test_progress_is_silent_when_it_is_not_wanted(screen: io.StringIO) -> None:
    with terminal.JoinProgress("join", total=100.0, wanted=False) as bar:
        bar.update(done=50.0, rows=1, results=1)
    assert screen.getvalue() == ""
