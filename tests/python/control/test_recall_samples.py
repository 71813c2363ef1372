from __future__ import annotations

import numpy as np
import pytest

from watersmeet.control import Survived, estimate_recall, missed_by_samples
from watersmeet.control.recall_samples import RecallSums, missed_by_line, with_period
from watersmeet.errors import ConfigError


def run(rng: np.random.Generator, share: float, *, linked: bool) -> tuple[float, RecallSums, float]:
    """Ten periods of probes whose misses go with what they found, or not; the truth, the sums, the plain
    estimate.
    """
    sums, plain, found_all, missed_all = RecallSums(), 0.0, 0.0, 0.0
    for _ in range(10):
        popularity = rng.gamma(0.5, 2.0, 2_000)
        found = rng.poisson(2.0 * popularity)
        missed = rng.poisson(6.0 * (popularity if linked else rng.gamma(0.5, 2.0, 2_000)))
        full = rng.random(2_000) < share
        results = float(found.sum() + missed[full].sum())
        sums = with_period(
            sums,
            results=results,
            others=float((~full).sum()),
            known=float(found[~full].sum()),
            sampled_known=found[full],
            sampled_missed=missed[full],
            sampled_shares=np.full(int(full.sum()), share),
        )
        part = missed_by_samples(results=results, sampled_missed=missed[full], full_probe_share=share)
        plain += part.missed
        found_all += results
        missed_all += float(missed[~full].sum())
    return found_all / (found_all + missed_all), sums, found_all / (found_all + plain)


@pytest.mark.parametrize("linked", [True, False])
def test_estimate_is_unbiased_and_its_interval_covers_the_truth(linked: bool) -> None:
    rng = np.random.default_rng(5)
    errors, covered, plain_errors = [], [], []
    for _ in range(200):
        truth, sums, plain = run(rng, 0.005, linked=linked)
        estimate = estimate_recall([missed_by_line(sums)])
        errors.append(estimate.value - truth)
        plain_errors.append(plain - truth)
        covered.append(estimate.low <= truth <= estimate.high)
    assert abs(np.mean(errors)) < 0.01
    assert np.mean(covered) >= 0.9
    if linked:
        assert np.std(errors) < 0.7 * np.std(plain_errors)


def test_shares_that_change_from_unit_to_unit_leave_no_bias() -> None:
    rng = np.random.default_rng(8)
    errors, covered = [], []
    for _ in range(200):
        rows = rng.integers(1, 50, 4_000)
        missed = rng.poisson(0.05 * rows)
        shares = rng.choice([0.005, 0.02, 0.1], 4_000)
        full = rng.random(4_000) < shares
        sums = with_period(
            RecallSums(),
            results=2_000.0 + float(missed[full].sum()),
            others=float((~full).sum()),
            known=float(rows[~full].sum()),
            sampled_known=rows[full],
            sampled_missed=missed[full],
            sampled_shares=shares[full],
        )
        estimate = estimate_recall([missed_by_line(sums)])
        truth = (2_000.0 + missed[full].sum()) / (2_000.0 + missed.sum())
        errors.append(estimate.value - truth)
        covered.append(estimate.low <= truth <= estimate.high)
    assert abs(np.mean(errors)) < 0.005
    assert np.mean(covered) >= 0.9


def test_nothing_shed_is_known_exactly_and_nothing_sampled_is_not_known_at_all() -> None:
    nothing: dict[str, list[float]] = {"sampled_known": [], "sampled_missed": [], "sampled_shares": []}
    kept = with_period(RecallSums(), results=5.0, others=0.0, known=0.0, **nothing)
    assert estimate_recall([missed_by_line(kept)]).low == 1.0
    blind = with_period(kept, results=5.0, others=10.0, known=3.0, **nothing)
    assert estimate_recall([missed_by_line(blind)]).low == 0.0


