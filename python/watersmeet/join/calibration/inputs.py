"""The streams that calibration joins: per kind of predicate, rows that fill a window and rows that probe it.

Every shape says how likely its rows match and how popular its items are, so that together they tell the costs
of looking up, reading entries and reporting pairs apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.cost import Kind, kind_of
from watersmeet.vocabulary import Distance
from watersmeet.vocabulary.predicate import Metric

__all__ = ["SHAPES", "Shape", "TermOptions"]

TermOptions = Mapping[str, Any]
_Random = np.random.Generator
_Columns = list[pa.Array]


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to fill and to probe a window of `kind`.

    term      the arguments of the core's term, given the rows of the window
    fill      join columns of so many rows for the window
    probe     join columns of so many probing rows, given the rows of the window
    words     words of eight bytes in a vector
    """

    kind: Kind
    name: str
    term: Callable[[int], TermOptions]
    fill: Callable[[_Random, int], _Columns]
    probe: Callable[[_Random, int, int], _Columns]
    words: float = 1.0


def _keys(name: str, matches: float = 0.0, *, share: float = 0.0) -> Shape:
    """Keys of which each occurs `matches` times in a window, or in this share of its rows.

    With neither, probes ask for keys that are not there.
    """

    def domain(rows: int) -> int:
        return max(1, round(rows / (rows * share or matches or 1.0)))

    return Shape(
        "equal",
        name,
        lambda rows: {"kind": "equal", "coding": "word"},
        lambda random, rows: [pa.array(random.integers(0, domain(rows), rows))],
        lambda random, count, rows: [
            pa.array(random.integers(0, domain(rows), count) - (0 if matches or share else rows))
        ],
    )


def _numbers(name: str, matches: float = 0.0, *, share: float = 0.0) -> Shape:
    """Numbers of which about `matches` in a window, or this share of it, lie within the band."""
    return Shape(
        "band",
        name,
        lambda rows: {"kind": "band", "coding": "real", "within_real": (share + matches / rows) / 2.0},
        lambda random, rows: [pa.array(random.random(rows))],
        lambda random, count, rows: [pa.array(random.random(count))],
    )


def _sets(name: str, *, domain: int, zipf: float, size: int, at_least: float) -> Shape:
    def draw(random: _Random, rows: int) -> _Columns:
        return [_lists(_items(random, rows, domain, zipf, size), size)]

    term = {"kind": "overlap", "coding": "word", "at_least": at_least}
    return Shape("overlap", name, lambda rows: term, draw, lambda random, count, rows: draw(random, count))


def _weighted(name: str, *, domain: int, zipf: float, size: int, at_least: float) -> Shape:
    def draw(random: _Random, rows: int) -> _Columns:
        items = _items(random, rows, domain, zipf, size)
        return [_lists(items, size), _lists(random.random(len(items)) + 0.05, size)]

    term = {"kind": "cosine", "coding": "word", "at_least": at_least}
    return Shape("weighted", name, lambda rows: term, draw, lambda random, count, rows: draw(random, count))


def _vectors(metric: Metric, *, width: int, at_most: float) -> Shape:
    """Vectors a little too far apart, so that most of each is looked at: bytes, or doubles."""
    kind = kind_of(Distance("v", "v", metric, at_most))
    is_bytes = metric in ("mean-abs", "hamming")

    def draw(random: _Random, rows: int) -> _Columns:
        if is_bytes:
            values = pa.py_buffer(random.integers(0, 256, rows * width, dtype=np.uint8))
            return [pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), rows, [None, values])]
        return [pa.FixedSizeListArray.from_arrays(pa.array(random.random(rows * width)), width)]

    term = {
        "kind": "distance",
        "coding": "word",
        "metric": metric,
        "element": "byte" if is_bytes else "real",
        "width": width,
        "at_most": at_most,
    }
    words = width / 8.0 if is_bytes else float(width)
    name = f"vectors of {words * 8:,.0f} bytes"
    return Shape(kind, name, lambda rows: term, draw, lambda random, count, rows: draw(random, count), words)


def _every() -> Shape:
    """No predicate at all: a probe meets the whole window."""
    return Shape(
        "every", "every row", lambda rows: {}, lambda random, rows: [], lambda random, count, rows: []
    )


def _items(random: _Random, rows: int, domain: int, zipf: float, size: int) -> npt.NDArray[np.int64]:
    """Sets of `size` different items: a popular one, and a walk of popular strides from it."""
    weights = np.arange(1, domain + 1, dtype=np.float64) ** -zipf
    edges = np.cumsum(weights / weights.sum())
    first = np.searchsorted(edges, random.random(rows * size)).reshape(rows, size)
    first = np.minimum(first, domain - 1)
    first.sort(axis=1)
    for column in range(1, size):
        clash = first[:, column] <= first[:, column - 1]
        first[clash, column] = first[clash, column - 1] + 1
    return np.ascontiguousarray(first, dtype=np.int64).reshape(-1)


def _lists(values: npt.NDArray[Any], size: int) -> pa.Array:
    offsets = np.arange(0, len(values) + 1, size, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


SHAPES: Final[tuple[Shape, ...]] = (
    _keys("no match"),
    _keys("one match", 1.0),
    _keys("16 matches", 16.0),
    _keys("one row in 8", share=0.125),
    _keys("one row in 4", share=0.25),
    _numbers("no match", 1e-6),
    _numbers("one match", 1.0),
    _numbers("16 matches", 16.0),
    _numbers("one row in 8", share=0.125),
    _sets("rare items", domain=10_000, zipf=0.8, size=10, at_least=5.0),
    _sets("popular items", domain=100, zipf=0.6, size=5, at_least=4.0),
    _sets("rare items, many pairs", domain=10_000, zipf=0.8, size=10, at_least=3.0),
    _weighted("rare items", domain=10_000, zipf=0.8, size=10, at_least=0.8),
    _weighted("popular items", domain=100, zipf=0.6, size=5, at_least=0.9),
    _weighted("rare items, many pairs", domain=10_000, zipf=0.8, size=10, at_least=0.5),
    *(_vectors("mean-abs", width=width, at_most=80.0) for width in (64, 1_024)),  # the mean is 85
    *(_vectors("l2", width=width, at_most=0.95 * (width / 6.0) ** 0.5) for width in (8, 512)),
    *(_vectors("cosine", width=width, at_most=0.2) for width in (8, 512)),  # the mean is 0.25
    *(_vectors("hamming", width=width, at_most=3.8 * width) for width in (64, 1_024)),  # the mean is 4
    _every(),
)
