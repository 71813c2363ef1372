"""The fixed workloads that every engine of `bench/` joins.

A `Case` is a workload with its sizes; `load` draws it once (NumPy `default_rng`, seeds below), keeps it as
`.npy` files under `bench/.cache/data`, and gives it back memory-mapped, so that the C++ loops read the very
same bytes.

    W1   equal int64 keys, uniform in 2 M, 100,000 rows/s/side, 3 M rows/side, within 10 s     seeds 1, 2
    W1z  the same rates, keys Zipf(0.8) over 1 M, permuted, within 0.1 s                       seeds 11, 12
    W2   sets of about 5 out of 100 items, Zipf(0.6), 500 rows/s/side, 200 s, overlap >= 3      seeds 21, 22
    W2b  sets of about 10 out of 10,000, Zipf(0.8), 5,000 rows/s/side, 100 s, overlap >= 5      seeds 31, 32
    W3   W2b's sets with uniform weights of length 1, cosine >= 0.5                             seeds 31, 32
    W4   W1's streams and a third one, one key, all three within 10 s                          seeds 1, 2, 3
    W5   images of 5,000 RGB pixels, 50 rows/s/side, 60 s, mean absolute difference <= 40       seeds 51, 52

`scaled(0.1)` keeps the first tenth of each stream and leaves rates and windows alone: good for a quick look,
not for quoting, since a window longer than the stream never fills. Above 1 the streams are longer.

    python -m bench.workloads [W1 ...] [--scale 0.1]       draws them and prints sizes
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["CACHE", "WORKLOADS", "Arrays", "Case", "data_folder", "load"]

CACHE = Path(__file__).resolve().parent / ".cache"

Arrays = Mapping[str, NDArray[np.generic]]

# Bump when a generator below changes, so that no stale draw is read back.
_DRAW = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A workload and its sizes: what is joined, how much of it, and inside which window."""

    workload: str
    title: str
    kind: str  # "keys" | "sets" | "weighted" | "images": which generator draws it
    rows: int  # per stream
    spacing_us: int  # between two rows of one stream
    window_us: int  # both directions, both bounds inclusive
    domain: int  # distinct keys or items
    threshold: float  # overlap, cosine or distance bound; unused for keys
    seeds: tuple[int, ...]
    zipf: float = 0.0
    set_size: tuple[float, float] = (0.0, 0.0)  # mean, standard deviation
    max_set: int = 0

    @property
    def streams(self) -> int:
        return len(self.seeds)

    @property
    def slug(self) -> str:
        """A file name for this case's answer: every size that changes it."""
        return f"{self.workload}-{self.rows}-{self.window_us}us-{self.domain}"

    @property
    def draw(self) -> str:
        """A file name for this case's input. A shorter case of the same draw is its prefix."""
        source = "W1" if self.workload == "W4" else "W2b" if self.workload == "W3" else self.workload
        return f"v{_DRAW}-{source}-{self.spacing_us}us-{self.domain}"

    @property
    def shape(self) -> str:
        """The sizes in words, for tables."""
        window = self.window_us / 1e6
        parts = [f"{_short(self.rows)} rows/side", f"±{window:g} s"]
        if self.kind == "keys":
            parts.append(f"{_short(self.domain)} keys")
        return ", ".join(parts)

    @property
    def tuples(self) -> int:
        return self.rows * self.streams

    def scaled(self, scale: float) -> Case:
        """The first `scale` of each stream."""
        return dataclasses.replace(self, rows=max(2, round(self.rows * scale)))

    def resized(
        self, *, rows: int | None = None, window_us: int | None = None, domain: int | None = None
    ) -> Case:
        """The same workload at other sizes; never more rows than this case has."""
        return dataclasses.replace(
            self,
            rows=self.rows if rows is None else min(rows, self.rows),
            window_us=window_us or self.window_us,
            domain=domain or self.domain,
        )


def _short(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1e6:.4g}M"
    return f"{count / 1e3:.4g}k" if count >= 1_000 else str(count)


_W1 = Case("W1", "equal keys", "keys", 3_000_000, 10, 10_000_000, 2_000_000, 0, (1, 2))
_W2B = Case(
    "W2b", "overlap >= 5, domain 10k", "sets", 500_000, 200, 20_000_000, 10_000, 5, (31, 32), 0.8, (10, 2), 32
)

WORKLOADS: Mapping[str, Case] = {
    "W1": _W1,
    "W1z": Case("W1z", "equal Zipf keys", "keys", 3_000_000, 10, 100_000, 1_000_000, 0, (11, 12), 0.8),
    "W2": Case(
        "W2",
        "overlap >= 3, domain 100",
        "sets",
        100_000,
        2_000,
        20_000_000,
        100,
        3,
        (21, 22),
        0.6,
        (5, 1),
        32,
    ),
    "W2b": _W2B,
    "W3": dataclasses.replace(_W2B, workload="W3", title="cosine >= 0.5", kind="weighted", threshold=0.5),
    "W4": dataclasses.replace(_W1, workload="W4", title="three-way, equal keys", seeds=(1, 2, 3)),
    "W5": Case("W5", "images, mean-abs <= 40", "images", 3_000, 20_000, 10_000_000, 15_000, 40, (51, 52)),
}


def data_folder(case: Case) -> Path:
    """Where this case's input lies; the C++ loops read `<array><stream>.npy` there."""
    return CACHE / "data" / case.draw