@pytest.mark.parametrize("share", [0.002, 0.01])
def test_a_handful_of_samples_has_an_interval_that_covers_the_truth(share: float) -> None:
    rng = np.random.default_rng(3)
    covered, known = [], 0
    for _ in range(400):
        rows = rng.integers(1, 50, 2_000)
        missed = rng.poisson(0.02 * rows)
        full = rng.random(2_000) < share
        sums = with_period(
            RecallSums(),
            results=50.0 + float(missed[full].sum()),
            others=float((~full).sum()),
            known=float(rows[~full].sum()),
            sampled_known=rows[full],
            sampled_missed=missed[full],
            sampled_shares=np.full(int(full.sum()), share),
        )
        estimate = estimate_recall([missed_by_line(sums, due=50_000.0, done=2_500.0)])
        covered.append(estimate.low <= (50.0 + missed[full].sum()) / (50.0 + missed.sum()) <= estimate.high)
        known += estimate.low > 0.0
    assert np.mean(covered) >= 0.9
    assert known > 200


def test_samples_of_everything_left_out_miss_nothing() -> None:
    everything: dict[str, list[float]] = {
        "sampled_known": [5.0, 1.0, 2.0],
        "sampled_missed": [1.0, 0.0, 0.0],
        "sampled_shares": [1.0, 1.0, 1.0],
    }
    sums = with_period(RecallSums(), results=3.0, others=0.0, known=0.0, **everything)
    estimate = estimate_recall([missed_by_line(sums, due=10.0, done=10.0)])
    assert (estimate.value, estimate.low, estimate.high) == (1.0, 1.0, 1.0)
    nothing: dict[str, list[float]] = {"sampled_known": [], "sampled_missed": [], "sampled_shares": []}
    sums = with_period(sums, results=1.0, others=5.0, known=5.0, **nothing)
    estimate = estimate_recall([missed_by_line(sums, due=20.0, done=10.0)])
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def test_a_line_through_all_its_samples_is_not_taken_for_the_truth() -> None:
    sums = with_period(
        RecallSums(),
        results=10.0,
        others=997.0,
        known=1e4,
        sampled_known=[5.0, 10.0, 15.0],
        sampled_missed=[1.0, 2.0, 3.0],
        sampled_shares=[0.003] * 3,
    )
    missed = missed_by_line(sums)
    assert missed.variance >= missed.missed**2 / 6.5  # six matches scatter by chance alone


def test_share_of_a_sample_that_is_no_probability_is_refused() -> None:
    with pytest.raises(ConfigError, match="sampled_shares"):
        with_period(
            RecallSums(),
            results=1.0,
            others=1.0,
            known=1.0,
            sampled_known=[1.0],
            sampled_missed=[1.0],
            sampled_shares=[0.0],
        )


@pytest.mark.parametrize("changing", [False, True])
def test_what_dropped_rows_took_is_estimated_without_bias_and_covered(changing: bool) -> None:
    rng = np.random.default_rng(6)
    errors, covered = [], []
    for _ in range(300):
        popular = rng.gamma(0.5, 0.4, (1, 300)) * rng.gamma(0.5, 0.4, (300, 1))
        matches = rng.random((300, 300)) < np.minimum(1.0, popular)
        shares = [rng.choice([0.3, 0.9], 300) if changing else np.full(300, 0.4) for _ in range(2)]
        kept = [rng.random(300) < share for share in shares]
        found = matches & kept[0][:, None] & kept[1][None, :]
        weights = [1.0 / share for share in shares]
        both = weights[0][:, None] * weights[1][None, :]
        # As selective_drops.h has it.
        degrees = (found * weights[1][None, :]).sum(axis=1), (found * weights[0][:, None]).sum(axis=0)
        variance = sum(float((w * (w - 1) * d**2).sum()) for w, d in zip(weights, degrees, strict=True))
        variance -= float((found * both * (weights[0] - 1)[:, None] * (weights[1] - 1)[None, :]).sum())
        survived = Survived.of(
            results=float(found.sum()), weighed=float((found * both).sum()), variance=max(0.0, variance)
        )
        estimate = estimate_recall([], survived=survived)
        truth = found.sum() / matches.sum()
        errors.append(truth / estimate.value - 1.0)  # of the full answer: its share is skewed
        covered.append(estimate.low <= truth <= estimate.high)
    assert abs(np.mean(errors)) < 0.03
    assert np.mean(covered) >= 0.9
