from __future__ import annotations

import math

import numpy as np
import pytest

from watersmeet.control import CellCounts, Missed, estimate_recall, missed_by_cells, missed_by_samples


def clustered_run(rng: np.random.Generator, share: float) -> tuple[float, Missed]:
    """20,000 probes whose misses come in clusters; the truth and what full probes of that share show."""
    found = rng.poisson(2.0, 20_000)
    outside = rng.poisson(6.0, 20_000) * (rng.random(20_000) < 0.3)
    full = rng.random(20_000) < share
    results = float(found.sum() + outside[full].sum())
    truth = results / float(found.sum() + outside.sum())
    return truth, missed_by_samples(results=results, sampled_missed=outside[full], full_probe_share=share)


@pytest.mark.parametrize("share", [0.002, 0.01, 0.1])
def test_estimate_is_unbiased_and_its_interval_covers_the_truth(share: float) -> None:
    rng = np.random.default_rng(42)
    runs = [clustered_run(rng, share) for _ in range(400)]
    estimates = [(truth, estimate_recall([missed])) for truth, missed in runs]
    bias = np.mean([estimate.value - truth for truth, estimate in estimates])
    covered = np.mean([estimate.low <= truth <= estimate.high for truth, estimate in estimates])
    assert abs(bias) < 0.012
    assert 0.92 <= covered <= 1.0
    assert all(0 <= e.low <= e.value <= e.high <= 1 for _, e in estimates)


def test_interval_narrows_with_more_samples() -> None:
    rng = np.random.default_rng(7)
    widths = []
    for share in (0.005, 0.05, 0.5):
        estimate = estimate_recall([clustered_run(rng, share)[1]])
        widths.append(estimate.high - estimate.low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_nothing_shed_is_exactly_one() -> None:
    exact = missed_by_samples(results=10, sampled_missed=[], full_probe_share=0.1, shed=False)
    estimate = estimate_recall([exact])
    assert (estimate.value, estimate.low, estimate.high) == (1.0, 1.0, 1.0)
    assert estimate_recall([]).value == 1.0


def test_shedding_without_a_sample_admits_that_it_knows_nothing() -> None:
    estimate = estimate_recall([missed_by_samples(results=10, sampled_missed=[], full_probe_share=0.0)])
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def test_without_a_sample_the_value_goes_by_the_pairs_decided() -> None:
    blind = Missed(results=30, shed=True, heaviest=math.inf, due=1000, done=100)
    estimate = estimate_recall([blind])
    assert (estimate.value, estimate.low, estimate.high) == (pytest.approx(0.1), 0.0, 1.0)
    nothing_found = Missed(shed=True, heaviest=math.inf, due=1000, done=100)
    assert estimate_recall([nothing_found]).value == pytest.approx(0.1)


def test_samples_that_missed_nothing_hold_the_guess_within_what_they_allow() -> None:
    few = Missed(results=3, samples=3, shed=True, heaviest=2000, due=10_000, done=60)
    assert estimate_recall([few]).value == pytest.approx(0.006)
    many = Missed(results=10_000, samples=5000, shed=True, heaviest=50, due=1e6, done=3e5)
    estimate = estimate_recall([many])
    assert 0.99 < estimate.value < 1.0
    assert estimate.low <= estimate.value <= estimate.high


def test_one_blind_direction_is_guessed_and_the_other_is_not() -> None:
    blind = Missed(results=10, shed=True, heaviest=math.inf, due=100, done=50)
    known = Missed(results=10, missed=30, variance=25.0, samples=100, shed=True, heaviest=5, due=100, done=50)
    estimate = estimate_recall([blind, known])
    assert (estimate.value, estimate.low, estimate.high) == (pytest.approx(20 / 60), 0.0, 1.0)


def test_samples_that_missed_nothing_still_leave_room_below_one() -> None:
    estimate = estimate_recall(
        [missed_by_samples(results=1000, sampled_missed=[0] * 50, full_probe_share=0.1)]
    )
    assert estimate.value == estimate.high == 1.0
    assert 0.9 < estimate.low < 1.0


def test_pairs_with_a_dropped_row_count_as_missed() -> None:
    estimate = estimate_recall([Missed(results=100)], dropped_shares=(0.1, 0.2))
    assert estimate.value == pytest.approx(0.72)
    assert estimate_recall([Missed()], dropped_shares=(1.0,)).value == 0.0


def test_parts_add_up_as_one() -> None:
    one = missed_by_samples(results=50, sampled_missed=[1, 2], full_probe_share=0.1)
    two = missed_by_samples(results=70, sampled_missed=[4], full_probe_share=0.1)
    both = missed_by_samples(results=120, sampled_missed=[1, 2, 4], full_probe_share=0.1)
    together = estimate_recall([one, two])
    assert together.value == pytest.approx(estimate_recall([both]).value)
    assert together.low == pytest.approx(estimate_recall([both]).low)


def test_cell_estimate_is_unbiased_and_covers_under_a_plan_by_age() -> None:
    rng = np.random.default_rng(11)
    density = np.array([0.001, 0.004, 0.02, 0.002])
    due, made = np.full(4, 200_000), np.array([2_000, 2_000, 200_000, 2_000])
    errors, covered = [], []
    for _ in range(400):
        found = rng.binomial(made, density)
        hidden = rng.binomial(due - made, density)
        missed = missed_by_cells(
            results=float(found.sum()), counts=CellCounts(made, found),
            shed_comparisons=CellCounts(due - made, np.zeros(4)),
        )  # fmt: skip
        truth = found.sum() / (found.sum() + hidden.sum())
        estimate = estimate_recall([missed])
        errors.append(estimate.value - truth)
        covered.append(estimate.low <= truth <= estimate.high)
    assert abs(np.mean(errors)) < 0.01
    assert np.mean(covered) >= 0.93


def test_cell_that_nobody_looked_at_leaves_the_estimate_open() -> None:
    missed = missed_by_cells(
        results=5, counts=CellCounts([100, 0], [5, 0]), shed_comparisons=CellCounts([0, 100], [0, 0])
    )
    assert estimate_recall([missed]).low == 0.0