def load(case: Case, stream: int) -> Arrays:
    """Rows of one stream as named arrays, memory-mapped, drawn on first use.

    Always `ts` (int64 microseconds); then `key`, or `offsets` and `items` (and `weights`), or `image`.
    """
    folder = data_folder(case)
    names = _ARRAYS[case.kind]
    if not all(_drawn(folder / f"{name}{stream}.npy", case.rows) for name in names):
        _draw(case, stream, folder=folder)
    arrays = {name: np.load(folder / f"{name}{stream}.npy", mmap_mode="r") for name in names}
    cut = {name: array[: case.rows] for name, array in arrays.items() if name in ("key", "image")}
    cut["ts"] = np.arange(case.rows, dtype=np.int64) * case.spacing_us
    if "offsets" in arrays:
        cut["offsets"] = arrays["offsets"][: case.rows + 1]
        last = int(cut["offsets"][-1])
        cut |= {name: array[:last] for name, array in arrays.items() if name in ("items", "weights")}
    return cut


_ARRAYS = {
    "keys": ("key",),
    "sets": ("offsets", "items"),
    "weighted": ("offsets", "items", "weights"),
    "images": ("image",),
}


def _drawn(file: Path, rows: int) -> bool:
    return file.exists() and len(np.load(file, mmap_mode="r")) >= rows


def _draw(case: Case, stream: int, *, folder: Path) -> None:
    """Draws a whole stream of the workload's full length, so that every shorter case is a prefix of it."""
    full = dataclasses.replace(case, rows=max(case.rows, WORKLOADS[case.workload].rows))
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in _GENERATORS[case.kind](full, case.seeds[stream]).items():
        part = folder / f"{name}{stream}.part.npy"
        np.save(part, array)
        part.replace(folder / f"{name}{stream}.npy")


def _zipf_cdf(domain: int, exponent: float) -> NDArray[np.float64]:
    weight = np.arange(1, domain + 1, dtype=np.float64) ** -exponent
    return np.cumsum(weight / weight.sum())


def _keys(case: Case, seed: int) -> Arrays:
    rng = np.random.default_rng(seed)
    if case.zipf == 0.0:
        return {"key": rng.integers(0, case.domain, case.rows)}
    rank = np.searchsorted(_zipf_cdf(case.domain, case.zipf), rng.random(case.rows))
    # One permutation for both sides, so that neighbouring ranks are not neighbouring keys.
    name_of_rank = np.random.default_rng(case.seeds[0]).permutation(case.domain)
    return {"key": name_of_rank[np.minimum(rank, case.domain - 1)].astype(np.int64)}


def _sets(case: Case, seed: int) -> Arrays:
    """Sizes first, then items drawn one by one, a repeated item thrown back: sampling without replacement."""
    rng = np.random.default_rng(seed)
    mean, deviation = case.set_size
    sizes = np.rint(rng.normal(mean, deviation, case.rows)).clip(1, case.max_set).astype(np.int64)
    cdf = _zipf_cdf(case.domain, case.zipf)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    items = np.empty(offsets[-1], dtype=np.int64)
    waiting = np.arange(case.rows)
    while waiting.size:  # rows whose draws held too many repeats are drawn again, whole
        tries = np.searchsorted(cdf, rng.random((waiting.size, 2 * case.max_set))).astype(np.int64) + 1
        kept = _first_occurrences(np.minimum(tries, case.domain))
        rank = np.cumsum(kept, axis=1)
        kept &= rank <= sizes[waiting, None]
        full = rank[:, -1] >= sizes[waiting]
        where = (offsets[waiting, None] + rank - 1)[full]
        items[where[kept[full]]] = tries[full][kept[full]]
        waiting = waiting[~full]
    return {"offsets": offsets, "items": items}


def _first_occurrences(tries: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Marks, in each row, the entries whose value has not been seen further left."""
    order = np.argsort(tries, axis=1, kind="stable")
    ordered = np.take_along_axis(tries, order, axis=1)
    first = np.ones(tries.shape, dtype=np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    marks = np.empty_like(first)
    np.put_along_axis(marks, order, first, axis=1)
    return marks


def _weighted(case: Case, seed: int) -> Arrays:
    sets = dict(_sets(case, seed))
    weights = np.random.default_rng(seed + 1_000).random(len(sets["items"]))
    offsets = sets["offsets"].astype(np.int64)
    length = np.sqrt(np.add.reduceat(weights * weights, offsets[:-1]))
    return {**sets, "weights": weights / np.repeat(length, np.diff(offsets))}


def _images(case: Case, seed: int) -> Arrays:
    """Noisy shots of 40 scenes: two of the same scene are near each other, others are 85 apart on average."""
    scenes = np.random.default_rng(50).integers(0, 256, (40, case.domain), dtype=np.uint8)
    rng = np.random.default_rng(seed)
    image = scenes[rng.integers(0, len(scenes), case.rows)]
    noise = rng.integers(0, 256, image.shape, dtype=np.uint8)
    noisy = rng.random(image.shape, dtype=np.float32) < 0.2
    return {"image": np.where(noisy, noise, image)}


_GENERATORS: Mapping[str, Callable[[Case, int], Arrays]] = {
    "keys": _keys,
    "sets": _sets,
    "weighted": _weighted,
    "images": _images,
}


def _main(arguments: list[str]) -> None:
    scale = float(arguments[arguments.index("--scale") + 1]) if "--scale" in arguments else 1.0
    for name in [name for name in arguments if name in WORKLOADS] or list(WORKLOADS):
        case = WORKLOADS[name].scaled(scale)
        for stream in range(case.streams):
            size = sum(array.nbytes for array in load(case, stream).values())
            print(f"{name:4} stream {stream}: {case.shape}, {size / 1e6:.0f} MB")


if __name__ == "__main__":
    _main(sys.argv[1:])
