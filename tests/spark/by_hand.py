"""A streaming join without Spark: the packing, the shuffle and the state store played by hand.

The code under test is the workers' own; only Spark is missing, so that hundreds of cuts, orders and failures
can be tried in the time of one query.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pyarrow as pa

import watersmeet as wm
from watersmeet.spark import bucket
from watersmeet.spark.blobs import from_blob
from watersmeet.spark.pack import pack
from watersmeet.spark.request import Request


class DictStore:
    """A bucket's state in a dictionary; what was put since the last commit can be taken back."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.committed: dict[Any, Any] = {}
        self.reads = 0

    def index(self) -> str | None:
        return self.values.get("index")

    def put_index(self, text: str) -> None:
        self.values["index"] = text

    def entry(self, number: int) -> bytes:
        self.reads += 1
        return bytes(self.values[number])

    def put_entry(self, number: int, data: bytes) -> None:
        self.values[number] = data

    def drop_entry(self, number: int) -> None:
        del self.values[number]

    def commit(self) -> None:
        self.committed = dict(self.values)

    def roll_back(self) -> None:
        self.values = dict(self.committed)


def request(left: pa.Table, right: pa.Table, **options: Any) -> Request:
    """A request as join() would make it, without DataFrames."""
    values: dict[str, Any] = {
        "on": None,
        "how": "inner",
        "suffix": "_right",
        "lower": -3_000_000,
        "upper": 5_000_000,
        "rows_windows": None,
        "times": ("ts", "ts"),
        "time_unit": "us",
        "unit": "us",
        "steps": (1, 1),
        "schemas": tuple(table.schema.serialize().to_pybytes() for table in (left, right)),
        "by": "slice",
        "labels": (0, 1, 2),
        "width": 2_700_000,
        "streaming": True,
    }
    return Request(**(values | options))


class Query:
    """A running query: micro-batches in, results out, the watermark as Spark keeps it."""

    def __init__(self, asked: Request, *, delay: int, seed: int = 0) -> None:
        self.asked, self.delay = asked, delay
        self.stores = {label: DictStore() for label in asked.labels}
        self.latest: list[int | None] = [None, None]
        self.watermark: int | None = None
        self.results: list[pa.Table] = []
        self.on_time: list[list[pa.Table]] = [[], []]  # the rows of each side that were not late
        self.counts: dict[str, float] = {}
        self.reports: list[dict[int, dict[str, float]]] = []  # of each micro-batch, by bucket
        self.rng = np.random.default_rng(seed)
        self.workers: list[Any] = [OrderedDict() for _ in range(3)]

    def batch(self, left: pa.Table, right: pa.Table, *, fail: float = 0.0, move: float = 0.0) -> None:
        """One micro-batch. With `fail` a bucket's first attempt is lost; with `move` a worker is another."""
        rows: dict[int, list[tuple[int, int, pa.Table]]] = {label: [] for label in self.asked.labels}
        for side, table in enumerate((left, right)):
            times = np.asarray(table["ts"].cast(pa.int64()))
            self.on_time[side].append(
                table if self.watermark is None else table.filter(pa.array(times > self.watermark))
            )
            if self.asked.by == "key":
                table = table.append_column(
                    "__watersmeet_bucket",
                    pa.array(
                        [hash(key) % self.asked.partitions for key in table["key"].to_pylist()], pa.int32()
                    ),
                )
            for packed in pack(self.asked, side, table.to_batches()):
                for row in packed.to_pylist():
                    rows[row["label"]].append((row["side"], row["role"], from_blob(row["data"])))
        self.reports.append({})
        for label, arrived in rows.items():
            if self.rng.random() < move:  # another worker, which may remember older batches
                bucket._cache = self.workers[int(self.rng.integers(3))]
            if self.rng.random() < move / 4:
                bucket.forget()
            if self.rng.random() < fail:
                self._apply(label, arrived)
                self.stores[label].roll_back()
            done = self._apply(label, arrived)
            self.stores[label].commit()
            self.results += done.tables
            self.reports[-1][label] = done.counts
            for name, count in done.counts.items():
                self.counts[name] = self.counts.get(name, 0) + count
        self._move_watermark(left, right)

    def answer(self) -> pa.Table:
        """All results so far."""
        schema = self.asked.output_schema()
        return pa.concat_tables([table.cast(schema) for table in self.results] or [schema.empty_table()])

    def expected(self) -> pa.Table:
        """wm.join of all rows that were not late."""
        left, right = map(pa.concat_tables, self.on_time)
        return expected(left, right, self.asked)

    def _apply(self, label: int, arrived: list[tuple[int, int, pa.Table]]) -> bucket.Done:
        return bucket.apply(
            self.asked,
            self.stores[label],
            owner="test",
            label=label,
            signature="",
            arrived=arrived,
            watermark=self.watermark,
        )

    def _move_watermark(self, *tables: pa.Table) -> None:
        for side, table in enumerate(tables):
            times = np.asarray(table["ts"].cast(pa.int64()))
            if len(times):
                known = self.latest[side]
                self.latest[side] = max(int(times.max()), known if known is not None else int(times.max()))
        if self.latest[0] is not None and self.latest[1] is not None:
            self.watermark = max(min(self.latest[0], self.latest[1]) - self.delay, self.watermark or 0)


def expected(left: pa.Table, right: pa.Table, asked: Request) -> pa.Table:
    """wm.join of everything."""
    return wm.join(left, right, on=asked.on, how=asked.how, **asked.windows())
