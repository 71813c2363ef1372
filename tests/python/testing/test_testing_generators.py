from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from watersmeet.errors import ConfigError
from watersmeet.testing import (
    band_stream,
    disordered,
    gedik_streams,
    keyed_stream,
    set_stream,
    weighted_stream,
)


@pytest.mark.parametrize("make", [keyed_stream, set_stream, weighted_stream, band_stream])
def test_streams_are_functions_of_their_seed(make) -> None:  # type: ignore[no-untyped-def]
    assert make(3, 50, null_share=0.2).equals(make(3, 50, null_share=0.2))
    assert not make(3, 50).equals(make(4, 50))
    assert make(3, 0).num_rows == 0


def test_weighted_streams_have_lists_of_equal_length_and_weights_in_eighths() -> None:
    table = weighted_stream(1, 200, negative=True)
    assert pc.all(pc.equal(pc.list_value_length(table["kw"]), pc.list_value_length(table["w"]))).as_py()
    eighths = np.asarray(pc.list_flatten(table["w"])) * 8
    assert np.array_equal(eighths, np.rint(eighths))


def test_disordered_delays_rows_by_no_more_than_its_reach() -> None:
    table = disordered(5, keyed_stream(5, 300), reach=7)
    times = np.asarray(table["ts"])
    lag = np.maximum.accumulate(times) - times
    assert 0 < lag.max() <= 7


def _membership(table: pa.Table, domain: int) -> np.ndarray[Any, Any]:
    sizes = np.asarray(pc.list_value_length(table["items"]))
    member = np.zeros((len(sizes), domain), np.float32)
    member[np.repeat(np.arange(len(sizes)), sizes), np.asarray(pc.list_flatten(table["items"]))] = 1
    return member


def test_gedik_sets_are_distinct_and_have_the_sizes_of_spec_g13() -> None:
    left, _ = gedik_streams(1, 0.6, 500, 60)
    sizes = np.asarray(pc.list_value_length(left["items"]))
    assert len(left) == 30_000
    assert _membership(left, 100).sum() == sizes.sum(), "no item twice in a set"
    assert sizes.mean() == pytest.approx(4.99, abs=0.02)
    assert (sizes < 3).mean() == pytest.approx(0.006, abs=0.002)


def test_gedik_selectivity_and_density_peak_are_those_of_spec_g3_and_g13() -> None:
    """Overlap >= 3 holds for 9.2-9.3e-4 of the pairs in the window; the left one is densest at age 15 s."""
    left, right = gedik_streams(1, 0.6, 100, 120)
    own, other = _membership(left, 100), _membership(right, 100)
    own_s, other_s = (np.asarray(table["ts"].cast(pa.int64())) / 1e6 for table in (left, right))
    matches, pairs = np.zeros(40), np.zeros(40)
    for probe in np.flatnonzero((other_s > 40) & (other_s < 100)):
        age = other_s[probe] - own_s
        inside = np.abs(age) <= 20
        cell = np.floor(age[inside]).astype(int) + 20
        shared = own[inside] @ other[probe] >= 3
        matches += np.bincount(cell[shared], minlength=40)[:40]
        pairs += np.bincount(cell, minlength=40)[:40]
    assert matches.sum() / pairs.sum() == pytest.approx(9.25e-4, rel=0.05)
    density = matches / pairs
    assert int(np.argmax(density[20:])) in (14, 15), "cells of the left window are ages 0..19"
    assert density[35] > 3 * density[20]
    assert density[:20].max() < density[20:].max() / 2, "the right window has no such peak"


def test_gedik_rates_profile_and_types() -> None:
    left, right = gedik_streams(2, 0.8, profile=[(2, 100), (1, 500), (0, 10)], type_shares={"a": 3, "b": 1})
    assert len(left) == len(right) == 700
    assert np.all(np.diff(np.asarray(left["ts"].cast(pa.int64()))) > 0)
    assert set(left["type"].to_pylist()) == {"a", "b"}
    fast, slow = gedik_streams(2, 0.8, (100.0, 10.0), 5)
    assert (len(fast), len(slow)) == (500, 50)
    equi, _ = gedik_streams(2, 0.8, 100, 5, domain=5000, size_mean=1, size_deviation=0)
    assert pc.max(pc.list_value_length(equi["items"])).as_py() == 1
    with pytest.raises(ConfigError, match="profile"):
        gedik_streams(1, profile=[(-1, 5)])


@pytest.mark.parametrize("rates", [(100.0, 400.0), (1500.2, 6000.9), (0.9, 333.3)])
def test_stretches_of_any_rate_follow_each_other_in_order(rates: tuple[float, float]) -> None:
    for stream in gedik_streams(2, 0.6, profile=[(1.0, rates[0]), (0.5, rates[1])]):
        times = stream["ts"].cast(pa.int64()).to_numpy()
        assert (np.diff(times) >= 0).all()
        assert abs(len(times) - (rates[0] + rates[1] / 2)) < 2
        assert times[-1] < 1_500_000
