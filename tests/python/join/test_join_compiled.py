"""Compiled functions as predicates: called by the core, without Python, in every kind of join."""

from __future__ import annotations

import ctypes
import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import LowLevelCallable

import watersmeet as wm

SOURCE = """
#include <stdint.h>
#include <math.h>
struct Left { double x; int32_t kind; uint8_t image[5]; float v[3]; };
struct Right { int64_t whole; double x; uint8_t flag; };
int near(const void *left, const void *right, void *data) {
  const struct Left *a = left; const struct Right *b = right;
  double within = data ? *(double *)data : 1.0;
  return fabs(a->x - b->x) <= within && b->flag && a->image[4] < 200 && a->v[2] > (float)b->whole;
}
struct Key { int64_t k; };
int even_sum(const void *left, const void *right, void *data) {
  return (((const struct Key *)left)->k + ((const struct Key *)right)->k) % 2 == 0;
}
int picky(const void *left, const void *right, void *data) {
  return ((const struct Key *)left)->k == 7 && ((const struct Key *)right)->k == 3 ? -42 : 1;
}
int less(const void *left, const void *right, void *data) {
  return ((const struct Key *)left)->k < ((const struct Key *)right)->k;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions above, by the machine's C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder: Path = tmp_path_factory.mktemp("compiled")
    (folder / "tests.c").write_text(SOURCE)
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", str(folder / "tests.so"), str(folder / "tests.c"), "-lm"],
        check=True,
    )
    return ctypes.CDLL(str(folder / "tests.so"))


def function(library: ctypes.CDLL, name: str) -> Any:
    found = getattr(library, name)
    found.restype = ctypes.c_int
    found.argtypes = [ctypes.c_void_p] * 3
    return found


def tables(rows: int, seed: int = 5) -> tuple[pa.Table, pa.Table]:
    rng = np.random.default_rng(seed)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(0, 5, rows * 3).astype(np.float32)), 3)
    images = pa.array([rng.bytes(5) for _ in range(rows)], pa.binary(5))
    left = pa.table(
        {
            "ts": np.cumsum(rng.integers(0, 3, rows)),
            "x": pa.array(rng.normal(0, 2, rows), mask=rng.random(rows) < 0.1),
            "kind": rng.integers(0, 9, rows).astype(np.int32),
            "image": images,
            "v": vectors,
        }
    )
    right = pa.table(
        {
            "ts": np.cumsum(rng.integers(0, 3, rows)),
            "whole": rng.integers(-5, 5, rows),
            "x": rng.normal(0, 2, rows),
            "flag": pa.array(rng.random(rows) < 0.7, mask=rng.random(rows) < 0.1),
        }
    )
    return left, right


def expected(left: pa.Table, right: pa.Table, *, window: int, within: float) -> list[tuple[int, int]]:
    found = []
    for i, a in enumerate(left.to_pylist()):
        for j, b in enumerate(right.to_pylist()):
            if abs(a["ts"] - b["ts"]) > window or a["x"] is None or not b["flag"]:
                continue
            if abs(a["x"] - b["x"]) <= within and a["image"][4] < 200 and a["v"][2] > b["whole"]:
                found.append((i, j))
    return found


LEFT, RIGHT = ("x", "kind", "image", "v"), ("whole", "x", "flag")


def rows_of(table: pa.Table) -> list[tuple[int, int]]:
    return sorted(zip(table["left_row"].to_pylist(), table["right_row"].to_pylist(), strict=True))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("form", ["low-level", "ctypes", "address", "capsule", "cfunc"])
def test_oracle_compiled_function_sees_structs_of_its_columns(
    library: ctypes.CDLL, form: str, threads: int
) -> None:
    near = function(library, "near")
    within = ctypes.c_double(1.0 if form != "low-level" else 0.25)
    address = ctypes.cast(near, ctypes.c_void_p).value
    given: Any = {
        "low-level": LowLevelCallable(near, ctypes.cast(ctypes.pointer(within), ctypes.c_void_p)),
        "ctypes": near,
        "address": address,
        "capsule": tuple.__getitem__(LowLevelCallable(near), 0),
        "cfunc": type("CFunc", (), {"address": address, "__call__": None})(),  # as numba's has it
    }[form]
    left, right = tables(400)
    answer = wm.join(
        left,
        right,
        on=wm.where(given, left=LEFT, right=RIGHT),
        window=6,
        time_unit="s",
        output="rows",
        threads=threads,
    )
    assert rows_of(answer) == expected(left, right, window=6, within=within.value)
    assert answer.num_rows > 50


@pytest.mark.parametrize("topology", ["ring", "split"])
@pytest.mark.parametrize("slices", [1, 3])
def test_differential_ring_join_calls_it_on_its_slices(
    library: ctypes.CDLL, topology: str, slices: int
) -> None:
    left, right = tables(300, seed=6)
    left, right = (t.append_column("row", pa.array(np.arange(300))) for t in (left, right))
    on = wm.where(function(library, "near"), left=LEFT, right=RIGHT)
    streams = [wm.Stream(name, time="ts", window=6, time_unit="s") for name in "AB"]
    join = wm.RingJoin(streams, on=on, slices=slices, topology=topology)  # type: ignore[arg-type]
    parts = []
    for start in range(0, 300, 50):
        parts += [join.push("A", left.slice(start, 50)), join.push("B", right.slice(start, 50))]
    blob = join.snapshot()
    out = pa.concat_tables([*parts[1:], join.finish()])  # the first push knows one stream's columns
    found = sorted(zip(out["A.row"].to_pylist(), out["B.row"].to_pylist(), strict=True))
    assert found == expected(left, right, window=6, within=1.0)
    assert wm.RingJoin.restore(blob, on=on).finish().num_rows == out.num_rows - sum(
        part.num_rows for part in parts
    )
    with pytest.raises(wm.ConfigError, match="function of your own"):
        wm.RingJoin.restore(blob)


def test_it_checks_what_an_index_finds_in_two_and_several_streams(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(9)
    data = {"ts": np.arange(200), "k": rng.integers(0, 30, 200), "g": rng.integers(0, 5, 200)}
    table = pa.table(data)
    even = wm.where(function(library, "even_sum"), "k")
    assert wm.WindowJoin(wm.Stream("a", window=1), wm.Stream("b", window=1), on=wm.equal("g") & even).explain(
        format="text"
    )
    two = wm.join(table, table, on=wm.equal("g") & even, window=9, time_unit="s", output="rows")
    pairs = {
        (i, j)
        for i in range(200)
        for j in range(200)
        if abs(i - j) <= 9 and data["g"][i] == data["g"][j] and (data["k"][i] + data["k"][j]) % 2 == 0
    }
    assert set(rows_of(two)) == pairs
    streams = [wm.Stream(name, time="ts", window=9, time_unit="s") for name in "ABC"]
    on = {("A", "B"): wm.equal("g"), ("C", "B"): wm.where(function(library, "less"), "k")}
    answers = []
    for several in (
        wm.RingJoin(streams, on=on, slices=2),
        wm.MultiJoin(streams, on=on, tree=(("A", "B"), "C")),
    ):
        parts = [several.push(name, table) for name in "ABC"] + [several.finish()]
        found = pa.concat_tables([p for p in parts if p.num_rows])
        answers.append(sorted(zip(*(found[f"{n}.ts"].to_pylist() for n in "ABC"), strict=True)))
    assert answers[0] == answers[1]
    assert len(answers[0]) > 100
    assert all(data["k"][c] < data["k"][b] for _, b, c in answers[0])


@pytest.mark.parametrize("kind", ["window", "threads", "ring", "split"])
def test_a_negative_verdict_stops_the_call_and_names_the_pair(library: ctypes.CDLL, kind: str) -> None:
    picky = wm.where(function(library, "picky"), "k")
    streams = [wm.Stream(name, time="ts", window=50, time_unit="s") for name in ("one", "two")]
    join: Any
    if kind in ("ring", "split"):
        join = wm.RingJoin(streams, on=picky, slices=3, topology=kind)  # type: ignore[arg-type]
    else:
        join = wm.WindowJoin(*streams, on=picky, threads=3 if kind == "threads" else 1)
    ones = pa.table({"ts": np.arange(400), "k": np.r_[np.ones(399, np.int64), 7]})
    join.push("one", ones)
    before = join.metrics.results
    bad = pa.table({"ts": np.arange(400), "k": np.r_[np.ones(390, np.int64), 3, np.ones(9, np.int64)]})
    with pytest.raises(wm.WatersmeetError, match=r"returned -42 .*row 399 of 'one'.*row 390 of 'two'"):
        join.push("two", bad)
    assert join.metrics.results == before
    assert join.metrics.streams[1].rows == 0
    good = pa.table({"ts": np.arange(400), "k": np.ones(400, np.int64)})
    out = join.push("two", good).num_rows + join.finish().num_rows
    assert out == sum(abs(i - j) <= 50 for i in range(400) for j in range(400))


def test_what_is_no_compiled_function_is_refused(library: ctypes.CDLL) -> None:
    near = function(library, "near")
    for fn in ("near", 1.5, None, True, object(), 0, LowLevelCallable(near).signature):
        with pytest.raises(wm.ConfigError, match=r"where\(fn\)"):
            wm.where(fn, "x")
    wrong = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x)
    with pytest.raises(wm.ConfigError, match="signature"):
        wm.where(wrong, "x")
    with pytest.raises(wm.ConfigError, match="signature"):
        wm.where(LowLevelCallable(wrong), "x")
    for arguments in ({"left": "x"}, {"left": "x", "right": ()}, {"left": ("",), "right": "x"}):
        with pytest.raises(wm.ConfigError, match="where"):
            wm.where(near, **arguments)  # type: ignore[arg-type]
    with pytest.raises(wm.ConfigError, match="another process"):
        pickle.dumps(wm.where(near, "x"))


def test_columns_without_a_fixed_size_are_refused(library: ctypes.CDLL) -> None:
    on = wm.where(function(library, "near"), "name")
    table = pa.table({"ts": [1], "name": ["a"]})
    with pytest.raises(wm.SchemaError, match=r"column 'name' is string; where\(near\) needs fixed-size"):
        wm.join(table, table, on=on, window=1)
    with pytest.raises(wm.SchemaError, match="'name'"):
        wm.join(table.drop(["name"]), table, on=on, window=1)


def test_a_join_with_a_compiled_function_has_no_snapshot(library: ctypes.CDLL) -> None:
    join = wm.WindowJoin(
        wm.Stream("a", window=1), wm.Stream("b", window=1), on=wm.where(function(library, "less"), "k")
    )
    with pytest.raises(wm.ConfigError, match="function of your own"):
        join.snapshot()


def test_numba_function() -> None:
    numba = pytest.importorskip("numba")
    pointer = numba.types.voidptr

    @numba.cfunc(numba.types.intc(pointer, pointer, pointer))
    def same(left: Any, right: Any, _: Any) -> Any:
        return numba.carray(left, 1, np.int64)[0] == numba.carray(right, 1, np.int64)[0]

    table = pa.table({"ts": np.arange(50), "k": np.arange(50) % 7})
    own = wm.join(table, table, on=wm.where(same, "k"), window=5, time_unit="s", output="rows")
    assert own.equals(wm.join(table, table, on=wm.equal("k"), window=5, time_unit="s", output="rows"))
