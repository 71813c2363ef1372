"""Joins that shed: sound, equal to the exact join when nothing need be shed, the same for any batching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import watersmeet as wm
from watersmeet.testing import band_stream, gedik_streams, keyed_stream, set_stream, weighted_stream

POLICIES = ("gedik", "density", "content", "random-drop", "auto")
PLENTY = 1e12


def _same_key(left: pa.Table, right: pa.Table) -> Any:
    return pc.equal(left["key"], right["key"])


def streams_of(kind: str) -> tuple[pa.Table, pa.Table, Any, tuple[str, ...]]:
    """A pair of streams in ms, a predicate, and the indexes that serve it."""
    sets = ("scan", "inverted", "inverted-by-id")
    make: Any = {
        "equal": (keyed_stream, {"keys": 12}, wm.equal("key"), ("scan", "hash")),
        "overlap": (set_stream, {"items": 12}, wm.overlap("tags", at_least=2), sets),
        "jaccard": (set_stream, {"items": 9}, wm.jaccard("tags", at_least=0.5), sets),
        "subset": (set_stream, {"items": 9}, wm.subset("tags"), sets),
        "superset": (set_stream, {"items": 9}, wm.superset("tags"), sets),
        "same_set": (set_stream, {"items": 4}, wm.same_set("tags"), sets),
        "dot": (weighted_stream, {}, wm.dot(items="kw", weights="w", at_least=1.5), sets[:2]),
        "cosine": (weighted_stream, {}, wm.cosine(items="kw", weights="w", at_least=0.7), sets[:2]),
        "band": (band_stream, {}, wm.band("price", within=1), ("scan",)),
        "where": (keyed_stream, {"keys": 12}, wm.where(_same_key), ("scan",)),
        "conjunction": (
            keyed_stream, {"keys": 8}, wm.equal("key") & wm.band("value", within=40), ("scan", "hash"),
        ),
    }[kind]  # fmt: skip
    draw, settings, on, indexes = make
    left, right = (
        draw(seed, 700, span=30_000, null_share=0.0 if kind == "conjunction" else 0.03, **settings)
        for seed in (5, 6)
    )
    return left, right, on, indexes


def join_of(on: Any, *, shed: wm.Shed | None, index: str, **settings: Any) -> wm.WindowJoin:
    left, right = (wm.Stream(name, window="4s", time_unit="ms", **settings) for name in ("a", "b"))
    return wm.WindowJoin(
        left, right, on=on, basic_window="500ms", shed=shed, index=index, output="rows", seed=11
    )


def fed(join: wm.WindowJoin, tables: tuple[pa.Table, pa.Table], cuts: Sequence[int]) -> list[tuple[int, int]]:
    """Push both streams, cut into batches of these sizes in turn; the pairs in the order they came."""
    starts, turn, outs = [0, 0], 0, []
    while starts[0] < tables[0].num_rows or starts[1] < tables[1].num_rows:
        side, size = turn % 2, cuts[turn % len(cuts)]
        outs.append(join.push("ab"[side], tables[side].slice(starts[side], size)))
        starts[side] += size
        turn += 1
    outs.append(join.finish())
    table = pa.concat_tables(outs)
    return list(zip(table["left_row"].to_pylist(), table["right_row"].to_pylist(), strict=True))


def budget(per_second: float, policy: str, **settings: Any) -> wm.Shed:
    return wm.Shed(wm.comparisons(per_second), policy=policy, rate_period="1s", time_period="2s", **settings)


KINDS = (
    "equal", "overlap", "jaccard", "subset", "superset", "same_set", "dot", "cosine", "band", "where",
    "conjunction",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", POLICIES)
def test_shed_results_are_a_subset_without_duplicates_and_plenty_gives_the_exact_join(
    policy: str, kind: str
) -> None:
    left, right, on, indexes = streams_of(kind)
    if policy == "content" and kind in ("band", "where"):
        pytest.skip("cannot be scored")
    for index in indexes:
        whole = fed(join_of(on, shed=None, index=index), (left, right), [64])
        assert len(whole) > 50
        plenty = join_of(on, shed=budget(PLENTY, policy), index=index)
        assert sorted(fed(plenty, (left, right), [37, 80])) == sorted(whole)
        assert plenty.metrics.recall.is_exact
        assert plenty.metrics.recall.value == 1.0
        poor = join_of(on, shed=budget(60.0, policy), index=index)
        some = fed(poor, (left, right), [50, 31])
        assert len(set(some)) == len(some) < len(whole)
        assert set(some) <= set(whole)
        for direction in poor.metrics.directions:
            assert direction.due == direction.done + direction.shed


@pytest.mark.parametrize("kind", ["equal", "overlap", "dot", "band"])
@pytest.mark.parametrize("policy", POLICIES)
def test_budget_of_the_busiest_half_second_gives_the_exact_join(policy: str, kind: str) -> None:
    left, right, on, _ = streams_of(kind)
    if policy == "content" and kind == "band":
        pytest.skip("a band cannot be scored")
    due = [np.zeros(120) for _ in "ab"]  # comparisons by the half second in which their later row comes
    times = [table["ts"].to_numpy() for table in (left, right)]
    for side, (own, other) in enumerate((times, times[::-1])):
        met = np.searchsorted(other, own, "right") - np.searchsorted(other, own - 4_000, "left")
        np.add.at(due[side], own // 500, met)
    need = 2 * float((due[0] + due[1]).max())
    whole = fed(join_of(on, shed=None, index="scan"), (left, right), [64])
    enough = join_of(on, shed=budget(need, policy), index="scan")
    assert sorted(fed(enough, (left, right), [50, 31])) == sorted(whole)
    assert enough.metrics.recall.is_exact
    short = join_of(on, shed=budget(need / 8, policy), index="scan")
    assert len(fed(short, (left, right), [50, 31])) < len(whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", POLICIES)
def test_answer_is_the_same_for_any_batching_with_every_index(policy: str, kind: str) -> None:
    if policy == "content" and kind in ("band", "where"):
        pytest.skip("cannot be scored")
    left, right, on, indexes = streams_of(kind)
    for index in indexes:
        runs = []
        for cuts in ([700], [1], [13, 200, 7]):
            join = join_of(on, shed=budget(100.0, policy), index=index)
            runs.append((fed(join, (left, right), cuts), join.metrics.recall, join.metrics.directions))
        assert runs[0] == runs[1] == runs[2], index
        assert len(runs[0][0]) > (5 if index == indexes[0] else 0)


@pytest.mark.parametrize("index", ["inverted", "inverted-by-id"])
@pytest.mark.parametrize("policy", ["density", "content"])
def test_rows_that_have_yet_to_expire_cost_nothing_however_the_input_is_cut(policy: str, index: str) -> None:
    """Which merge is cheapest, and what it reads, must not follow from when a batch lets rows expire."""
    tables = gedik_streams(5, 0.7, 200.0, 20.0, cycle=10.0)
    runs = []
    for cuts in ([4_000], [1_000], [61]):
        streams = (wm.Stream(name, window="5s") for name in ("a", "b"))
        shed = budget(20_000.0, policy)
        join = wm.WindowJoin(
            *streams,
            on=wm.overlap("items", at_least=3),
            basic_window="1s",
            shed=shed,
            index=index,  # type: ignore[arg-type]
            output="rows",
        )
        runs.append((fed(join, tables, cuts), join.metrics.directions))
    assert runs[0] == runs[1] == runs[2]
    assert len(runs[0][0]) > 1_000


@pytest.mark.parametrize("policy", ["auto", "density", "gedik"])
def test_answer_is_the_same_for_any_batching_where_probes_read_bitmaps(policy: str) -> None:
    tables = gedik_streams(12, 0.7, 300.0, 12.0, cycle=8.0)
    runs = []
    for cuts in ([4000], [97, 300]):
        join = wm.WindowJoin(
            *(wm.Stream(name, window="4s") for name in ("a", "b")),
            on=wm.overlap("items", at_least=3),
            basic_window="1s",
            shed=budget(20_000, policy),
            index="inverted",
            output="rows",
        )
        runs.append((fed(join, tables, cuts), join.metrics.recall, join.metrics.directions))
    assert runs[0] == runs[1]
    assert len(runs[0][0]) > 100


@pytest.mark.parametrize("policy", ["gedik", "density", "content"])
@pytest.mark.parametrize("per_second", [1.0, 20.0])
def test_tiny_budget_does_not_claim_the_whole_answer(policy: str, per_second: float) -> None:
    tables = gedik_streams(1, 0.7, 20.0, 30.0)
    settings = {"adapt": "rate"} if policy == "gedik" else {}
    join = wm.WindowJoin(
        *(wm.Stream(name, window="10s") for name in ("a", "b")),
        on=wm.overlap("items", at_least=2),
        shed=wm.Shed(wm.comparisons(per_second), policy=policy, **settings),  # type: ignore[arg-type]
        index="scan",
        output="rows",
    )
    fed(join, tables, [60])
    for recall in (join.metrics.recall, *(direction.recall for direction in join.metrics.directions)):
        assert recall.value < 0.05
        assert recall.low <= recall.value < recall.high


@pytest.mark.parametrize(("policy", "longest_s"), [("gedik", 10.0), ("density", 10.0)])
def test_where_rows_are_rare_a_period_is_as_long_as_the_room_and_no_longer(
    policy: str, longest_s: float
) -> None:
    tables = gedik_streams(1, 0.7, 2.0, 200.0)  # 32 rows take 8 s
    join = wm.WindowJoin(
        *(wm.Stream(name, window="40s") for name in ("a", "b")),
        on=wm.overlap("items", at_least=2),
        shed=wm.Shed(wm.comparisons(60.0), policy=policy),  # type: ignore[arg-type]
        index="scan",
    )
    for name, table in zip("ab", tables, strict=True):
        join.push(name, table.slice(0, 0))
    periods = join._engine.setup.core.history = []
    for name, table in zip("ab", tables, strict=True):
        join.push(name, table)
    join.finish()
    spans = [period["elapsed_s"] for period in periods]
    assert 4.0 < np.median(spans) <= max(spans[2:]) <= longest_s


def test_answer_is_the_same_for_any_batching_with_late_rows_and_arrivals() -> None:
    left, right, on, _ = streams_of("overlap")
    left = left.take(pa.array(np.argsort(np.arange(700) + np.random.default_rng(1).integers(0, 4, 700))))
    runs = []
    for cuts in ([700], [1], [29]):
        join = join_of(on, shed=budget(100.0, "density"), index="scan", lateness="1s")
        found, metrics = fed(join, (left, right), cuts), join.metrics
        # When batches come decides how long results took, and nothing else.
        runs.append((found, metrics.recall, metrics.directions, metrics.streams))
    assert runs[0] == runs[1] == runs[2]
    shifted = join_of(on, shed=budget(1e9, "density"), index="scan")
    pairs = []
    for start in range(0, 700, 50):
        for name, table in (("a", left.sort_by("ts")), ("b", right)):
            at = float(pc.max(table["ts"]).as_py() / 1000) if name == "b" else None
            pairs += shifted.push(name, table.slice(start, 50), at=at).to_pylist()
    pairs += shifted.finish().to_pylist()
    exact = fed(join_of(on, shed=None, index="scan"), (left.sort_by("ts"), right), [90])
    assert sorted((p["left_row"], p["right_row"]) for p in pairs) == sorted(exact)


def test_seed_decides_which_probes_are_full() -> None:
    left, right, on, _ = streams_of("overlap")
    found = []
    for seed in (1, 1, 2):
        streams = (wm.Stream(name, window="4s", time_unit="ms") for name in ("a", "b"))
        shed = budget(100.0, "density")
        join = wm.WindowJoin(*streams, on=on, basic_window="500ms", shed=shed, output="rows", seed=seed)
        found.append(fed(join, (left, right), [100]))
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("policy", ["gedik", "density", "content"])
def test_fraction_recovers_after_a_burst_and_never_sticks_at_zero(policy: str) -> None:
    profile = [(6.0, 20.0), (8.0, 1500.0), (30.0, 20.0)]
    left, right = gedik_streams(3, 0.6, profile=profile, cycle=8.0)
    streams = (wm.Stream(name, window="4s") for name in ("a", "b"))
    shed = wm.Shed(wm.comparisons(6_000), policy=policy, rate_period="1s", time_period="1s")
    join = wm.WindowJoin(
        *streams,
        on=wm.overlap("items", at_least=2),
        basic_window="1s",
        shed=shed,
        index="scan",
        output="rows",
    )
    for start in range(0, left.num_rows, 500):
        join.push("a", left.slice(start, 500))
        join.push("b", right.slice(start, 500))
    middle = [direction.shed for direction in join.metrics.directions]
    assert sum(middle) > 0
    join.finish()
    assert [min(d.plan_fractions.values()) for d in join.metrics.directions] == [1.0, 1.0]
    assert [stream.dropped_rows for stream in join.metrics.streams] == [0, 0]


def test_index_that_cannot_be_cut_by_time_does_not_starve() -> None:
    left, right = gedik_streams(3, 0.6, 60.0, 40.0, cycle=8.0)
    streams = (wm.Stream(name, window="8s") for name in ("a", "b"))
    on = wm.overlap("items", at_least=2)
    shed = wm.Shed(wm.comparisons(3_000), policy="density")
    join = wm.WindowJoin(*streams, on=on, shed=shed, index="inverted-by-id", merge="heap", output="rows")
    late = 0
    for start in range(0, left.num_rows, 200):
        results = (
            join.push("a", left.slice(start, 200)).num_rows + join.push("b", right.slice(start, 200)).num_rows
        )
        late += results if start > 1200 else 0
    assert late > 100
    assert max(max(d.plan_fractions.values()) for d in join.metrics.directions) > 0.01


@pytest.mark.parametrize("policy", POLICIES)
def test_restored_join_goes_on_as_the_original(policy: str) -> None:
    left, right, on, _ = streams_of("dot")
    join = join_of(on, shed=budget(100.0, policy), index="scan")
    for start in range(0, 400, 57):
        join.push("a", left.slice(start, min(57, 400 - start)))
        join.push("b", right.slice(start, min(57, 400 - start)))
    twin = wm.WindowJoin.restore(join.snapshot())
    rest = (left.slice(400), right.slice(400))
    assert fed(join, rest, [40]) == fed(twin, rest, [71])
    assert join.metrics == twin.metrics


def test_where_function_that_fails_changes_nothing() -> None:
    left, right, _, _ = streams_of("equal")
    is_broken = False

    def same(one: pa.Table, two: pa.Table) -> Any:
        if is_broken:
            raise ValueError("not today")
        return pc.equal(one["key"], two["key"])

    def live() -> wm.WindowJoin:
        return join_of(wm.where(same), shed=budget(2_000.0, "auto"), index="scan")

    expected = fed(live(), (left, right), [60])
    join, found = live(), []
    for start in range(0, 700, 60):
        for name, table in (("a", left), ("b", right)):
            is_broken = start > 100
            if is_broken:
                before = join.metrics
                try:
                    out = join.push(name, table.slice(start, 60))
                except ValueError:
                    assert join.metrics == before
                    is_broken = False
                    out = join.push(name, table.slice(start, 60))
            else:
                out = join.push(name, table.slice(start, 60))
            found += out.to_pylist()
    is_broken = False
    found += join.finish().to_pylist()
    assert [(row["left_row"], row["right_row"]) for row in found] == expected
    assert 0.0 < join.metrics.recall.value < 1.0


def test_worth_more_is_shed_less() -> None:
    left, right = gedik_streams(9, 0.6, 200.0, 30.0, cycle=8.0, type_shares={"news": 0.3, "ads": 0.7})
    for policy in ("gedik", "density"):
        shed = budget(30_000, policy, utility={"news": 1.0, "ads": 0.1})
        streams = (wm.Stream(name, window="4s", type="type") for name in ("a", "b"))
        join = wm.WindowJoin(
            *streams, on=wm.overlap("items", at_least=3), shed=shed, index="scan", output="rows"
        )
        for start in range(0, left.num_rows, 1000):
            join.push("a", left.slice(start, 1000))
            join.push("b", right.slice(start, 1000))
        join.finish()
        for direction in join.metrics.directions:
            assert direction.fractions["news"] > direction.fractions["ads"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"how": "left"}, "how='left' with shed="),
        ({"shed": wm.Shed(wm.per_batch("2s"))}, "Spark"),
        ({"shed": "fast"}, "shed='fast'"),
        ({"shed": wm.Shed(wm.comparisons(10), utility={"x": 1.0})}, "no type= column"),
        ({"basic_window": "1us"}, "basic windows"),
    ],
)
def test_what_does_not_go_with_shedding_is_refused(settings: dict[str, Any], message: str) -> None:
    settings = {"shed": wm.Shed(wm.comparisons(10.0)), **settings}
    window = settings.pop("window", "4s")
    streams = (wm.Stream(name, window=window) for name in ("a", "b"))
    with pytest.raises(wm.ConfigError, match=message):
        wm.WindowJoin(*streams, on=wm.equal("key"), **settings).push("a", pa.table({"ts": [1], "key": [1]}))


def test_band_cannot_be_scored() -> None:
    left, right, on, _ = streams_of("band")
    with pytest.raises(wm.ConfigError, match="content"):
        fed(join_of(on, shed=budget(10.0, "content"), index="scan"), (left, right), [10])


@pytest.mark.parametrize("policy", ["gedik", "density"])
def test_stream_of_rare_rows_spends_its_budget(policy: str) -> None:
    rows, window_s = 1500, 200.0
    rng = np.random.default_rng(3)
    tables = [
        pa.table({"ts": np.cumsum(rng.exponential(2e6, rows)).astype("datetime64[us]"), "key": keys})
        for keys in (rng.integers(0, 20, rows), rng.integers(0, 20, rows))
    ]
    per_second = 0.1 * 2 * 0.5**2 * window_s  # a row of each stream in two seconds, a tenth of what is due
    left, right = (wm.Stream(name, window=window_s) for name in "ab")
    shed = wm.Shed(wm.comparisons(per_second), policy=policy)  # type: ignore[arg-type]
    join = wm.WindowJoin(
        left, right, on=wm.equal("key"), basic_window="20s", shed=shed, index="scan", output="rows"
    )
    fed(join, (tables[0], tables[1]), [50])
    done = sum(direction.done for direction in join.metrics.directions)
    seconds = float(max(table["ts"].cast(pa.int64()).to_numpy()[-1] for table in tables)) / 1e6
    assert 0.95 <= done / (per_second * seconds) <= 1.01
    assert sum(stream.dropped_rows for stream in join.metrics.streams) == 0


@pytest.mark.parametrize("gap_s", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("policy", ["gedik", "density", "content"])
def test_rare_rows_wait_no_longer_than_their_buffer_and_a_probe(policy: str, gap_s: float) -> None:
    rows, window_s = 400, 100 * gap_s
    rng = np.random.default_rng(5)
    ticks = [np.cumsum(rng.exponential(1e6 * gap_s, rows)).astype(np.int64) for _ in "ab"]
    per_second = 0.1 * 2 * window_s / gap_s**2  # a tenth of what is due
    join = wm.WindowJoin(
        *(wm.Stream(name, window=window_s) for name in "ab"),
        on=wm.equal("key"),
        basic_window=window_s / 10,
        shed=wm.Shed(wm.comparisons(per_second), policy=policy),  # type: ignore[arg-type]
        index="scan",
    )
    probe_s = 100 / per_second  # of a whole window
    for at in np.sort(np.concatenate(ticks)):
        for name, own in zip("ab", ticks, strict=True):
            if at in own:
                join.push(name, pa.table({"ts": pa.array([int(at)], pa.timestamp("us")), "key": [1]}))
        for stream in ("a", "b"):  # all that came before is known, so the server has come as far
            join.advance(stream, to=int(at))
        for own, stream in zip(ticks, join.metrics.streams, strict=True):
            known = own[own <= at]
            waiting = stream.pending_rows
            if waiting:
                assert (at - known[-waiting]) * 1e-6 <= 1.0 + probe_s
