from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.cost import CostCurve, OperationCosts, UnitCosts
from watersmeet.errors import ConfigError
from watersmeet.join.two_way import advisor, look_times


def costs(*, scan: float, other: float) -> UnitCosts:
    """Unit costs under which a scan, or anything else, costs so much per probe."""
    cheap, dear = OperationCosts(probe=scan), OperationCosts(probe=other)
    structures = {"equal": ("hash",), "overlap": ("inverted/count",), "weighted": ("inverted/count",)}
    curves: dict[Any, CostCurve] = {}
    for kind, others in structures.items():
        curves[kind, "scan"] = CostCurve.flat(cheap)
        curves |= {(kind, each): CostCurve.flat(dear) for each in others}
    return UnitCosts(curves)


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join that looks at its indexes at every push."""
    monkeypatch.setattr(advisor, "_FIRST_LOOK_ROWS", {})
    monkeypatch.setattr(advisor, "LOOK_EVERY_ROWS", 1)
    monkeypatch.setattr(look_times, "LOOK_EVERY_ROWS", 1)
    monkeypatch.setattr(advisor, "_RAREST_LOOK_ROWS", 1)
    monkeypatch.setattr(advisor, "_FEWEST_PROBES", 1)


def batches(seed: int, rows: int = 600, size: int = 15) -> list[pa.RecordBatch]:
    random = np.random.default_rng(seed)
    sets = [random.choice(12, random.integers(0, 5), replace=False).tolist() for _ in range(rows)]
    whole = pa.record_batch(
        {
            "ts": pa.array(np.sort(random.integers(0, 5_000, rows))),
            "key": pa.array(random.integers(0, 9, rows)),
            "tags": pa.array(sets, pa.list_(pa.int64())),
            "weights": pa.array([[1.0] * len(each) for each in sets], pa.list_(pa.float64())),
        }
    )
    return [whole.slice(start, size) for start in range(0, rows, size)]


def run(on: wm.Predicate, *, flip: bool, **more: Any) -> tuple[Any, Any]:
    """Join the two streams; with `flip` the unit costs turn over now and then, and with them the indexes."""
    join = wm.WindowJoin(
        wm.Stream("a", window="200us"), wm.Stream("b", window="90us"), on=on, output="rows", **more
    )
    tables = []
    for place, (left, right) in enumerate(zip(batches(1), batches(2), strict=True)):
        if flip:
            turned = costs(scan=1.0, other=9.0) if place // 6 % 2 else costs(scan=9.0, other=1.0)
            join._engine.advisor.unit_costs = turned
        tables += [join.push("a", left), join.push("b", right)]
    tables.append(join.finish())
    return pa.concat_tables(tables), join


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("order", [None, "filter-order"])
@pytest.mark.parametrize(
    "on",
    [
        wm.equal("key"),
        wm.overlap("tags", at_least=2),
        wm.subset("tags"),
        wm.cosine(items="tags", weights="weights", at_least=0.4),
        wm.overlap("tags", at_least=1) & wm.equal("key"),
    ],
    ids=str,
)
def test_differential_changing_indexes_loses_and_repeats_nothing(on: wm.Predicate, order: Any) -> None:
    expected, plain = run(on, flip=False, order=order, index="scan")
    found, join = run(on, flip=True, order=order)
    assert found.equals(expected)
    assert plain._engine.advisor.changes == []
    changes = join._engine.advisor.changes
    assert len(changes) >= 4
    assert {change.stream for change in changes} == {"a", "b"}
    assert "became scan" in str(join.explain())


@pytest.mark.usefixtures("restless")
def test_a_window_whose_index_was_asked_for_keeps_it() -> None:
    _, join = run(wm.equal("key"), flip=True, index=("hash", "auto"))
    assert {change.stream for change in join._engine.advisor.changes} == {"b"}
    assert join._engine.advisor.index[0] == "hash"


@pytest.mark.usefixtures("restless")
def test_a_restored_join_goes_on_with_the_usual_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advisor, "current_unit_costs", lambda: costs(scan=1.0, other=9.0))
    lefts, rights = batches(1), batches(2)
    join = wm.WindowJoin(wm.Stream("a", window="200us"), wm.Stream("b", window="90us"), on=wm.equal("key"))
    for left, right in zip(lefts[:20], rights[:20], strict=True):
        join.push("a", left)
        join.push("b", right)
    assert join._engine.advisor.index == ["scan", "scan"]
    again = wm.WindowJoin.restore(join.snapshot())
    assert again._engine.advisor.index == ["hash", "hash"]
    for left, right in zip(lefts[20:], rights[20:], strict=True):
        assert again.push("a", left).equals(join.push("a", left))
        assert again.push("b", right).equals(join.push("b", right))


def test_a_failing_push_changes_no_index() -> None:
    join = wm.WindowJoin(wm.Stream("a", window="200us"), wm.Stream("b", window="90us"), on=wm.equal("key"))
    join.push("a", batches(1)[0])
    join.push("b", batches(2)[0])
    before = join.snapshot()
    with pytest.raises(wm.OrderError):
        join.push("a", batches(1)[0])
    assert join.snapshot() == before


def test_explain_tells_predicted_and_measured_cost_of_each_direction() -> None:
    join = wm.WindowJoin(wm.Stream("a", window="200us"), wm.Stream("b", window="90us"), on=wm.equal("key"))
    assert "rates are not known yet" in join.explain(format="text")
    for left, right in zip(batches(1), batches(2), strict=True):
        join.push("a", left)
        join.push("b", right)
    found = json.loads(join.explain(format="json"))
    assert [(each["probing"], each["window"]) for each in found["directions"]] == [("a", "b"), ("b", "a")]
    for each in found["directions"]:
        assert each["predicted_s_per_s"] > 0.0
        assert each["measured_s_per_s"] > 0.0
        assert each["structure"] == "hash"
        assert each["load"]["window_rows"] > 0
    assert str(join.explain()) == join.explain(format="text")
    with pytest.raises(ConfigError, match=r"explain\(format\)='xml': expected 'text' or 'json'"):
        join.explain(format="xml")  # type: ignore[call-overload]


def test_explain_speaks_of_joins_that_the_model_does_not_know() -> None:
    for on in (None, wm.band("key", within=1), wm.where(lambda left, right: left["key"].is_valid())):
        join = wm.WindowJoin(wm.Stream("a", window="9us"), wm.Stream("b", window="9us"), on=on)
        join.push("a", batches(1)[0])
        join.push("b", batches(2)[0])
        assert "scan" in str(join.explain())


@pytest.mark.parametrize("width", [8, 64])
def test_explain_prices_distances_by_the_length_of_vectors_and_functions_without_their_own_time(
    width: int,
) -> None:
    scan = OperationCosts(probe=5.0, row=10.0, word=1.0)
    kinds: tuple[Any, ...] = ("distance/l2", "where")
    prices = UnitCosts({(kind, "scan"): CostCurve.flat(scan) for kind in kinds}, ingest={})
    random = np.random.default_rng(3)

    def rows(seed: int) -> pa.Table:
        batch = batches(seed, rows=60, size=60)[0]
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(random.random(60 * width)), width)
        return pa.table({"ts": batch["ts"], "key": batch["key"], "v": vectors})

    predicted = {}
    far = wm.distance("v", metric="l2", at_most=0.1)
    for on, note in (
        (far, "as if every vector were looked at to its end"),
        (wm.where(lambda left, right: left["key"].is_valid()), "without the function's own time"),
    ):
        join = wm.WindowJoin(wm.Stream("a", window="1s"), wm.Stream("b", window="1s"), on=on)
        join._engine.advisor.unit_costs = prices
        for name, seed in (("a", 1), ("b", 2)):
            join.push(name, rows(seed))
        assert note in str(join.explain())
        direction = json.loads(join.explain(format="json"))["directions"][1]
        met = direction["load"]["met_rows"] * direction["load"]["probing_rate"] * 1e-9
        predicted[str(on)] = (direction["predicted_s_per_s"] - 5e-9 * direction["load"]["probing_rate"]) / met
    assert list(predicted.values()) == [pytest.approx(10.0 + width), pytest.approx(10.0)]


def evenly(rows: int, *, start: int, step: int, seed: int) -> pa.RecordBatch:
    keys = np.random.default_rng(seed).integers(0, 5_000, rows)
    return pa.record_batch({"ts": pa.array(start + step * np.arange(rows)), "key": pa.array(keys)})


def test_the_first_look_decides_and_judges_a_window_by_what_probes_meet_of_it() -> None:
    """Batches of 6,000 us take turns: rows of b meet the windows, rows of a find next to nothing of b."""
    join = wm.WindowJoin(
        wm.Stream("a", window="2ms"), wm.Stream("b", window="50us"), on=wm.equal("key"), output="rows"
    )
    join._engine.advisor.unit_costs = UnitCosts()
    for turn in range(3):
        join.push("a", evenly(6_000, start=6_000 * turn, step=1, seed=turn))
        join.push("b", evenly(6_000, start=6_000 * turn, step=1, seed=100 + turn))
    (change,) = join._engine.advisor.changes
    assert (change.stream, change.index) == ("b", "scan")
    assert change.at_s == pytest.approx(0.006, rel=0.01)
    assert join._engine.advisor.index == ["hash", "scan"]


def test_a_window_that_will_grow_is_judged_by_its_size_when_full() -> None:
    join = wm.WindowJoin(wm.Stream("a", window="10s"), wm.Stream("b", window="10s"), on=wm.equal("key"))
    join._engine.advisor.unit_costs = UnitCosts()
    for turn in range(8):
        join.push("a", evenly(3_000, start=3_000 * turn, step=1, seed=turn))
        join.push("b", evenly(3_000, start=3_000 * turn, step=1, seed=100 + turn))
    assert join._engine.advisor.changes == []


@pytest.mark.parametrize(
    ("begin", "end", "fill"), [(0, 5, 0.25), (0, 20, 0.75), (10, 20, 1.0), (5, 15, 0.875)]
)
def test_how_full_a_window_of_ten_seconds_was(begin: float, end: float, fill: float) -> None:
    assert advisor._mean_fill(begin, end, 10.0) == pytest.approx(fill)


def test_a_scan_that_compares_far_more_than_foreseen_is_looked_at_at_once() -> None:
    """While large batches take turns a finds little of b; then they become small, and a meets all of it."""
    join = wm.WindowJoin(
        wm.Stream("a", window="1ms"), wm.Stream("b", window="3ms"), on=wm.equal("key"), output="rows"
    )
    adviser = join._engine.advisor
    adviser.unit_costs = UnitCosts()
    for turn in range(6):
        for name, seed in (("a", 0), ("b", 100)):
            join.push(name, evenly(60_000, start=60_000 * turn, step=1, seed=seed + turn))
    assert adviser.index[1] == "scan"
    for turn in range(600):
        for name, seed in (("a", 200), ("b", 600)):
            join.push(name, evenly(100, start=360_000 + 100 * turn, step=1, seed=seed + turn))
        if adviser.index[1] == "hash":
            break
    assert adviser.index[1] == "hash"
    assert adviser._times.rows < 850_000, "by the rows alone, the next look would come after a million"
    assert [change.index for change in adviser.changes if change.stream == "b"] == ["scan", "hash"]
