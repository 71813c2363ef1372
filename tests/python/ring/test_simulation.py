from __future__ import annotations

import math

import pytest

from watersmeet.errors import ConfigError
from watersmeet.ring import RingLoad, UnitCosts
from watersmeet.ring.simulation import (
    expect_ring,
    expect_split,
    response_from_arrival,
    simulate_aligned,
    simulate_coordinated,
    simulate_ring,
    simulate_split,
)
from watersmeet.ring.simulation.replication import cover

FREE = UnitCosts(1e-5)
CLUSTER = UnitCosts(5.3e-6, send_s=5e-5, hop_s=1e-4, link_bytes_per_s=125e6)


def load_of(streams: int, selectivity: float, *, row_bytes: float = 15e3) -> RingLoad:
    return RingLoad.of((50,) * streams, 10, selectivity=selectivity, row_bytes=row_bytes)


@pytest.mark.parametrize("streams", [2, 3, 4, 5])
def test_one_node_works_as_long_as_the_cost_model_says(streams: int) -> None:
    load = load_of(streams, 0.02)
    assert simulate_ring(load, FREE, 1).cycle_s == pytest.approx(load.central_s(FREE))
    assert simulate_split(load, FREE, 1).cycle_s == pytest.approx(load.central_s(FREE))


@pytest.mark.parametrize("streams", [2, 3, 4, 5])
@pytest.mark.parametrize("nodes", [1, 2, 3, 7])
def test_all_ways_of_sharing_the_work_find_every_result(streams: int, nodes: int) -> None:
    load = load_of(streams, 0.004)
    results = load.results_per_row()
    for interleave in (1, 3):
        assert simulate_ring(load, CLUSTER, nodes, interleave=interleave).results == pytest.approx(results)
        assert simulate_split(load, CLUSTER, nodes, interleave=interleave).results == pytest.approx(results)
    assert simulate_coordinated(load, CLUSTER, 2 * nodes, copies=2).results == pytest.approx(results)
    assert simulate_aligned(load, CLUSTER, nodes, segment_s=20.0).results == pytest.approx(results)


@pytest.mark.parametrize("streams", [2, 3])
def test_a_caller_pays_for_rows_results_and_calls_while_slices_rest(streams: int) -> None:
    load = load_of(streams, 0.01)
    door = UnitCosts(1e-5, insert_s=1e-3, emit_s=2e-3, call_s=3e-3, start_s=4e-3)
    batch, rows = 6, 24 * streams
    door_s = 1e-3 + load.results_per_row() * 2e-3 + 3e-3 / batch
    for nodes, start_s in ((1, 0.0), (4, 4e-3 / batch)):
        inside = simulate_ring(load, FREE, nodes, interleave=batch, batch=batch, cycles=rows)
        outcome = simulate_ring(load, door, nodes, interleave=batch, batch=batch, cycles=rows)
        assert outcome.cycle_s == pytest.approx(inside.cycle_s + door_s + start_s)
        assert outcome.results == pytest.approx(load.results_per_row())
        assert outcome.latency_s == pytest.approx(batch * outcome.cycle_s)


def test_rows_that_come_alone_wait_for_one_call() -> None:
    load, door = load_of(2, 0.0), UnitCosts(1e-5, insert_s=1e-3, call_s=3e-3)
    alone = simulate_ring(load, door, 1, interleave=8, batch=1, cycles=10)
    assert alone.cycle_s == pytest.approx(4e-3 + load.window_rows[0] * 1e-5)
    with pytest.raises(ConfigError, match="batch"):
        simulate_ring(load, door, 1, batch=0)


@pytest.mark.parametrize("nodes", [2, 4, 8])
def test_without_costs_of_travel_a_ring_is_perfectly_parallel(nodes: int) -> None:
    load = load_of(3, 0.1)
    assert simulate_ring(load, FREE, nodes, pieces=64).cycle_s == pytest.approx(
        load.central_s(FREE) / nodes, rel=0.05
    )


@pytest.mark.parametrize("streams", [2, 3])
@pytest.mark.parametrize("nodes", [1, 3, 6])
def test_batches_stand_for_rows_that_travel_alone(streams: int, nodes: int) -> None:
    load = load_of(streams, 0.1)
    rows, batches = (simulate_ring(load, CLUSTER, nodes, pieces=pieces) for pieces in (10_000, 8))
    assert batches.latency_s == pytest.approx(rows.latency_s, rel=0.05)
    assert batches.cycle_s == pytest.approx(rows.cycle_s, rel=0.05)


