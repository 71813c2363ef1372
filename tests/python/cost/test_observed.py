from __future__ import annotations

import pytest

from watersmeet.cost import observed_loads, sampled_share
from watersmeet.errors import ConfigError
from watersmeet.vocabulary import DirectionStatistics, Metrics, StreamStatistics


def metrics(scale: int, *, postings: int = 0, lookups: int = 0) -> Metrics:
    return Metrics(
        results=60 * scale,
        streams=(
            StreamStatistics("a", rows=100 * scale, window_rows=50),
            StreamStatistics("b", rows=1000 * scale, window_rows=500),
        ),
        directions=(
            DirectionStatistics(probes=100 * scale, due=50_000 * scale, postings=postings, lookups=lookups),
            DirectionStatistics(probes=1000 * scale, due=10_000 * scale),
        ),
    )


def test_rates_windows_and_matches_are_those_between_the_snapshots() -> None:
    first, second = observed_loads("equal", metrics(1), metrics(3), seconds=20)
    assert (first.probing_rate, first.window_rate, first.window_rows) == (100, 10, 10)
    assert (second.probing_rate, second.window_rate, second.window_rows) == (10, 100, 500)
    assert second.matches == pytest.approx(0.5)
    assert first.matches == pytest.approx(0.01)


def test_a_first_look_starts_from_nothing() -> None:
    first, second = observed_loads("equal", Metrics(), metrics(1), seconds=10)
    assert (first.window_rate, second.window_rate) == (10, 100)


def test_what_was_looked_up_and_read_is_preferred_to_what_was_guessed() -> None:
    after = metrics(1, postings=2000, lookups=500)
    first, second = observed_loads(
        "overlap", Metrics(), after, seconds=1, items=(9.0, 4.0), entry_shares=(0.25, 0.5)
    )
    assert (second.items, second.listed) == (5, 20)
    assert (first.items, first.listed) == (4, 2.5)


def test_pairs_owed_for_rows_given_up_for_memory_are_no_load() -> None:
    after = Metrics(
        results=30,
        streams=(StreamStatistics("a", rows=100, window_rows=50), StreamStatistics("b", rows=100)),
        directions=(DirectionStatistics(probes=10, due=5_000, lost=4_700), DirectionStatistics(probes=10)),
    )
    _, second = observed_loads("equal", Metrics(), after, seconds=1)
    assert (second.met, second.window_rows) == (30, 30)
    assert second.matches == pytest.approx(3.0)


def test_a_silent_stream_probes_nothing() -> None:
    silent = Metrics(
        streams=(StreamStatistics("a", rows=5, window_rows=5), StreamStatistics("b")),
        directions=(DirectionStatistics(probes=5), DirectionStatistics()),
    )
    first, second = observed_loads("equal", Metrics(), silent, seconds=1)
    assert (first.probing_rate, first.window_rows) == (0, 5)
    assert second.matches == 0.0


def test_a_sample_tells_how_likely_values_are_equal() -> None:
    assert sampled_share([1, 1, 2], [1, 3]) == pytest.approx(2 / 6)
    assert sampled_share([], [1]) == 0.0
    with pytest.raises(ConfigError, match="seconds=0"):
        observed_loads("equal", Metrics(), metrics(1), seconds=0)


def test_streams_that_are_not_equally_far_have_rates_of_their_own() -> None:
    first, second = observed_loads("equal", Metrics(), metrics(1), seconds=(10.0, 5.0))
    assert (first.window_rate, first.probing_rate) == (10, 200)
    assert (second.window_rate, second.probing_rate) == (200, 10)
