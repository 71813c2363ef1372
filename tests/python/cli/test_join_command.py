"""oracle: what the command writes is what the definition of the join gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.json as pa_json
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import watersmeet as wm
from watersmeet.cli import app
from watersmeet.cli.expression import parse_predicate


def definition(left: pa.Table, right: pa.Table, **arguments: Any) -> pa.Table:
    """What the join is by its definition, with the columns of both sides."""
    return wm.testing.brute_force_join(left, right, output="columns", **arguments)


def as_rows(table: pa.Table) -> list[str]:
    """The rows of a table, comparable whatever their order."""
    return sorted(repr(row) for row in table.to_pylist())


def run(command: str, *more: str, ok: bool = True, **options: object) -> Result:
    result = CliRunner().invoke(app, [*command.split(), *more], **options)  # type: ignore[arg-type]
    if ok:
        assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(
    "on",
    [
        "equal(key)",
        "overlap(tags, 2)",
        "jaccard(tags, 0.5) & equal(key)",
        "cosine(kw, w, 0.6)",
        "band(price, 0.5)",
        "subset(tags)",
    ],
)
def test_oracle_every_predicate(folder: Path, left: pa.Table, right: pa.Table, on: str) -> None:
    run(
        "join",
        "a.parquet",
        "b.parquet",
        "--on",
        on,
        "--window",
        "4s",
        "-o",
        "out.parquet",
        "--batch-rows",
        "7",
    )
    expected = definition(left, right, on=parse_predicate(on), window="4s")
    assert expected.num_rows
    out = pq.read_table("out.parquet")
    assert out.schema.equals(expected.schema)
    assert as_rows(out) == as_rows(expected)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_oracle_every_how(folder: Path, left: pa.Table, right: pa.Table, how: str) -> None:
    run(f"join a.parquet b.parquet --on equal(key) --window 1s --how {how} -o out.parquet --batch-rows 9")
    expected = definition(left, right, on=wm.equal("key"), window="1s", how=how)
    assert as_rows(pq.read_table("out.parquet")) == as_rows(expected)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--window", "3s,1s"], {"window": ("3s", "1s")}),
        (["--window", "6i"], {"window": "6i"}),
        (["--window", "2s, 9i"], {"window": ("2s", "9i")}),
        (["--between", "-2s,1s"], {"between": ("-2s", "1s")}),
        (["--between", "1s,3s"], {"between": ("1s", "3s")}),
    ],
)
def test_oracle_every_kind_of_window(
    folder: Path, left: pa.Table, right: pa.Table, options: list[str], arguments: dict[str, object]
) -> None:
    run(
        "join",
        "a.parquet",
        "b.parquet",
        "--on",
        "equal(key)",
        *options,
        "-o",
        "out.parquet",
        "--batch-rows",
        "11",
    )
    expected = definition(left, right, on=wm.equal("key"), **arguments)
    assert as_rows(pq.read_table("out.parquet")) == as_rows(expected)


def test_oracle_without_a_predicate_every_pair_counts(folder: Path, left: pa.Table, right: pa.Table) -> None:
    result = run("join a.parquet b.parquet --window 0s --count")
    assert int(result.stdout) == definition(left, right, window="0s").num_rows


@pytest.mark.parametrize("index", ["scan", "hash", "auto", "hash,scan"])
def test_differential_every_index_gives_the_same_count(folder: Path, index: str) -> None:
    command = "join a.parquet b.parquet --on equal(key) --window 4s --count"
    assert run(command, "--index", index).stdout == run(command).stdout


READERS = {
    "parquet": pq.read_table,
    "csv": pa_csv.read_csv,
    "jsonl": pa_json.read_json,
    "arrow": feather.read_table,
    "arrows": lambda path: ipc.open_stream(Path(path).read_bytes()).read_all(),
}


@pytest.mark.parametrize("kind", list(READERS))
def test_every_output_format_has_every_result(
    folder: Path, left: pa.Table, right: pa.Table, kind: str
) -> None:
    run(f"join a.parquet b.parquet --on equal(key) --window 2s -o out.{kind} --batch-rows 20")
    expected = definition(left, right, on=wm.equal("key"), window="2s")
    out = READERS[kind](f"out.{kind}")
    assert out.column_names == expected.column_names
    assert sorted(out.column("price").to_pylist()) == sorted(expected.column("price").to_pylist())


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arrow", "arrows", "tsv"])
def test_every_input_format_gives_the_same_join(
    folder: Path, left: pa.Table, right: pa.Table, kind: str
) -> None:
    from watersmeet.cli.files import open_sink

    flat = left.select(["ts", "key"])
    sink = open_sink(f"a.{kind}", kind)
    sink.write(flat)
    sink.commit()
    result = run(f"join a.{kind} b.parquet --on equal(key) --window 2s --count --batch-rows 16")
    assert int(result.stdout) == definition(flat, right, on=wm.equal("key"), window="2s").num_rows


def test_text_columns_are_split_into_sets(folder: Path) -> None:
    Path("a.csv").write_text("ts,tags\n1,x;y;z\n2,q\n")
    Path("b.csv").write_text("ts,tags\n1,y;z\n3,q;r\n")
    result = run(
        "join",
        "a.csv",
        "b.csv",
        "--split",
        "tags=;",
        "--window",
        "10",
        "--count",
        "--on",
        "overlap(tags, 2)",
        ok=False,
    )
    assert result.exit_code == 2  # a window needs a unit on the command line
    result = run("join a.csv b.csv --split tags=; --window 10us --count --on", "overlap(tags, 2)")
    assert result.stdout == "1\n"


def test_times_written_as_text_with_a_zone_are_read(folder: Path) -> None:
    Path("a.jsonl").write_text('{"at": "2026-01-01T00:00:00.25Z", "key": 1}\n')
    Path("b.jsonl").write_text('{"at": "2026-01-01T00:00:00.75Z", "key": 1}\n')
    command = "join a.jsonl b.jsonl --time at --on equal(key) --count --window"
    assert run(command, "500ms").stdout == "1\n"
    assert run(command, "499ms").stdout == "0\n"


def test_integer_times_are_in_the_stated_unit(folder: Path) -> None:
    Path("a.csv").write_text("t,key\n0,1\n")
    Path("b.csv").write_text("u,key\n5,1\n")
    command = "join a.csv b.csv --time t,u --on equal(key) --window 5ms --count --time-unit"
    assert run(command, "ms").stdout == "1\n"
    assert run(command, "s").stdout == "0\n"


def test_limit_stops_after_so_many_results(folder: Path, left: pa.Table, right: pa.Table) -> None:
    run("join a.parquet b.parquet --on equal(key) --window 4s --limit 5 -o out.parquet")
    expected = as_rows(definition(left, right, on=wm.equal("key"), window="4s"))
    out = as_rows(pq.read_table("out.parquet"))
    assert len(out) == 5
    assert set(out) <= set(expected)
    assert run("join a.parquet b.parquet --on equal(key) --window 4s --limit 5 --count").stdout == "5\n"
    run("join a.parquet b.parquet --on equal(key) --window 4s --limit 0 -o none.parquet")
    assert pq.read_table("none.parquet").num_rows == 0


def test_without_an_output_the_results_are_json_lines(folder: Path, left: pa.Table, right: pa.Table) -> None:
    result = run("join a.parquet b.parquet --on equal(key) --window 1s")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == definition(left, right, on=wm.equal("key"), window="1s").num_rows
    assert all(row["key"] == row["key_right"] for row in rows)


def test_a_suffix_of_ones_own(folder: Path) -> None:
    run("join a.parquet b.parquet --on equal(key) --window 1s --suffix .b -o out.parquet")
    assert "price.b" in pq.read_table("out.parquet").column_names


def test_an_empty_result_is_a_file_with_all_columns(folder: Path, left: pa.Table) -> None:
    pq.write_table(left.slice(0, 0), "none.parquet")
    run("join a.parquet none.parquet --on equal(key) --window 1s -o out.parquet")
    out = pq.read_table("out.parquet")
    assert (out.num_rows, len(out.column_names)) == (0, 2 * len(left.column_names))


def test_a_self_join_reads_the_file_twice(folder: Path, left: pa.Table) -> None:
    result = run("join a.parquet a.parquet --on equal(key) --window 1s --count")
    assert int(result.stdout) == definition(left, left, on=wm.equal("key"), window="1s").num_rows


def test_rows_out_of_order_fail_in_one_line_that_says_what_to_do(folder: Path, left: pa.Table) -> None:
    pq.write_table(left.take(list(reversed(range(left.num_rows)))), "late.parquet")
    result = run("join late.parquet b.parquet --on equal(key) --window 1s -o o.csv", ok=False)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "--lateness" in result.stderr
    assert not [path for path in Path().iterdir() if path.name.startswith((".", "o.csv"))]


def test_lateness_lets_rows_come_out_of_order_and_late_ones_are_told(folder: Path) -> None:
    Path("a.csv").write_text("ts,key\n5,1\n3,1\n1,1\n9,1\n")
    Path("b.csv").write_text("ts,key\n3,1\n")
    result = run("join a.csv b.csv --on equal(key) --window 0s --lateness 2us --count")
    assert result.stdout == "1\n"
    assert "left: 1 rows late were not joined" in result.stderr


def test_differential_threads_give_the_same_results(folder: Path) -> None:
    one, two = (
        run(f"join a.parquet b.parquet --on equal(key) --window 1s --threads {threads}").stdout
        for threads in (1, 2)
    )
    assert one == two != ""


@pytest.mark.parametrize("order", ["filter-order", "sync-filter"])
def test_results_in_order_are_the_same_results_by_time(folder: Path, order: str) -> None:
    Path("early.csv").write_text("ts,key\n1,1\n2,1\n3,1\n")
    Path("late.csv").write_text("ts,key\n1,1\n3,1\n")
    command = "join early.csv late.csv --on equal(key) --window 1s"
    lines = [json.loads(line) for line in run(f"{command} --order {order}").stdout.splitlines()]
    times = [max(line["ts"], line["ts_right"]) for line in lines]
    assert times == sorted(times)
    assert len(lines) == 6


def _write_wide_window(rows: int) -> None:
    for name in ("big-a.csv", "big-b.csv"):
        lines = (f"{row},{row % 5000},{'x' * 20}{row}" for row in range(rows))
        Path(name).write_text("ts,key,text\n" + "\n".join(lines) + "\n")


def test_a_memory_limit_gives_up_rows_and_says_what_that_costs(folder: Path) -> None:
    _write_wide_window(30_000)
    command = "join big-a.csv big-b.csv --on equal(key) --window 1000s --batch-rows 1000"
    result = run(f"{command} --memory-limit 1MiB --count")
    assert 0 < int(result.stdout) < 6 * 30_000
    assert "--memory-limit" in result.stderr
    assert "recall" in result.stderr


def test_a_memory_limit_that_may_not_lose_rows_ends_with_1(folder: Path) -> None:
    _write_wide_window(30_000)
    command = "join big-a.csv big-b.csv --on equal(key) --window 1000s --batch-rows 1000"
    result = run(f"{command} --memory-limit 1MiB --on-memory raise --count", ok=False)
    assert result.exit_code == 1, result.output
    assert "memory_limit" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        "join a.parquet b.parquet --on equal(key) --window 1s --memory-limit lots",
        "join a.parquet b.parquet --on equal(key) --window 1s --memory-limit 1GiB --on-memory swap",
        "join a.parquet b.parquet --on equal(key) --window 1s --threads 0",
        "join a.parquet b.parquet --on equal(key) --window 1s --order random",
        "join a.parquet b.parquet --on equal(key)",
        "join a.parquet b.parquet --on equal(key) --window 1s --between 0s,1s",
        "join a.parquet b.parquet --on equal(key --window 1s",
        "join a.parquet b.parquet --on equal(key) --window 1mo",
        "join a.parquet b.parquet --on equal(key) --window 1s,2s,3s",
        "join a.parquet b.parquet --on equal(key) --between 1s",
        "join a.parquet b.parquet --on equal(key) --window 1s --how cross",
        "join a.parquet b.parquet --on equal(key) --window 1s --index btree",
        "join a.parquet b.parquet --on equal(key) --window 1s --time-unit min",
        "join a.parquet b.parquet --on equal(key) --window 1s -o out.xlsx",
        "join a.parquet b.parquet --on equal(key) --window 1s -o no/out.csv",
        "join a.parquet b.parquet --on equal(key) --window 1s --limit -1",
        "join a.parquet b.parquet --on equal(key) --window 1s --split tags",
        "join a.parquet missing.parquet --on equal(key) --window 1s",
        "join - - --format csv --on equal(key) --window 1s",
        "join - b.parquet --on equal(key) --window 1s",
        "join a.parquet",
        "join a.parquet b.parquet --nonsense",
        "nonsense",
    ],
)
def test_a_command_that_is_not_understood_exits_with_2(folder: Path, arguments: str) -> None:
    result = run(arguments, ok=False)
    assert result.exit_code == 2, result.output
    assert result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("prepare", "arguments", "said"),
    [
        ("", "a.parquet b.parquet --on equal(nokey)", "nokey"),
        ("", "a.parquet b.parquet --on equal(key) --time nots", "nots"),
        ("not parquet", "bad.parquet b.parquet --on equal(key)", "arquet"),
        ("ts,key\n1,2,3\n", "bad.csv b.parquet --on equal(key)", "CSV"),
        ('{"ts": 1}\n{"ts": }\n', "bad.jsonl b.parquet --on equal(ts)", "JSON"),
        ("ts,key\nsoon,1\n", "bad.csv b.parquet --on equal(key)", "ISO 8601"),
    ],
)
def test_data_that_cannot_be_joined_exit_with_1_and_one_line(
    folder: Path, prepare: str, arguments: str, said: str
) -> None:
    for ending in ("parquet", "csv", "jsonl"):
        Path(f"bad.{ending}").write_text(prepare)
    result = run("join", *arguments.split(), "--window", "1s", ok=False)
    assert result.exit_code == 1, result.output
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
