from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watersmeet as wm
from watersmeet.join.ring_join import RingJoin
from watersmeet.ring import RingLoad, UnitCosts, relocate, slice_initially


def stream(name: str, window: Any = 10) -> wm.Stream:
    return wm.Stream(name, time="ts", window=window, time_unit="s")


def batch(times: list[int | None], keys: list[int]) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.int64()), "k": pa.array(keys, pa.int64())})


ON = {("A", "B"): wm.equal("k"), ("B", "C"): wm.equal("k")}


def three_way(**options: Any) -> RingJoin:
    return RingJoin([stream("A"), stream("B"), stream("C")], on=ON, **options)


@pytest.mark.parametrize("topology", ["ring", "split"])
@pytest.mark.parametrize("slices", [1, 3])
def test_three_streams_meet_when_the_last_one_comes(topology: Any, slices: int) -> None:
    join = wm.RingJoin(
        [stream("A"), stream("B"), stream("C")], on=ON, slices=slices, interleave=4, topology=topology
    )
    assert join.push("A", batch([1, 2], [7, 8])).num_rows == 0
    assert join.push("B", batch([3, 20], [7, 8])).num_rows == 0
    out = join.push("C", batch([4, 5], [7, 8]))
    assert out.column_names == ["A.ts", "A.k", "B.ts", "B.k", "C.ts", "C.k"]
    assert out.num_rows == 0  # A may still send a row before 4
    out = join.advance("A", to=6)
    assert out.to_pylist() == [{"A.ts": 1, "A.k": 7, "B.ts": 3, "B.k": 7, "C.ts": 4, "C.k": 7}]
    assert join.finish().num_rows == 0
    assert join.metrics.results == 1


def test_window_edge_is_inclusive_unless_asked_otherwise() -> None:
    for edge, expected in (("inclusive", 1), ("exclusive", 0)):
        join = RingJoin([stream("A"), stream("B")], on=wm.equal("k"), edge=edge)  # type: ignore[arg-type]
        join.push("A", batch([0], [1]))
        join.push("B", batch([10], [1]))
        assert join.finish().num_rows == expected


def test_one_function_sees_a_block_of_every_stream() -> None:
    blocks = []

    def close(a: pa.Table, b: pa.Table, c: pa.Table) -> Any:
        blocks.append((a.num_rows, b.num_rows, c.num_rows))
        sums = [np.asarray(part.column("k")) for part in (a, b, c)]
        return sum(sums) == 6

    join = RingJoin([stream("A"), stream("B"), stream("C")], on=wm.where(close), slices=2)
    for name in "ABC":
        join.push(name, batch([1, 1, 1], [1, 2, 3]))
    out = join.finish()
    assert sorted(zip(*(out.column(f"{n}.k").to_pylist() for n in "ABC"), strict=True)) == [
        (1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 2, 2), (2, 3, 1), (3, 1, 2), (3, 2, 1),
    ]  # fmt: skip
    assert all(a == b == c for a, b, c in blocks)


@pytest.mark.parametrize("metric", ["mean-abs", "l2", "cosine", "hamming"])
@pytest.mark.parametrize("kind", [pa.binary(12), pa.binary(), pa.list_(pa.uint8())], ids=str)
def test_oracle_distances(metric: Any, kind: pa.DataType) -> None:
    rng = np.random.default_rng(3)
    images = [rng.integers(0, 30, (40, 12)).astype(np.uint8) for _ in range(2)]
    tables = [
        pa.table(
            {
                "ts": np.arange(40),
                "v": pa.array([bytes(row) if "binary" in str(kind) else row.tolist() for row in part], kind),
            }
        )
        for part in images
    ]
    at_most = {"mean-abs": 8.0, "l2": 35.0, "cosine": 0.2, "hamming": 25.0}[metric]
    on = wm.distance("v", metric=metric, at_most=at_most)
    expected = wm.testing.brute_force_join(*tables, on=on, window=10, time_unit="s")
    for slices in (1, 3):
        join = RingJoin([stream("A"), stream("B")], on=on, slices=slices)
        found = [join.push("A", tables[0]), join.push("B", tables[1]), join.finish()]
        assert sum(part.num_rows for part in found) == expected.num_rows > 0


