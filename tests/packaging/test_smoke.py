"""What must hold for any installed copy of the package. Needs only pytest: wheel builders run it too."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import watersmeet as wm


def test_an_equi_join_finds_the_pairs_inside_the_window() -> None:
    orders = pa.table({"ts": [1_000_000, 2_000_000, 9_000_000], "key": [1, 2, 1], "price": [10, 20, 30]})
    quotes = pa.table({"ts": [1_500_000, 2_500_000, 3_000_000], "key": [2, 1, 3], "bid": [21, 11, 31]})
    out = wm.join(orders, quotes, on=wm.equal("key"), window="2s", time="ts")
    assert out.column_names == ["ts", "key", "price", "ts_right", "key_right", "bid"]
    assert out.select(["price", "bid"]).to_pylist() == [{"price": 20, "bid": 21}, {"price": 10, "bid": 11}]


def test_a_live_set_join_finds_its_pair_across_two_pushes() -> None:
    live = wm.WindowJoin(
        wm.Stream("cnn", time="ts", window="20s"),
        wm.Stream("reuters", time="ts", window="20s"),
        on=wm.overlap("kw", at_least=2),
    )
    first = live.push("cnn", pa.table({"ts": [1_000_000], "kw": [["storm", "coast", "flood"]]}))
    second = live.push("reuters", pa.table({"ts": [2_000_000], "kw": [["flood", "coast"]]}))
    last = live.finish()
    assert first.num_rows + second.num_rows + last.num_rows == 1


def test_the_package_is_typed() -> None:
    assert importlib.resources.files("watersmeet").joinpath("py.typed").is_file()


def test_the_version_is_the_one_installed() -> None:
    assert wm.__version__ == importlib.metadata.version("watersmeet")


def test_the_command_says_its_version() -> None:
    command = Path(sys.executable).parent / "watersmeet"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert importlib.metadata.version("watersmeet") in done.stdout
