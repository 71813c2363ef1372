"""Joins that shed, on drawn streams and settings: sound, counted, and a function of input and seed alone.

They are held against the exact join, which has its own oracle.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import watersmeet as wm
from watersmeet.testing import band_stream, keyed_stream, set_stream, weighted_stream

SETS = ("scan", "inverted", "inverted-by-id")
# kind: how streams are drawn, with what, the predicate, the indexes that serve it
KINDS: dict[str, tuple[Any, dict[str, int], wm.Predicate, tuple[str, ...]]] = {
    "equal": (keyed_stream, {"keys": 6}, wm.equal("key"), ("scan", "hash")),
    "overlap": (set_stream, {"items": 8}, wm.overlap("tags", at_least=2), SETS),
    "jaccard": (set_stream, {"items": 6}, wm.jaccard("tags", at_least=0.5), SETS),
    "subset": (set_stream, {"items": 6}, wm.subset("tags"), SETS),
    "superset": (set_stream, {"items": 6}, wm.superset("tags"), SETS),
    "same_set": (set_stream, {"items": 3}, wm.same_set("tags"), SETS),
    "dot": (weighted_stream, {}, wm.dot(items="kw", weights="w", at_least=1.0), SETS[:2]),
    "cosine": (weighted_stream, {}, wm.cosine(items="kw", weights="w", at_least=0.6), SETS[:2]),
    "band": (band_stream, {}, wm.band("price", within=1), ("scan",)),
    "conjunction": (
        keyed_stream, {"keys": 4}, wm.equal("key") & wm.band("value", within=50), ("scan", "hash"),
    ),
}  # fmt: skip
POLICIES = ("gedik", "density", "content", "random-drop", "auto")
WINDOWS = st.sampled_from(["0ms", "300ms", "2s", "20i"])
ROWS = 120


def _joined(
    tables: tuple[pa.Table, pa.Table], windows: tuple[str, str], cuts: list[int], options: dict[str, Any]
) -> tuple[list[tuple[int, int]], wm.Metrics]:
    streams = (wm.Stream(name, window=span, time_unit="ms") for name, span in zip("ab", windows, strict=True))
    join = wm.WindowJoin(*streams, **options, output="rows")
    starts, turn, outs = [0, 0], 0, []
    while any(start < ROWS for start in starts):
        side, size = turn % 2, cuts[turn % len(cuts)]
        outs.append(join.push("ab"[side], tables[side].slice(starts[side], size)))
        starts[side] += size
        turn += 1
    outs.append(join.finish())
    found = pa.concat_tables(outs)
    return list(zip(found["left_row"].to_pylist(), found["right_row"].to_pylist(), strict=True)), join.metrics


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_differential_what_comes_out_is_part_of_the_full_answer_once_and_the_same_for_any_batching(
    policy: str, kind: str, data: st.DataObject
) -> None:
    if policy == "content" and kind == "band":
        pytest.skip("a band cannot be scored")
    draw, drawn, on, indexes = KINDS[kind]
    seed = data.draw(st.integers(0, 10_000))
    left, right = (draw((seed, side), ROWS, span=6_000, null_share=0.05, **drawn) for side in (0, 1))
    windows = data.draw(st.tuples(WINDOWS, WINDOWS))
    per_second = data.draw(st.sampled_from([1.0, 20.0, 300.0, 1e4]))
    shed = wm.Shed(
        wm.comparisons(per_second, costs={"lookup": data.draw(st.sampled_from([0.1, 3.0]))}),
        policy=policy,  # type: ignore[arg-type]
        rate_period="1s",
        time_period="1s",
        rate_control=data.draw(st.sampled_from(["backlog", "published"])),
        input_buffer=data.draw(st.sampled_from(["50ms", "1s"])),
    )
    options: dict[str, Any] = {
        "on": on,
        "shed": shed,
        "index": data.draw(st.sampled_from(indexes)),
        "order": data.draw(st.sampled_from([None, "sync-filter"])),
        "seed": seed,
    }
    if not any(window.endswith("i") for window in windows):
        options["basic_window"] = data.draw(st.sampled_from(["50ms", "700ms"]))
    sizes = st.lists(st.integers(1, 80), min_size=1, max_size=3)
    runs = [_joined((left, right), windows, data.draw(sizes), options) for _ in range(2)]
    found, metrics = runs[0]
    exact = {**options, "shed": None, "index": "scan"}
    whole = set(_joined((left, right), windows, [ROWS], exact)[0])
    assert len(set(found)) == len(found)
    assert set(found) <= whole
    assert all(direction.due == direction.done + direction.shed for direction in metrics.directions)
    dropped = sum(stream.dropped_rows for stream in metrics.streams)
    if not dropped and not sum(direction.shed for direction in metrics.directions):
        assert set(found) == whole
    assert runs[1][0] == found
    assert runs[1][1].directions == metrics.directions
    assert runs[1][1].recall == metrics.recall