@pytest.mark.parametrize(("streams", "selectivity"), [(2, 0.1), (3, 0.05), (3, 0.1), (3, 0.5), (5, 0.02)])
@pytest.mark.parametrize("nodes", [1, 4, 8, 14, 19, 32])
def test_mean_values_agree_with_the_simulated_ring(streams: int, selectivity: float, nodes: int) -> None:
    load = load_of(streams, selectivity)
    simulated, expected = simulate_ring(load, CLUSTER, nodes), expect_ring(load, CLUSTER, nodes)
    assert expected.latency_s == pytest.approx(simulated.latency_s, rel=0.25)
    assert expected.state_rows == 500 * streams == pytest.approx(simulated.state_rows)
    if 2 * nodes <= 500 * selectivity:  # beyond that a mean message is a fraction of a row
        assert expected.cycle_s == pytest.approx(simulated.cycle_s, rel=0.25)


@pytest.mark.parametrize(("streams", "selectivity"), [(2, 0.1), (3, 0.1), (3, 0.5)])
@pytest.mark.parametrize("nodes", [1, 4, 8, 16])
def test_mean_values_agree_with_the_simulated_split(streams: int, selectivity: float, nodes: int) -> None:
    load = load_of(streams, selectivity)
    for multicast in (False, True):
        simulated = simulate_split(load, CLUSTER, nodes, multicast=multicast)
        expected = expect_split(load, CLUSTER, nodes, multicast=multicast)
        assert expected.latency_s == pytest.approx(simulated.latency_s, rel=0.25)


def test_interleaving_fills_the_ring_until_a_machine_is_always_busy() -> None:
    load = load_of(3, 0.1)
    runs = [simulate_ring(load, CLUSTER, 8, interleave=k, cycles=40) for k in (1, 2, 4, 8)]
    cycles = [run.cycle_s for run in runs]
    assert cycles == sorted(cycles, reverse=True)
    assert runs[-1].node_use > 0.97
    for run, interleave in zip(runs, (1, 2, 4, 8), strict=True):
        expected = expect_ring(load, CLUSTER, 8, interleave=interleave)
        assert expected.cycle_s == pytest.approx(run.cycle_s, rel=0.1)
        assert expected.latency_s == pytest.approx(run.latency_s, rel=0.15)


def test_uneven_slices_are_as_slow_as_the_fullest() -> None:
    load = load_of(3, 0.1)
    even = simulate_ring(load, FREE, 4)
    uneven = simulate_ring(load, FREE, 4, slice_rows=[[250] * 3, [50] * 3, [100] * 3, [100] * 3])
    assert uneven.cycle_s > 1.8 * even.cycle_s
    assert uneven.results == pytest.approx(even.results)


def test_run_is_a_function_of_its_seed() -> None:
    load = load_of(3, 0.05)
    one, again, other = (simulate_ring(load, CLUSTER, 5, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.latency_s != other.latency_s
    mean = simulate_ring(load, CLUSTER, 5)
    assert simulate_ring(load, CLUSTER, 5, seed=3, cycles=200).results == pytest.approx(
        mean.results, rel=0.05
    )


def test_cover_reaches_every_segment_with_few_nodes() -> None:
    chosen = cover([frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3}), frozenset({1, 3})])
    assert chosen == {1: 0.75, 2: 0.25}
    assert sum(chosen.values()) == 1.0


def test_queue_grows_beyond_capacity_and_not_below() -> None:
    outcome = simulate_ring(load_of(3, 0.05), CLUSTER, 8)
    calm = response_from_arrival(outcome, (10, 10, 10))
    assert outcome.latency_s < calm < outcome.latency_s + outcome.cycle_s
    assert response_from_arrival(outcome, (50, 50, 50)) > 100.0
    assert math.isfinite(calm)


def test_impossible_settings_are_refused() -> None:
    load = load_of(3, 0.1)
    with pytest.raises(ConfigError, match="copies=3"):
        simulate_coordinated(load, CLUSTER, 2, copies=3)
    with pytest.raises(ConfigError, match="segment_s"):
        simulate_aligned(load, CLUSTER, 2, segment_s=5.0)
    with pytest.raises(ConfigError, match="slices=0"):
        simulate_ring(load, CLUSTER, 0)
