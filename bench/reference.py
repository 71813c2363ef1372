"""The right answer of a case: how many results, and the checksum of their row numbers.

Computed by means no engine under test uses: sorting and binary search for keys, sparse matrix products for
sets, plain NumPy for images. `expected.json` holds the answers of the cases that the table shows; others are
computed once and kept under `bench/.cache/answers`. Where the independent way would take minutes (W2b and W3
at full length), the answer is the scan-count loop's, and `python -m bench.reference --verify` shows that loop
equal to the independent way on a prefix.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.contract import MASK, Rows, UnavailableError, checksum
from bench.sinks import CheckingSink
from bench.workloads import CACHE, WORKLOADS, Case, load

__all__ = ["Answer", "answer"]

_EXPECTED = Path(__file__).resolve().parent / "expected.json"
_INDEPENDENT_PAIRS = 4e9  # the sparse products take about a minute for so many pairs in the window
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """The number of results, their checksum, and the way they were found."""

    count: int
    checksum: int
    way: str


def answer(case: Case) -> Answer:
    """The answer of a case, looked up or computed."""
    known = json.loads(_EXPECTED.read_text()) if _EXPECTED.exists() else {}
    if case.slug in known:
        return Answer(**known[case.slug])
    kept = CACHE / "answers" / f"{case.slug}.json"
    if kept.exists():
        return Answer(**json.loads(kept.read_text()))
    found = _compute(case)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(asdict(found)))
    return found


def _compute(case: Case) -> Answer:
    in_window = case.rows * min(case.rows, 2 * case.window_us // case.spacing_us)
    if case.kind in ("sets", "weighted") and in_window > _INDEPENDENT_PAIRS:
        return _by_loop(case)
    return _independent(case)


def _independent(case: Case) -> Answer:
    results = {
        "keys": _triples if case.streams == 3 else _pairs_of_keys,
        "sets": _pairs_of_sets,
        "weighted": _pairs_of_sets,
        "images": _pairs_of_images,
    }[case.kind](case)
    count, total = 0, 0
    for rows in results:
        count += len(rows[0])
        total += checksum(*rows)
    return Answer(count, total & MASK, "independent")


def _by_loop(case: Case) -> Answer:
    from bench.scenarios.w2 import loop as overlap
    from bench.scenarios.w3 import loop as cosine

    engine = cosine.ENGINE if case.kind == "weighted" else overlap.ENGINE
    options = {"kind": "scan-count", "batch": 1024}
    measured = engine.prepare(case, options)(CheckingSink())
    if measured is None or measured.checksum is None:
        raise UnavailableError("the loop gave no checksum")
    return Answer(measured.count, measured.checksum, "scan-count loop")


def _by_key_and_time(case: Case, stream: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(key, time) as one number, sorted, and the rows in that order."""
    data = load(case, stream)
    word = _word(case, data["key"].astype(np.int64), data["ts"].astype(np.int64))
    order = np.argsort(word, kind="stable")
    return word[order], order


def _word(case: Case, key: NDArray[np.int64], time: NDArray[np.int64]) -> NDArray[np.int64]:
    last = case.rows * case.spacing_us
    return key * (last + 1) + np.clip(time, 0, last)


def _ranges(case: Case, data: Any, words: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    key, time = data["key"].astype(np.int64), data["ts"].astype(np.int64)
    first = np.searchsorted(words, _word(case, key, time - case.window_us), side="left")
    last = np.searchsorted(words, _word(case, key, time + case.window_us), side="right")
    return first, last - first


def _spread(first: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """first[0], first[0]+1, ... for each range in turn."""
    starts = np.cumsum(length) - length
    return np.repeat(first - starts, length) + np.arange(length.sum())


def _pairs_of_keys(case: Case) -> Iterator[tuple[Rows, ...]]:
    words, order = _by_key_and_time(case, 1)
    first, length = _ranges(case, load(case, 0), words)
    yield np.repeat(np.arange(case.rows), length), order[_spread(first, length)]


def _triples(case: Case) -> Iterator[tuple[Rows, ...]]:
    one, two = next(_pairs_of_keys(case))
    words, order = _by_key_and_time(case, 2)
    first, length = _ranges(case, load(case, 0), words)
    spread = length[one]
    three = order[_spread(first[one], spread)]
    one, two = np.repeat(one, spread), np.repeat(two, spread)
    near = np.abs(two - three) * case.spacing_us <= case.window_us
    yield one[near], two[near], three[near]


def _pairs_of_sets(case: Case) -> Iterator[tuple[Rows, ...]]:
    """Products of a chunk of left rows with the right rows in its reach; needs scipy."""
    left, right = _matrix(case, 0), _matrix(case, 1)
    reach = case.window_us // case.spacing_us
    for start in range(0, case.rows, _CHUNK):
        end = min(start + _CHUNK, case.rows)
        low = max(0, start - reach)
        product = (left[start:end] @ right[low : end + reach].T).tocoo()
        one, two = product.row.astype(np.int64) + start, product.col.astype(np.int64) + low
        keep = (product.data >= case.threshold) & (np.abs(one - two) <= reach)
        yield one[keep], two[keep]


def _matrix(case: Case, stream: int) -> Any:
    from scipy.sparse import csr_array

    data = load(case, stream)
    values = data["weights"] if case.kind == "weighted" else np.ones(len(data["items"]), dtype=np.int32)
    return csr_array(
        (np.asarray(values), np.asarray(data["items"]), np.asarray(data["offsets"])),
        shape=(case.rows, case.domain + 1),
    )


def _pairs_of_images(case: Case) -> Iterator[tuple[Rows, ...]]:
    left, right = load(case, 0)["image"], np.asarray(load(case, 1)["image"])
    reach = case.window_us // case.spacing_us
    for row in range(case.rows):
        low = max(0, row - reach)
        near = right[low : row + reach + 1]
        difference = np.maximum(near, left[row]) - np.minimum(near, left[row])
        found = np.flatnonzero(difference.mean(axis=1) <= case.threshold) + low
        yield np.full(len(found), row), found


def _main(arguments: list[str]) -> None:
    if "--verify" in arguments:
        for name in ("W2", "W2b", "W3"):
            case = WORKLOADS[name].resized(rows=10_000)
            one, other = _independent(case), _by_loop(case)
            verdict = "agrees" if one.checksum == other.checksum else "DIFFERS"
            print(f"{name}: {one.count} results, loop {verdict}")
        return
    answers = {}
    for name in [name for name in arguments if name in WORKLOADS] or list(WORKLOADS):
        answers[WORKLOADS[name].slug] = asdict(answer(WORKLOADS[name]))
        print(name, answers[WORKLOADS[name].slug], flush=True)
    if "--write" in arguments:
        _EXPECTED.write_text(json.dumps(answers, indent=2) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
