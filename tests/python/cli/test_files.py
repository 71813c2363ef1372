from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import watersmeet as wm
from watersmeet.cli.files import FORMATS, open_sink, open_source, resolve_format
from watersmeet.errors import ConfigError, SchemaError

TABLE = pa.table(
    {
        "ts": pa.array([1, 2, 3, 4, 5], pa.timestamp("ns")),
        "n": pa.array([1, None, 3, 4, 5]),
        "name": pa.array(["a", "b", None, "d", 'quoted "e", with comma']),
    }
)


def write(path: Path, kind: str, *tables: pa.Table) -> None:
    sink = open_sink(str(path), kind)
    for table in tables:
        sink.write(table)
    sink.commit()


def read(path: Path, kind: str, batch_rows: int = 2) -> pa.Table:
    batches = list(open_source(str(path), kind, batch_rows=batch_rows).batches)
    assert all(batch.num_rows <= batch_rows for batch in batches)
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_written_in_pieces_is_read_back_in_batches(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "x", kind, TABLE.slice(0, 0), TABLE.slice(0, 2), TABLE.slice(2))
    back = read(tmp_path / "x", kind)
    assert back.column("n").to_pylist() == TABLE.column("n").to_pylist()
    assert back.column("ts").cast(pa.timestamp("ns")).to_pylist() == TABLE.column("ts").to_pylist()
    names = [None if name == "" else name for name in back.column("name").to_pylist()]
    assert names == TABLE.column("name").to_pylist()


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
def test_typed_formats_keep_every_type(tmp_path: Path, kind: str) -> None:
    table = TABLE.append_column("tags", pa.array([["x"], [], None, ["y", "z"], ["x"]]))
    write(tmp_path / "x", kind, table)
    assert read(tmp_path / "x", kind).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows", "csv", "tsv"])
def test_an_output_without_rows_has_its_columns(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "x", kind, TABLE.slice(0, 0))
    back = read(tmp_path / "x", kind)
    assert (back.num_rows, back.column_names) == (0, TABLE.column_names)


@pytest.mark.parametrize("kind", FORMATS)
def test_dictionaries_that_change_between_tables_are_written(tmp_path: Path, kind: str) -> None:
    pieces = [pa.table({"d": pa.array(words).dictionary_encode()}) for words in (["a", "b"], ["c", "a"])]
    write(tmp_path / "x", kind, *pieces)
    assert read(tmp_path / "x", kind).column("d").to_pylist() == ["a", "b", "c", "a"]


def test_csv_writes_nested_values_as_json(tmp_path: Path) -> None:
    write(tmp_path / "x", "csv", pa.table({"tags": [["a", "b"], None, []]}))
    assert (tmp_path / "x").read_text() == '"tags"\n"[""a"", ""b""]"\n\n"[]"\n'


def test_jsonl_writes_what_json_has_no_word_for(tmp_path: Path) -> None:
    row = {"nan": [float("nan")], "raw": [b"\x01\xff"], "ts": pa.array([1], pa.timestamp("ns"))}
    write(tmp_path / "x", "jsonl", pa.table(row))
    expected = '{"nan": null, "raw": "01ff", "ts": "1970-01-01 00:00:00.000000001"}\n'
    assert (tmp_path / "x").read_text() == expected


def test_jsonl_in_several_blocks_keeps_lines_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watersmeet.cli.files._BLOCK_BYTES", 7)
    (tmp_path / "x").write_text('{"n": 1, "t": ["a"]}\n\n{"n": 2, "t": []}\r\n{"n": 3, "t": null}')
    assert read(tmp_path / "x", "jsonl").to_pylist() == [
        {"n": 1, "t": ["a"]},
        {"n": 2, "t": []},
        {"n": 3, "t": None},
    ]


def test_an_empty_jsonl_has_no_columns_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("\n\n")
    with pytest.raises(SchemaError, match="has no columns"):
        read(tmp_path / "x", "jsonl")


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", "parquet", TABLE)
    source = open_source(str(tmp_path / "x.parquet"), "parquet", batch_rows=2)
    shares = [source.done / (source.total or 1)]
    shares += [source.done / (source.total or 1) for _ in source.batches]
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def test_an_abandoned_output_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    write(target, "parquet", TABLE)
    sink = open_sink(str(target), "parquet")
    sink.write(TABLE.slice(0, 1))
    sink.abandon()
    assert pq.read_table(target).num_rows == TABLE.num_rows
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [("a.parquet", "parquet"), ("a.CSV", "csv"), ("b.ndjson", "jsonl"), ("c.feather", "arrow")],
)
def test_the_ending_tells_the_format(path: str, kind: str) -> None:
    assert resolve_format(path, None, option="--format") == kind


@pytest.mark.parametrize(("path", "given"), [("-", None), ("a.xlsx", None), ("a", None), ("a.csv", "xml")])
def test_a_format_that_cannot_be_told_is_asked_for(path: str, given: str | None) -> None:
    with pytest.raises(ConfigError, match="--format"):
        resolve_format(path, given, option="--format")


def test_an_output_folder_that_is_missing_is_refused_before_work_begins(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        open_sink(str(tmp_path / "no" / "x.csv"), "csv")


@pytest.mark.parametrize("name", ["bad.csv", "bad.jsonl", "bad.parquet", "bad.arrow", "bad.arrows"])
def test_what_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"" if name == "bad.csv" else b'{"ts": 1, "k":\n')
    with pytest.raises(SchemaError, match=name):
        list(open_source(str(path), resolve_format(str(path), None, option="-f"), batch_rows=10).batches)


def test_a_file_of_a_header_alone_joins_with_nothing(tmp_path: Path) -> None:
    (tmp_path / "head.csv").write_text("ts,k\n")
    (source,) = open_source(str(tmp_path / "head.csv"), "csv", batch_rows=10).batches
    assert (
        wm.join(source, {"ts": np.array([1]), "k": np.array([1])}, on=wm.equal("k"), window="1s").num_rows
        == 0
    )
