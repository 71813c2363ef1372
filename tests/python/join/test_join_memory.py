"""A memory limit is kept after every call, costs only results, and says how many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.join.memory import keeper
from watersmeet.testing import gedik_streams

LIMIT = 1 << 19
TIGHT = 5 << 16


def _batches(
    seed: int, *, steps: int = 40, rows: int = 80, keys: int = 60, pad: int = 120, jitter: int = 0
) -> Iterator[tuple[str, pa.Table]]:
    """Seconds of two streams with string keys, some hot, and strings of up to `pad` characters beside."""
    rng = np.random.default_rng(seed)
    first = {"a": 0, "b": 0}
    for step in range(steps):
        for name in "ab":
            count = int(rng.integers(1, 2 * rows))
            ts = np.sort(rng.integers(step * 1_000_000, (step + 1) * 1_000_000, count))
            if jitter:
                ts = ts + rng.integers(-jitter, 1, count)
            key = np.minimum(rng.integers(0, keys, count), rng.integers(0, keys, count))
            ids = np.arange(first[name], first[name] + count)
            first[name] += count
            text = [f"{value:03d}" + "-" * int(pad * 0.5) for value in key]
            note = ["n" * int(length) for length in rng.integers(0, pad, count)]
            columns = {"ts": ts, "id": ids, "k": text, "number": key, "note": note}
            yield name, pa.table(columns)


def _join(**options: Any) -> wm.WindowJoin:
    lateness = options.pop("lateness", None)
    window = options.pop("window", "10s")
    streams = (wm.Stream(name, window=window, lateness=lateness) for name in "ab")
    return wm.WindowJoin(*streams, **{"on": wm.equal("k"), "output": "columns", **options})


def _pairs(table: pa.Table) -> npt.NDArray[np.int64]:
    if table.num_rows == 0:
        return np.empty(0, np.int64)
    return np.asarray(table["id"].to_numpy() * (1 << 32) + table["id_right"].to_numpy())


def _run(join: wm.WindowJoin, batches: Iterator[tuple[str, pa.Table]], limit: int) -> npt.NDArray[np.int64]:
    """Push everything; after every call the limit holds and the counters balance. Gives all pairs found."""
    found = []
    for name, table in batches:
        found.append(_pairs(join.push(name, table)))
        metrics = join.metrics
        assert metrics.memory_bytes <= limit
        for direction in metrics.directions:
            assert direction.due == direction.done + direction.shed + direction.lost
    found.append(_pairs(join.finish()))
    pairs = np.concatenate(found)
    assert len(np.unique(pairs)) == len(pairs), "a pair came out twice"
    return pairs


CASES: list[dict[str, Any]] = [
    {},
    {"index": "scan"},
    {"order": "filter-order"},
    {"order": "sync-filter"},
    {"order": wm.AdaptiveOrder(period="1s")},
    {"lateness": "2s"},
    {"lateness": "2s", "order": "filter-order"},
    {"window": "700i"},
    {"expiry": "lazy", "basic_window": "1s"},
    {"on": wm.band("number", within=0)},
    {"on": wm.overlap("k", at_least=1)},
    {"on": wm.equal("k") & wm.where(lambda own, other: np.ones(own.num_rows, bool))},
    {"shed": wm.Shed(wm.comparisons(1e9), policy="gedik")},
    {"shed": wm.Shed(wm.comparisons(1e9), policy="content")},
    {"shed": wm.Shed(wm.comparisons(20_000), policy="density")},
]


@pytest.mark.parametrize("options", CASES, ids=lambda case: ",".join(map(str, case)) or "plain")
@pytest.mark.parametrize("seed", [1, 2])
def test_oracle_limit_holds_after_every_push_and_results_are_a_subset(
    options: dict[str, Any], seed: int
) -> None:
    jitter = 1_500_000 if "lateness" in options else 0
    exact = {name: value for name, value in options.items() if name != "shed"}
    full = _run(_join(**exact), _batches(seed, jitter=jitter), 1 << 40)
    join = _join(memory_limit=TIGHT, **options)
    kept = _run(join, _batches(seed, jitter=jitter), TIGHT)
    assert np.isin(kept, full).all()
    assert 0 < len(kept) < len(full)
    assert sum(stream.evicted_rows + stream.dropped_rows for stream in join.metrics.streams) > 0
    assert join.metrics.recall.value < 1.0


@pytest.mark.parametrize("options", CASES[:12], ids=lambda case: ",".join(map(str, case)) or "plain")
def test_differential_enough_memory_gives_the_full_answer(options: dict[str, Any]) -> None:
    jitter = 1_500_000 if "lateness" in options else 0
    full = _run(_join(**options), _batches(3, jitter=jitter), 1 << 40)
    join = _join(memory_limit="64MiB", **options)
    assert np.array_equal(np.sort(_run(join, _batches(3, jitter=jitter), 1 << 26)), np.sort(full))
    assert join.metrics.recall.is_exact
    assert sum(stream.evicted_rows for stream in join.metrics.streams) == 0


@pytest.mark.parametrize("seed", range(6))
def test_recall_interval_holds_the_share_that_came_out(seed: int) -> None:
    full = _run(_join(), _batches(seed, steps=60, keys=400), 1 << 40)
    join = _join(memory_limit="600KiB")
    kept = _run(join, _batches(seed, steps=60, keys=400), 600 << 10)
    recall = join.metrics.recall
    assert recall.low <= len(kept) / len(full) <= recall.high
    assert recall.value == pytest.approx(len(kept) / len(full), rel=0.25)


@pytest.mark.parametrize("how", ["inner", "left", "full", "anti"])
def test_raise_refuses_the_batch_takes_nothing_and_goes_on(how: str) -> None:
    join = _join(how=how, memory_limit=LIMIT, on_memory="raise", window="3s", index="hash")
    reference = _join(how=how, window="3s")
    refused, given, expected = 0, [], []
    for number, (name, table) in enumerate(_batches(4, rows=60)):
        if number % 7 == 3:
            large = pa.concat_tables([table.slice(table.num_rows - 1)] * 9000)
            before = join.snapshot()
            with pytest.raises(wm.MemoryLimitError, match=f"stream '{name}': a batch of 9,000 rows"):
                join.push(name, large)
            assert join.snapshot() == before
            assert join.metrics.memory_bytes <= LIMIT
            refused += 1
        given.append(join.push(name, table))
        expected.append(reference.push(name, table))
        assert join.metrics.memory_bytes <= LIMIT
    given.append(join.finish())
    expected.append(reference.finish())
    assert refused > 3
    assert [table.num_rows for table in given] == [table.num_rows for table in expected]
    assert all(one.equals(two) for one, two in zip(given, expected, strict=True))
    assert join.metrics.recall.is_exact


@pytest.mark.parametrize("how", ["left", "right", "full", "semi", "anti"])
def test_joins_that_report_unmatched_rows_may_not_shrink(how: Any) -> None:
    with pytest.raises(wm.ConfigError, match=f"how='{how}'.*on_memory='raise'"):
        _join(how=how, memory_limit="1GiB")
    with pytest.raises(wm.ConfigError, match="on_memory='grow'"):
        _join(memory_limit="1GiB", on_memory="grow")


def test_batch_that_alone_is_over_the_limit_is_thinned_evenly_and_counted() -> None:
    rng = np.random.default_rng(5)
    join = _join(memory_limit=LIMIT, output="rows")
    small = pa.table({"ts": np.arange(100) * 1000, "k": [f"{n % 10}" for n in range(100)]})
    count = 20_000
    keys = rng.integers(0, 10, count)
    large = pa.table({"ts": np.arange(count) * 5, "k": [f"{key}" for key in keys]})
    join.push("a", small)
    out = join.push("b", large)
    metrics = join.metrics
    dropped = metrics.stream("b").dropped_rows
    assert 0 < dropped < count
    assert metrics.stream("b").rows == count
    assert metrics.memory_bytes <= LIMIT
    pairs = list(zip(out["left_row"].to_pylist(), out["right_row"].to_pylist(), strict=True))
    assert pairs
    assert all(left % 10 == keys[right] for left, right in pairs), "row numbers are those of the user"
    taken = np.unique([right for _, right in pairs])
    gaps = np.diff(taken)
    assert gaps.min() >= count // (count - dropped), "the rows taken are spread over the batch"
    # What was not taken in is owed by both directions.
    assert metrics.directions[1].lost == pytest.approx(dropped * 100, rel=0.05)
    lost = metrics.directions[0].lost
    join.push("a", pa.table({"ts": [100_000], "k": ["3"]}))
    assert join.metrics.directions[0].lost - lost >= dropped
    assert join.metrics.recall.value < 0.9


def test_differential_thinned_and_shrunk_join_goes_on_from_its_snapshot() -> None:
    batches = list(_batches(6))
    join = _join(memory_limit=LIMIT, output="rows")
    for name, table in batches[:40]:
        join.push(name, table)
    large = pa.concat_tables([batches[40][1].slice(0, 1)] * 5000)
    join.push(batches[40][0], large)
    again = wm.WindowJoin.restore(join.snapshot())
    assert again.snapshot() == join.snapshot()
    for name, table in batches[41:]:
        assert again.push(name, table).equals(join.push(name, table))
    assert again.metrics == join.metrics
    assert again.finish().equals(join.finish())


def test_interned_strings_of_rows_given_up_are_given_back() -> None:
    join = _join(memory_limit="1MiB", output="rows", window="1h")
    for step in range(40):
        ts = np.arange(200) + step * 1000
        keys = [f"{step}-{n}-" + "x" * 400 for n in range(200)]
        for name in "ab":
            join.push(name, pa.table({"ts": ts, "k": keys}))
            assert join.metrics.memory_bytes <= 1 << 20
    assert join.metrics.stream("a").evicted_rows > 4_000


def test_slices_of_a_large_table_do_not_keep_it_alive() -> None:
    big = pa.table({"ts": np.arange(20_000), "k": np.arange(20_000) % 7, "note": ["z" * 500] * 20_000})
    join = _join(memory_limit="2MiB", window="1ms")
    before = pa.total_allocated_bytes()
    for start in range(0, 20_000, 100):
        join.push("a", big.slice(start, 100))
    held = [block.columns[0] for block in join._engine.setup.stores[0]._blocks._blocks]  # type: ignore[union-attr]
    assert sum(column.get_total_buffer_size() for column in held) <= 2 << 20
    assert pa.total_allocated_bytes() - before <= 2 << 20


def test_late_rows_nobody_fetches_are_bounded() -> None:
    streams = (wm.Stream(name, window="1s", lateness="1s", on_late="keep") for name in "ab")
    join = wm.WindowJoin(*streams, on=wm.equal("k"), memory_limit=LIMIT)
    for step in range(40):
        join.push("a", pa.table({"ts": [100_000_000 + step * 3_000_000], "k": ["new"], "note": [""]}))
        join.push("a", pa.table({"ts": [0] * 50, "k": ["old"] * 50, "note": ["x" * 400] * 50}))
        assert join.metrics.memory_bytes <= LIMIT
    assert join.metrics.stream("a").late_rows == 2000
    assert 0 < join.late("a").num_rows < 2000


def test_one_call_join_keeps_its_limit_and_says_what_it_cost() -> None:
    left, right = gedik_streams(3, kappa=0.6, rate=60, seconds=60)
    predicate = wm.overlap("items", at_least=2)
    full = wm.join(left, right, on=predicate, window="20s", output="rows")
    roomy = wm.join(left, right, on=predicate, window="20s", output="rows", memory_limit="64MiB")
    tight = wm.join(left, right, on=predicate, window="20s", output="rows", memory_limit="300KiB")
    assert roomy.equals(full)
    assert roomy.schema.metadata[b"watersmeet.recall"] == b"1 (exact)"
    rows = set(zip(*tight.to_pydict().values(), strict=True))
    assert 0 < len(rows) < full.num_rows
    assert rows <= set(zip(*full.to_pydict().values(), strict=True))
    share = float(tight.schema.metadata[b"watersmeet.recall"].split()[0])
    assert share == pytest.approx(len(rows) / full.num_rows, rel=0.3)
    with pytest.raises(wm.MemoryLimitError, match="on_memory='shrink'"):
        wm.join(left, right, on=predicate, window="20s", memory_limit="300KiB", on_memory="raise")


def test_window_of_the_slower_stream_is_kept_longer() -> None:
    """[Kang] 4.3: a row kept of the slower stream is met by more rows."""
    rng = np.random.default_rng(8)
    join = _join(memory_limit=LIMIT, window="100s", output="rows")
    for step in range(120):
        for name, rate in (("a", 20), ("b", 200)):
            ts = step * 1_000_000 + np.sort(rng.integers(0, 1_000_000, rate))
            join.push(name, pa.table({"ts": ts, "k": rng.integers(0, 500, rate)}))
    streams = join.metrics.streams
    seconds = [stream.window_rows / rate for stream, rate in zip(streams, (20, 200), strict=True)]
    assert seconds[0] > 90.0
    assert seconds[1] < 40.0


def test_rows_at_an_age_that_never_matches_are_given_up_first() -> None:
    """Only pairs up to 2 s apart match on the left; the right window matches at every age."""
    rng = np.random.default_rng(9)
    join = _join(memory_limit=LIMIT, window="30s", output="rows")
    for step in range(90):
        ts = step * 1_000_000 + np.arange(100) * 10_000
        recent = np.where(rng.random(100) < 0.5, step, step - 1)
        join.push("a", pa.table({"ts": ts, "k": recent + 1_000 * rng.integers(1, 20, 100)}))
        join.push("b", pa.table({"ts": ts, "k": recent + 1_000 * rng.integers(1, 20, 100)}))
    kept = [stream.window_rows / 100 for stream in join.metrics.streams]
    assert min(kept) > 1.5, "rows of either stream are kept while they match"
    assert join.metrics.recall.value > 0.95


def test_regulation_thins_the_faster_stream_beyond_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """[Kang] 4.2: where rows must be dropped at all, both streams share what is let in."""

    def kept() -> tuple[float, float]:
        join = _join(memory_limit="1MiB", output="rows", window="2s")
        rows = {"a": 5_000, "b": 20_000}
        for second in range(4):
            for name, count in rows.items():
                ts = second * 1_000_000 + np.arange(count) * (1_000_000 // count)
                join.push(name, pa.table({"ts": ts, "k": np.arange(count) % 5_000}))
                assert join.metrics.memory_bytes <= 1 << 20
        shares = [1.0 - stream.dropped_rows / stream.rows for stream in join.metrics.streams]
        return shares[0], shares[1]

    slow, fast = kept()
    monkeypatch.setattr(keeper, "regulate", lambda rates, *_, **__: rates)
    slow_alone, fast_alone = kept()
    assert fast < 0.8 * fast_alone
    assert slow == pytest.approx(slow_alone, rel=0.2)
    assert slow > fast


@pytest.mark.parametrize(
    "options",
    [{"order": wm.AdaptiveOrder()}, {"order": "filter-order"}, {"order": "sync-filter", "lateness": "300ms"}],
    ids=str,
)
def test_results_found_at_once_shrink_the_windows_before_a_batch_is_refused(options: dict[str, Any]) -> None:
    limit, rng = 1 << 18, np.random.default_rng(5)
    join, found = _join(memory_limit=limit, window="3s", **options), 0
    for step in range(50):  # a batch meets thousands of rows, and a tenth of them match
        for name in "ab":
            ids = np.arange(step * 100, step * 100 + 100)
            rows = {"ts": ids * 1_000, "id": ids, "k": rng.integers(0, 10, 100)}
            found += join.push(name, pa.table(rows)).num_rows
            assert join.metrics.memory_bytes <= limit
    metrics = join.metrics
    assert found > 10_000
    assert metrics.recall.low <= sum(each.done for each in metrics.directions) / sum(
        each.due for each in metrics.directions
    )
    join.finish()
    assert join.metrics.memory_bytes <= limit


def test_rows_of_which_none_fits_are_owed_for() -> None:
    join = _join(memory_limit="256KiB", window="10s")
    for step in range(4):
        for name in "ab":
            ids = np.arange(3) + 3 * step
            note = ["x" * (1 << 20)] * 3
            join.push(name, pa.table({"ts": ids * 1_000_000, "id": ids, "k": ids % 2, "note": note}))
    metrics = join.metrics
    assert [stream.dropped_rows for stream in metrics.streams] == [12, 12]
    lost, due = (sum(getattr(each, name) for each in metrics.directions) for name in ("lost", "due"))
    assert lost == due == pytest.approx(12 * 12 - 2, rel=0.1)  # all but two pairs are within ten seconds
    assert not metrics.recall.is_exact


def test_recall_knows_rows_that_match_young_in_a_window_far_longer_than_they_match() -> None:
    join, found = _join(memory_limit="1MiB", window="100s"), 0
    for step in range(60):  # every row has one partner, a millisecond away
        for name in "ab":
            ids = np.arange(20) + 20 * step
            keys = [f"{number:06d}".ljust(5_000, "-") for number in ids]
            found += join.push(name, pa.table({"ts": ids * 1_000, "id": ids, "k": keys})).num_rows
    metrics = join.metrics
    assert sum(each.lost for each in metrics.directions) > 10 * sum(each.done for each in metrics.directions)
    assert metrics.recall.value == pytest.approx(found / 1_200, abs=0.03)
    assert metrics.recall.low > 0.5


def test_a_row_that_is_late_by_one_not_taken_is_late_all_the_same() -> None:
    rng = np.random.default_rng(2)
    joins = [_join(lateness="1s", window="100s", **more) for more in ({}, {"memory_limit": 1 << 19})]
    found: list[list[npt.NDArray[np.int64]]] = [[], []]
    for step in range(8):  # one batch of three is far over half of the limit, and rows come in any order
        for name in "ab":
            ids = np.arange(200) + 200 * step
            ts = step * 1_000_000 + rng.integers(0, 4_000_000, 200)
            note = ["n" * (9_000 if step % 3 == 1 else 5)] * 200
            table = pa.table({"ts": ts, "id": ids, "k": ids % 7, "note": note})
            for join, own in zip(joins, found, strict=True):
                own.append(_pairs(join.push(name, table)))
    for join, own in zip(joins, found, strict=True):
        own.append(_pairs(join.finish()))
    full, kept = (np.concatenate(own) for own in found)
    assert joins[1].metrics.streams[0].dropped_rows > 100
    assert 0 < len(kept) < len(full)
    assert np.isin(kept, full).all()


@pytest.mark.parametrize("on_memory", ["raise", "shrink"])
def test_memory_of_results_given_back_is_given_back(on_memory: Any) -> None:
    limit = 1 << 20
    join = _join(order="sync-filter", memory_limit=limit, on_memory=on_memory)
    for name, start in (("a", 0), ("b", 500_000)):  # rows of b wait for a to come so far
        ids = np.arange(700)
        join.push(name, pa.table({"ts": start + ids, "id": ids, "k": ids % 2}))
        assert join.metrics.memory_bytes <= limit
    assert join.finish().num_rows > 100_000
    assert join.metrics.memory_bytes <= limit
