"""Two seeded tables with a column for every family of predicates, and the families themselves."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import watersmeet as wm

START_US = 1_700_000_000_000_000
SECOND = 1_000_000


def near(left: pa.Table, right: pa.Table) -> pa.Array:
    """A test that no index knows: the sum of two prices is near a whole number."""
    both = pc.add(left["price"], right["price"])
    return pc.less(pc.abs(pc.subtract(both, pc.round(both))), 0.05)


FAMILIES: dict[str, Any] = {
    "equal": wm.equal("key"),
    "equal text": wm.equal("name"),
    "equal two": wm.equal("key", "name"),
    "overlap": wm.overlap("tags", at_least=2),
    "subset": wm.subset("tags"),
    "superset": wm.superset("tags"),
    "same set": wm.same_set("tags"),
    "jaccard": wm.jaccard("tags", at_least=0.5),
    "cosine": wm.cosine(items="tags", weights="weights", at_least=0.8),
    "dot": wm.dot(items="tags", weights="weights", at_least=0.9),
    "distance": wm.distance("spot", metric="l2", at_most=0.15),
    "band": wm.band("price", within=0.02),
    "where": wm.where(near),
    "equal and band": wm.equal("key") & wm.band("price", within=0.3),
    "every pair": None,
}


def table(seed: int, rows: int, *, seconds: float = 60.0, nulls: float = 0.05) -> pa.Table:
    """A table in order of time; `row` numbers its rows."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, int(seconds * SECOND), rows)) + START_US
    words = np.array(["red", "green", "blue", "grey", "gold", "pink"])
    sets = [rng.choice(words, int(rng.integers(0, 5)), replace=False).tolist() for _ in range(rows)]
    weights = [rng.uniform(0.1, 1.0, len(items)).tolist() for items in sets]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "row": pa.array(np.arange(rows), pa.int64()),
            "key": pa.array(rng.integers(0, 12, rows), pa.int32(), mask=rng.random(rows) < nulls),
            "name": pa.array(words[rng.integers(0, 6, rows)], mask=rng.random(rows) < nulls),
            "tags": pa.array(sets, pa.list_(pa.string())),
            "weights": pa.array(weights, pa.list_(pa.float64())),
            "price": pa.array(rng.uniform(0, 1, rows), pa.float64()),
            "spot": pa.array(rng.uniform(0, 1, (rows, 2)).tolist(), pa.list_(pa.float64())),
        }
    )


VECTORS = {"spot": 2}


def solid(rows: pa.Table) -> pa.Table:
    """The same table with vectors of a fixed length, as wm.join wants them."""
    place = rows.schema.get_field_index("spot")
    return rows.set_column(place, "spot", rows["spot"].cast(pa.list_(pa.float64(), 2)))


def pairs(out: pa.Table) -> collections.Counter[tuple[int | None, int | None]]:
    """The rows that were joined, as often as they were."""
    right = out["row_right"].to_pylist() if "row_right" in out.column_names else [None] * len(out)
    return collections.Counter(zip(out["row"].to_pylist(), right, strict=True))
