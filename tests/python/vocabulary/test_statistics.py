from __future__ import annotations

import json

import pytest

from watersmeet.vocabulary import DirectionStatistics, Estimate, Metrics, StreamStatistics


def sample() -> Metrics:
    return Metrics(
        results=1_234_567,
        streams=(
            StreamStatistics(
                "cnn", rows=10, late_rows=1, window_rows=4, window_bytes=3_000_000, watermark=17
            ),
            StreamStatistics("reuters", rows=20),
        ),
        directions=(DirectionStatistics(probes=10, due=100, done=75, shed=25), DirectionStatistics()),
        memory_bytes=2048,
        recall=Estimate(0.75, 0.7, 0.8),
    )


def test_metrics_print_every_counter_with_its_name() -> None:
    text = str(sample())
    for part in (
        "1,234,567",
        "2.0 KiB",
        "0.75 (0.7 to 0.8)",
        "late_rows",
        "2.9 MiB",
        "17",
        "reuters",
        "shed",
    ):
        assert part in text


def test_metrics_become_plain_data() -> None:
    plain = sample().to_dict()
    assert json.loads(json.dumps(plain))["streams"][0]["late_rows"] == 1
    assert plain["directions"][0]["shed"] == 25
    assert plain["recall"] == {"value": 0.75, "low": 0.7, "high": 0.8}


def test_nothing_shed_means_exact_recall() -> None:
    assert Metrics().recall == Estimate.exactly(1.0)
    assert Metrics().recall.is_exact
    assert not sample().recall.is_exact


def test_the_fraction_is_the_share_of_due_pairs_that_was_decided() -> None:
    first, second = sample().directions
    assert first.fraction == 0.75
    assert second.fraction == 1.0


def test_a_stream_is_found_by_name() -> None:
    assert sample().stream("reuters").rows == 20
    with pytest.raises(KeyError):
        sample().stream("bbc")
