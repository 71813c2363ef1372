"""The command as a process among others: pipes, signals, a closed reader."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

import watersmeet as wm

COMMAND = [sys.executable, "-m", "watersmeet"]


def definition(left: pa.Table, right: pa.Table, **arguments: Any) -> pa.Table:
    """What the join is by its definition, with the columns of both sides."""
    return wm.testing.brute_force_join(left, right, output="columns", **arguments)


def run(command: str, *more: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *command.split(), *more], input=stdin, capture_output=True, check=False, timeout=120
    )


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "jsonl", "arrow", "arrows"])
def test_a_pipe_of_every_format_goes_in_and_out(
    folder: Path, left: pa.Table, right: pa.Table, kind: str
) -> None:
    options = ["--on", "equal(key)", "--window", "1s", "--format"]
    first = run("join", "a.parquet", "b.parquet", *options, kind)
    assert first.returncode == 0, first.stderr
    assert first.stderr == b""  # no progress bar where there is no terminal
    expected = definition(left, right, on=wm.equal("key"), window="1s")
    # Results come in order of their later member, so their left times are only nearly in order.
    again = ("-", "b.parquet", *options, kind, "--lateness", "2s")
    counted = run("join", *again, "--count", stdin=first.stdout)
    assert counted.stderr == b""  # and none was late
    assert counted.returncode == 0, counted.stderr
    assert int(counted.stdout) == definition(expected, right, on=wm.equal("key"), window="1s").num_rows


def test_an_arrow_stream_on_standard_output_is_whole(folder: Path, left: pa.Table, right: pa.Table) -> None:
    out = run("join a.parquet b.parquet --on equal(key) --window 1s --output-format arrows -o -")
    table = ipc.open_stream(out.stdout).read_all()
    assert table.num_rows == definition(left, right, on=wm.equal("key"), window="1s").num_rows


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "arrows"])
def test_large_outputs_go_through_a_pipe_whole(
    folder: Path, left: pa.Table, right: pa.Table, monkeypatch: pytest.MonkeyPatch, kind: str, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    out = run("join a.parquet b.parquet --window 1h --output-format", kind).stdout
    assert len(out) > 1 << 18  # more than a pipe holds
    if kind == "arrows":
        assert ipc.open_stream(out).read_all().num_rows == left.num_rows * right.num_rows
    else:
        assert out.count(b"\n") == left.num_rows * right.num_rows + (kind == "csv")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_error_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = [*COMMAND, "join", "a.parquet", "b.parquet", "--window", "1h"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(timeout=60) == 141
    assert said == b""


def test_an_interrupt_exits_with_130_and_leaves_no_file(folder: Path) -> None:
    command = [
        *COMMAND,
        "join",
        "-",
        "b.parquet",
        "--format",
        "csv",
        "--on",
        "equal(key)",
        "--window",
        "1h",
        "-o",
        "out.csv",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # Enough for the reader to give a batch, so that the join is at work when the signal comes.
        process.stdin.write(b"ts,key\n" + b"".join(b"%d,1\n" % second for second in range(1_500_000)))
        process.stdin.flush()
        os.kill(process.pid, signal.SIGINT)
        process.stdin.close()
        said = process.stderr.read()
        assert process.wait(timeout=60) == 130
    assert said.strip() == b"watersmeet: interrupted"
    assert sorted(path.name for path in folder.iterdir()) == ["a.parquet", "b.parquet"]


def test_the_version_is_printed() -> None:
    out = run("--version")
    assert out.returncode == 0
    assert out.stdout.decode().strip() == f"watersmeet {wm.__version__}"


def test_help_lists_every_command() -> None:
    said = run("--help").stdout.decode()
    for command in ("join", "explain", "demo", "figures", "calibrate"):
        assert command in said
