"""Seeded streams as Arrow tables: small random ones for tests, and the workload of [Gedik].

Every generator takes a seed or a NumPy generator and nothing else that is random, so a stream can be made
again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watersmeet.errors import ConfigError

__all__ = [
    "band_stream",
    "disordered",
    "gedik_streams",
    "keyed_stream",
    "set_stream",
    "timestamps",
    "weighted_stream",
]

Seed: TypeAlias = int | np.random.Generator
_CHUNK_CELLS = 4_000_000  # how many random numbers are held at once while sets are drawn


def timestamps(
    seed: Seed,
    rows: int,
    *,
    span: int = 100,
    start: int = 0,
    null_share: float = 0.0,
    kind: pa.DataType | None = None,
) -> pa.Array:
    """`rows` sorted times in [start, start + span), with ties when rows are many; nulls stay where they fall.

    `kind` is the Arrow type, int64 unless given. Numbers count the units of that type.
    """
    rng = _rng(seed)
    numbers = np.sort(rng.integers(start, start + max(span, 1), rows))
    return _with_nulls(pa.array(numbers, pa.int64()), rng, null_share).cast(kind or pa.int64())


def keyed_stream(
    seed: Seed,
    rows: int,
    *,
    keys: int = 5,
    span: int = 100,
    null_share: float = 0.0,
    key_kind: pa.DataType | None = None,
    time_kind: pa.DataType | None = None,
) -> pa.Table:
    """Columns `ts`, `key` (one of `keys` values, as `key_kind`) and `value` (the row's number)."""
    rng = _rng(seed)
    times = timestamps(rng, rows, span=span, kind=time_kind)
    drawn = pa.array(rng.integers(0, max(keys, 1), rows), pa.int64()).cast(key_kind or pa.int64())
    return pa.table({"ts": times, "key": _with_nulls(drawn, rng, null_share), "value": np.arange(rows)})


def set_stream(
    seed: Seed,
    rows: int,
    *,
    items: int = 8,
    largest: int = 5,
    span: int = 100,
    null_share: float = 0.0,
    item_kind: pa.DataType | None = None,
    time_kind: pa.DataType | None = None,
) -> pa.Table:
    """Columns `ts` and `tags`: lists of 0 to `largest` draws from `items`, with repeats (and nulls)."""
    rng = _rng(seed)
    times = timestamps(rng, rows, span=span, kind=time_kind)
    lists, _ = _lists(rng, rows, items=items, largest=largest, null_share=null_share, item_kind=item_kind)
    return pa.table({"ts": times, "tags": lists})


def weighted_stream(
    seed: Seed,
    rows: int,
    *,
    items: int = 8,
    largest: int = 5,
    span: int = 100,
    null_share: float = 0.0,
    negative: bool = False,
    item_kind: pa.DataType | None = None,
    time_kind: pa.DataType | None = None,
) -> pa.Table:
    """Columns `ts`, `kw`, `w`: lists of equal length; weights are eighths, so products and sums are exact."""
    rng = _rng(seed)
    times = timestamps(rng, rows, span=span, kind=time_kind)
    lists, sizes = _lists(rng, rows, items=items, largest=largest, null_share=null_share, item_kind=item_kind)
    eighths = rng.integers(-8 if negative else 0, 17, int(sizes.sum())) / 8
    flat = _with_nulls(pa.array(eighths, pa.float64()), rng, null_share)
    weights = pa.ListArray.from_arrays(_offsets(sizes), flat)
    return pa.table({"ts": times, "kw": lists, "w": _with_nulls(weights, rng, null_share / 2)})


def band_stream(
    seed: Seed,
    rows: int,
    *,
    spread: int = 40,
    span: int = 100,
    null_share: float = 0.0,
    price_kind: pa.DataType | None = None,
    time_kind: pa.DataType | None = None,
) -> pa.Table:
    """Columns `ts` and `price`: whole numbers in [0, spread), quarters of them for a float `price_kind`."""
    rng = _rng(seed)
    times = timestamps(rng, rows, span=span, kind=time_kind)
    kind = price_kind or pa.int64()
    drawn = rng.integers(0, max(spread, 1), rows)
    prices = pa.array(drawn / 4 if pa.types.is_floating(kind) else drawn).cast(kind)
    return pa.table({"ts": times, "price": _with_nulls(prices, rng, null_share)})


def disordered(seed: Seed, table: pa.Table, *, time: str = "ts", reach: int = 5) -> pa.Table:
    """The table in another order of arrival: each row is delayed by 0 to `reach` units of its time column."""
    rng = _rng(seed)
    column = table.column(time).combine_chunks()
    times = np.asarray(column.cast(pa.int64()).fill_null(0))
    return table.take(pa.array(np.argsort(times + rng.integers(0, reach + 1, len(times)), kind="stable")))


def gedik_streams(
    seed: int,
    kappa: float = 0.6,
    rate: float | tuple[float, float] = 500.0,
    seconds: float = 120.0,
    *,
    domain: int = 100,
    size_mean: float = 5.0,
    size_deviation: float = 1.0,
    cycle: float = 40.0,
    shift: float | None = None,
    profile: Sequence[tuple[float, float]] | None = None,
    type_shares: Mapping[str, float] | None = None,
    poisson: bool = False,
    jump: tuple[float, float] | None = None,
) -> tuple[pa.Table, pa.Table]:
    """The two streams of [Gedik] VI: sets whose popular items drift in a cycle, the left stream shifted.

    Columns `ts` (timestamp in us, from 0) and `items` (list<int32>), and `type` when `type_shares` names
    types and their frequencies. `kappa` is the Zipf exponent of item popularity, `rate` rows per second (one,
    or one per stream), evenly spaced with phases 1/4 and 3/4. `profile` replaces `rate` and `seconds` by
    stretches of (seconds, rate). `shift` is the left stream's lag behind the cycle, 5/8 of it unless given;
    `jump` is (second, shift from then on). `poisson` arrivals come at random instead of evenly.

    Resolves [Gedik]'s open points as SPEC G3 (which stream is shifted) and G13: a set has
    max(1, round(Normal)) distinct items, drawn by successive Zipf draws without replacement.
    """
    if domain < 1 or cycle <= 0:
        raise ConfigError(f"domain={domain!r}, cycle={cycle!r}: both must be positive")
    lag = 0.625 * cycle if shift is None else shift
    rates = rate if isinstance(rate, tuple) else (rate, rate)
    rng = np.random.Generator(np.random.PCG64(seed))
    streams = []
    for own_rate, phase, own_lag in zip(rates, (0.25, 0.75), (lag, 0.0), strict=True):
        times_s = _arrivals(profile if profile is not None else [(seconds, own_rate)], phase)
        if poisson:
            times_s = _scattered(rng, times_s)
        sizes = np.maximum(1, np.rint(rng.normal(size_mean, size_deviation, len(times_s)))).astype(np.int64)
        sizes = np.minimum(sizes, domain)
        lags: Any = own_lag
        if jump is not None and own_lag != 0.0:
            lags = np.where(times_s < jump[0], own_lag, jump[1])
        most_popular = np.floor(domain * np.mod(times_s - lags, cycle) / cycle).astype(np.int64)
        ranks = _zipf_sets(rng, sizes, domain=domain, kappa=kappa)
        items = (ranks + np.repeat(most_popular, sizes)) % domain
        columns: dict[str, Any] = {
            "ts": pa.array(np.rint(times_s * 1e6).astype(np.int64)).cast(pa.timestamp("us")),
            "items": pa.ListArray.from_arrays(_offsets(sizes), pa.array(items.astype(np.int32))),
        }
        if type_shares is not None:
            shares = np.array(list(type_shares.values()), dtype=float)
            drawn = rng.choice(len(shares), len(times_s), p=shares / shares.sum())
            columns["type"] = pa.array(list(type_shares)).take(pa.array(drawn))
        streams.append(pa.table(columns))
    return streams[0], streams[1]


def _arrivals(profile: Sequence[tuple[float, float]], phase: float) -> npt.NDArray[np.float64]:
    """Evenly spaced times in seconds, stretch by stretch; `phase` is the first row's share of a gap."""
    stretches, start_s = [], 0.0
    for length_s, rate_per_s in profile:
        if length_s < 0 or rate_per_s < 0:
            raise ConfigError(
                f"profile: ({length_s!r}, {rate_per_s!r}) is negative; (seconds, rate) >= 0 is allowed"
            )
        count = max(0, math.ceil(length_s * rate_per_s - phase))  # before the next stretch begins
        stretches.append(start_s + (np.arange(count) + phase) / rate_per_s if count else np.empty(0))
        start_s += length_s
    return np.concatenate(stretches) if stretches else np.empty(0)


def _scattered(rng: np.random.Generator, times_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """As many arrivals, at the moments of a Poisson process that has this many: uniform by rank."""
    if not len(times_s):
        return times_s
    places = np.sort(rng.random(len(times_s))) * len(times_s)
    return np.interp(places, np.arange(len(times_s)) + 0.5, times_s)


def _zipf_sets(
    rng: np.random.Generator, sizes: npt.NDArray[np.int64], *, domain: int, kappa: float
) -> npt.NDArray[np.int64]:
    """Popularity ranks (0 = most popular) of every set, end to end.

    The items that finish first in a race of exponential clocks with rates p are distributed as successive
    draws without replacement with probabilities p.
    """
    popularity = np.arange(1, domain + 1, dtype=float) ** -kappa
    popularity /= popularity.sum()
    if len(sizes) and int(sizes.max()) == 1:
        return np.searchsorted(np.cumsum(popularity), rng.random(len(sizes))).clip(0, domain - 1)
    step = max(1, _CHUNK_CELLS // domain)
    chunks = [np.empty(0, np.int64)]
    for begin in range(0, len(sizes), step):
        chunk_sizes = sizes[begin : begin + step]
        finish = rng.standard_exponential((len(chunk_sizes), domain)) / popularity
        largest = int(chunk_sizes.max())
        winners = np.argpartition(finish, largest - 1, axis=1)[:, :largest]
        order = np.argsort(np.take_along_axis(finish, winners, axis=1), axis=1)
        winners = np.take_along_axis(winners, order, axis=1)
        chunks.append(winners[np.arange(largest) < chunk_sizes[:, None]])
    return np.concatenate(chunks)


def _lists(
    rng: np.random.Generator,
    rows: int,
    *,
    items: int,
    largest: int,
    null_share: float,
    item_kind: pa.DataType | None,
) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    sizes = rng.integers(0, largest + 1, rows)
    flat = pa.array(rng.integers(0, max(items, 1), int(sizes.sum())), pa.int64()).cast(
        item_kind or pa.int64()
    )
    lists = pa.ListArray.from_arrays(_offsets(sizes), _with_nulls(flat, rng, null_share))
    return _with_nulls(lists, rng, null_share), sizes


def _offsets(sizes: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())


def _with_nulls(values: pa.Array, rng: np.random.Generator, share: float) -> pa.Array:
    if share <= 0 or len(values) == 0:
        return values
    places = np.arange(len(values))
    return values.take(pa.array(places, mask=rng.random(len(values)) < share))


def _rng(seed: Seed) -> np.random.Generator:
    return seed if isinstance(seed, np.random.Generator) else np.random.Generator(np.random.PCG64(seed))
