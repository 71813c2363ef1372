from __future__ import annotations

import numpy as np
import pytest

from watersmeet.control import estimate_recall, missed_by_samples
from watersmeet.control.recall_samples import RecallSums, missed_by_line, with_period


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
            shed=True,
            probes=float((~full).sum()),
            known=float(found[~full].sum()),
            sampled_known=found[full],
            sampled_missed=missed[full],
            full_probe_share=share,
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


def test_nothing_shed_is_known_exactly_and_nothing_sampled_is_not_known_at_all() -> None:
    nothing = {"probes": 10.0, "known": 3.0, "sampled_known": [], "sampled_missed": []}
    kept = with_period(RecallSums(), results=5.0, shed=False, full_probe_share=0.0, **nothing)
    assert estimate_recall([missed_by_line(kept)]).low == 1.0
    blind = with_period(kept, results=5.0, shed=True, full_probe_share=0.0, **nothing)
    assert estimate_recall([missed_by_line(blind)]).low == 0.0
