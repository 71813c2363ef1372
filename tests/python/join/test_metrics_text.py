"""Metrics of every kind of join: printed as a table, and as plain values for JSON."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import watersmeet as wm

SECOND = 1_000_000
ROWS = pa.table({"ts": [n * SECOND for n in range(40)], "key": [n % 3 for n in range(40)]})
STREAMS = [wm.Stream(name, window="10s") for name in ("left", "right")]
ON = {("left", "right"): wm.equal("key")}


def fed(join: Any) -> Any:
    for name in ("left", "right"):
        join.push(name, ROWS)
    return join


JOINS = {
    "two-way": lambda: fed(wm.WindowJoin(*STREAMS, on=wm.equal("key"))),
    "shed": lambda: fed(wm.WindowJoin(*STREAMS, on=wm.equal("key"), shed=wm.Shed(wm.comparisons(5)))),
    "tree": lambda: fed(wm.MultiJoin(STREAMS, on=ON)),
    "tree with a budget": lambda: fed(
        wm.MultiJoin(STREAMS, on=ON, budget=2, monitor="5s", analysis="inline")
    ),
    "ring": lambda: fed(wm.RingJoin(STREAMS, on=ON, slices=2)),
}


@pytest.mark.parametrize("kind", JOINS)
def test_metrics_print_as_a_table_that_names_the_streams(kind: str) -> None:
    metrics = JOINS[kind]().metrics
    head, *lines = str(metrics).splitlines()
    assert head.startswith(f"results {metrics.results:,} ")
    assert [line.split()[:2] for line in lines if line.startswith(("left ", "right "))][:2] == [
        ["left", "40"],
        ["right", "40"],
    ]


@pytest.mark.parametrize("kind", JOINS)
def test_metrics_are_json(kind: str) -> None:
    metrics = JOINS[kind]().metrics
    read = json.loads(json.dumps(metrics.to_dict()))
    assert read["results"] == metrics.results
    assert [stream["rows"] for stream in read["streams"]] == [40, 40]


@pytest.mark.parametrize("kind", JOINS)
def test_a_stream_that_is_none_is_a_key_error(kind: str) -> None:
    with pytest.raises(KeyError, match="middle"):
        JOINS[kind]().metrics.stream("middle")