@pytest.mark.parametrize("topology", ["ring", "split"])
@pytest.mark.parametrize("slices", [1, 2, 5])
def test_failing_function_names_the_pair_and_changes_nothing(topology: Any, slices: int) -> None:
    bad = {"on": True}

    def picky(left: pa.Table, right: pa.Table) -> Any:
        keys = np.asarray(left.column("k"))
        if bad["on"] and (keys == 13).any():
            raise ValueError("thirteen")
        return keys == np.asarray(right.column("k"))

    join = RingJoin(
        [stream("A", 100), stream("B", 100)], on=wm.where(picky), slices=slices, topology=topology
    )
    join.push("A", batch(list(range(20)), list(range(20))))
    join.advance("A", to=1000)
    with pytest.raises(wm.WatersmeetError, match=r"where\(picky\): ValueError: thirteen \(for row 13 of 'A'"):
        join.push("B", batch(list(range(20, 40)), list(range(20))))
    blob = join.snapshot()
    bad["on"] = False
    restored = RingJoin.restore(blob, on=wm.where(picky))
    for again in (join, restored):
        assert again.push("B", batch(list(range(20, 40)), list(range(20)))).num_rows == 20
        assert again.finish().num_rows == 0
    join.close()


def test_function_that_calls_its_own_join_is_told_so() -> None:
    joins: list[RingJoin] = []

    def nosy(left: pa.Table, right: pa.Table) -> Any:
        joins[0].push("A", batch([99], [1]))
        return np.ones(left.num_rows, bool)

    for slices in (1, 3):
        joins[:] = [RingJoin([stream("A"), stream("B")], on=wm.where(nosy), slices=slices, topology="ring")]
        joins[0].push("A", batch([1, 2], [1, 1]))
        joins[0].push("B", batch([3, 4], [1, 1]))
        with pytest.raises(wm.WatersmeetError, match="from inside its own where"):
            joins[0].finish()


def test_interrupting_error_of_a_function_is_passed_on_as_it_is() -> None:
    def stop(left: pa.Table, right: pa.Table) -> Any:
        raise KeyboardInterrupt

    join = RingJoin([stream("A"), stream("B")], on=wm.where(stop), slices=3, topology="ring")
    join.push("A", batch([1], [1]))
    join.push("B", batch([2], [1]))
    with pytest.raises(KeyboardInterrupt):
        join.finish()
    join.close()


def test_answer_of_another_shape_is_refused() -> None:
    join = RingJoin([stream("A"), stream("B")], on=wm.where(lambda left, right: [True]), slices=2)
    join.push("A", batch([1] * 4, [1] * 4))
    join.push("B", batch([2], [1]))
    with pytest.raises(wm.SchemaError, match="one boolean for each"):
        join.finish()


def test_rows_without_a_time_are_counted_and_match_nothing() -> None:
    join = RingJoin([stream("A"), stream("B")], on=wm.equal("k"))
    join.push("A", batch([1, None, 2], [1, 1, 1]))
    join.push("B", batch([None, 3], [1, 1]))
    assert join.finish().num_rows == 2
    assert [s.bad_rows for s in join.metrics.streams] == [1, 1]


def test_rows_out_of_order_are_refused_before_and_after_all_streams_are_known() -> None:
    join = RingJoin([stream("A"), stream("B")], on=wm.equal("k"))
    join.push("A", batch([5], [1]))
    with pytest.raises(wm.OrderError, match="stream 'A'"):
        join.push("A", batch([4], [1]))
    join.push("B", batch([6], [1]))
    with pytest.raises(wm.OrderError, match="stream 'A'"):
        join.push("A", batch([4], [1]))
    assert join.finish().num_rows == 1


def test_resize_from_another_thread_leaves_the_answer_alone() -> None:
    rng = np.random.default_rng(1)
    tables = [pa.table({"ts": np.arange(6000), "k": rng.integers(0, 50, 6000)}) for _ in range(2)]
    expected = wm.join(*tables, on=wm.equal("k"), window=60, time_unit="s").num_rows
    join = RingJoin([stream("A", 60), stream("B", 60)], on=wm.equal("k"), slices=2, topology="ring")
    done = threading.Event()

    def resize() -> None:
        slices = 1
        while not done.is_set():
            join.resize(slices=slices, relocation="passive" if slices % 2 else "aggressive")
            slices = slices % 4 + 1
            done.wait(0.001)

    other = threading.Thread(target=resize)
    other.start()
    found = join.push("A", tables[0]).num_rows + join.push("B", tables[1]).num_rows + join.finish().num_rows
    done.set()
    other.join()
    assert found == expected


def test_snapshot_before_all_streams_are_known_goes_on() -> None:
    join = three_way(slices=2)
    join.push("A", batch([1], [7]))
    join.advance("A", to=9)
    again = RingJoin.restore(join.snapshot())
    for one in (join, again):
        one.push("B", batch([2], [7]))
        assert one.push("C", batch([3], [7])).num_rows + one.finish().num_rows == 1


@pytest.mark.parametrize("order", [None, "filter-order"])
def test_restored_join_goes_on_counting_its_results(order: Any) -> None:
    join = RingJoin([stream("A"), stream("B")], on=wm.equal("k"), order=order)
    given = [join.push(name, batch([1, 2], [7, 7])).num_rows for name in "AB"]
    join = RingJoin.restore(join.snapshot())
    assert join.metrics.results == sum(given)
    given.append(join.finish().num_rows)
    assert join.metrics.results == sum(given) == 4


def test_damaged_snapshots_are_refused() -> None:
    join = three_way()
    blob = join.snapshot()
    for harm in (b"", blob[:-1], blob[:20] + bytes([blob[20] ^ 1]) + blob[21:]):
        with pytest.raises(wm.SnapshotError):
            RingJoin.restore(harm)
    with pytest.raises(wm.SnapshotError, match="another kind"):
        RingJoin.restore(wm.WindowJoin(stream("A"), stream("B"), on=wm.equal("k")).snapshot())
    with pytest.raises(wm.ConfigError, match="give on= again"):
        RingJoin.restore(RingJoin([stream("A"), stream("B")], on=wm.where(print)).snapshot())


def test_orderings_follow_the_measured_selectivities() -> None:
    rng = np.random.default_rng(2)
    rows = 400
    tables = {
        "A": pa.table({"ts": np.arange(rows), "x": rng.integers(0, 2, rows), "y": rng.integers(0, 90, rows)}),
        "B": pa.table({"ts": np.arange(rows), "x": rng.integers(0, 2, rows)}),
        "C": pa.table({"ts": np.arange(rows), "y": rng.integers(0, 90, rows)}),
    }
    on = {("A", "B"): wm.equal("x"), ("A", "C"): wm.equal("y")}
    adaptive = RingJoin([stream(n, 40) for n in "ABC"], on=on)
    given = RingJoin([stream(n, 40) for n in "ABC"], on=on, orderings={"A": ("B", "C")})
    answers = []
    for join in (adaptive, given):
        parts = [
            join.push(name, table.slice(at, 50))
            for at in range(0, rows, 50)
            for name, table in tables.items()
        ]
        answers.append(pa.concat_tables([*(p for p in parts if p.num_columns == 7), join.finish()]))
    assert answers[0].equals(answers[1])
    assert adaptive.metrics.orderings["A"] == ("C", "B")
    assert given.metrics.orderings["A"] == ("B", "C")
    assert sum(adaptive.metrics.comparisons) < sum(given.metrics.comparisons)


def test_closed_join_refuses_calls() -> None:
    with three_way() as join:
        join.push("A", batch([1], [1]))
    with pytest.raises(wm.WatersmeetError, match="closed"):
        join.finish()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"streams": [stream("A")]}, "from 2 to 8"),
        ({"streams": [stream("A"), stream("A")]}, "two streams"),
        ({"streams": "AB"}, "list of wm.Stream"),
        ({"streams": [stream("A"), "B"]}, "'B'"),
        ({"streams": [stream("A"), wm.Stream("B", time="ts")]}, "window is missing"),
        ({"streams": [stream("A"), wm.Stream("B", time="ts", window=1, freshness="1s")]}, "freshness"),
        ({"on": {("A", "D"): wm.equal("k")}}, "'D'"),
        ({"on": {("A", "B"): 3}}, r"on\[\('A', 'B'\)\]=3"),
        ({"on": wm.equal("k")}, "say which pair"),
        ({"slices": 0}, "slices=0"),
        ({"interleave": True}, "interleave=True"),
        ({"topology": "star"}, "topology='star'"),
        ({"edge": "soft"}, "edge='soft'"),
        ({"orderings": {"A": ("B",)}}, r"orderings\['A'\]"),
    ],
)
def test_bad_argument_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    given = {"streams": [stream("A"), stream("B"), stream("C")], "on": ON} | arguments
    with pytest.raises(wm.ConfigError, match=message):
        RingJoin(given.pop("streams"), **given)


def test_columns_that_cannot_be_compared_are_refused_and_the_join_goes_on() -> None:
    join = three_way()
    join.push("A", batch([1], [1]))
    join.push("B", batch([1], [1]))
    with pytest.raises(wm.SchemaError, match="column 'k'"):
        join.push("C", pa.table({"ts": [1], "k": ["text"]}))
    join.push("C", batch([1], [1]))
    assert join.finish().num_rows == 1


@pytest.mark.parametrize(("before", "after"), [(3, 4), (4, 6), (5, 8), (1, 7), (8, 5), (4, 3), (6, 1)])
def test_differential_flows_of_a_resize_are_those_that_are_planned(before: int, after: int) -> None:
    rows = 840  # of each window, which every length here divides
    join = wm.RingJoin(
        [wm.Stream(name, time="ts", window=f"{rows}i") for name in "AB"],
        on=wm.equal("k"), slices=before, topology="ring",
    )  # fmt: skip
    for name, key in (("A", 1), ("B", 2)):
        join.push(name, pa.table({"ts": np.arange(2 * rows), "k": np.full(2 * rows, key)}))
    join.advance("A", to=2 * rows)  # the last row waits for it
    for slices in (before, after):  # the first makes the slices exactly even
        join.resize(slices=slices)
        join.advance("A", to=2 * rows)
    flows = [float(flow) for flow in relocate(before, after).row_flows(2 * rows)]
    # Within a row of each stream: the newest has not yet pushed the oldest out.
    assert list(join.metrics.flows) == pytest.approx(flows, abs=2)
    assert list(join.metrics.rows_per_slice) == pytest.approx([2 * rows / after] * after, abs=2)


def test_each_window_may_be_cut_into_its_own_number_of_slices() -> None:
    load = RingLoad.of((20.0, 20.0), (30.0, 10.0), selectivity=(0.01, 0.1))
    slicing = slice_initially(load, UnitCosts(1e-4, hop_s=1e-3), most=6)
    streams = [wm.Stream("A", time="ts", window="600i"), wm.Stream("B", time="ts", window="200i")]
    join = wm.RingJoin(streams, on=wm.equal("k"), slices=slicing, topology="ring")
    assert slicing.lengths == (5, 2)
    for name, key in (("A", 1), ("B", 2)):
        join.push(name, pa.table({"ts": np.arange(2000), "k": np.full(2000, key)}))
    again = wm.RingJoin.restore(join.snapshot())
    for each in (join, again):
        held = each._open().ready.core.statistics()["held"]  # type: ignore[union-attr]
        for stream, length in enumerate(slicing.lengths):
            filled = [last - first for first, last in (place[stream] for place in held)]
            assert [rows > 0 for rows in filled] == [place < length for place in range(len(filled))]
    with pytest.raises(wm.ConfigError, match="only topology='ring'"):
        wm.RingJoin(streams, on=wm.equal("k"), slices=slicing)
    with pytest.raises(wm.ConfigError, match="a slicing of 3 streams"):
        wm.RingJoin([*streams, wm.Stream("C", window="1s")], slices=slicing, topology="ring")


def test_results_held_at_a_snapshot_keep_rows_that_have_left_the_window() -> None:
    """A window of one row: the row of a held result is no longer in it when the snapshot is taken."""
    streams = [wm.Stream("A", window="1i"), wm.Stream("B", window="100us")]
    answers = []
    for restores in (False, True):
        join = wm.RingJoin(streams, on={("A", "B"): wm.equal("key")}, order="sync-filter")
        tables = [join.push("B", pa.table({"ts": [25], "key": [7]}))]
        tables.append(join.push("A", pa.table({"ts": [1, 31, 31, 31, 40], "key": [0, 7, 1, 2, 3]})))
        tables.append(join.push("B", pa.table({"ts": [31], "key": [9]})))
        assert not any(table.num_rows for table in tables)
        if restores:
            join = wm.RingJoin.restore(join.snapshot())
        tables += [join.push("B", pa.table({"ts": [45], "key": [3]})), join.finish()]
        rows = [row for table in tables for row in table.to_pylist()]
        answers.append([(row["A.ts"], row["A.key"], row["B.ts"]) for row in rows])
    assert answers == [[(31, 7, 25), (40, 3, 45)]] * 2
