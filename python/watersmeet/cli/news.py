"""Two made-up news agencies: seeded streams of keyworded stories about events that both report.

An event breaks out at some moment and has eight keywords of its own. Each agency writes several stories
about it in the minutes that follow, each with five of the event's keywords and two that it shares with
nothing; two stories in five are about no event at all. Keywords are drawn so that some are common and most
are rare, as words are.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["News", "news_stream", "news_world"]

_EVENT_WORDS: Final = 8
_STORY_WORDS: Final = 5
_NOISE_WORDS: Final = 2
_REPORTING_S: Final = 120.0  # mean delay between an event and a story about it
_TIDE_S: Final = 900.0  # from one busy time to the next
_SWING: Final = 0.7  # how much more there is to tell then
_EPOCH_S: Final = 1_767_225_600  # 2026-01-01 00:00 UTC

_TOPICS: Final = """
    election parliament budget minister treaty strike court verdict appeal inquiry storm flood drought
    wildfire quake harvest grain oil gas pipeline refinery copper steel shipping port ferry railway
    airline airport satellite rocket telescope vaccine hospital outbreak clinic merger takeover earnings
    dividend bond yield currency inflation tariff export factory chip battery startup privacy breach
    museum festival novel opera film championship final transfer marathon regatta cyclist keeper coach
    stadium border refugee ceasefire summit embassy sanction patrol reactor grid solar turbine reservoir
    glacier reef whale forest
"""
_SYLLABLES: Final = (
    "ba do ka li mo na pe ri sa to ve zu dra fel gan hol jor kim lan mer nor pol qui sen tal ur vin wes"
)


@dataclass(frozen=True, slots=True)
class News:
    """What happens, whoever reports it: when events break out, and the keywords of each."""

    words: pa.Array
    popularity: npt.NDArray[np.float64]  # cumulative
    starts_s: npt.NDArray[np.float64]
    keywords: npt.NDArray[np.int64]  # event by keyword


def news_world(seed: int, *, stories: int, rate_per_s: float) -> News:
    """The events behind `stories` stories per agency at `rate_per_s` stories a second."""
    rng = np.random.default_rng(seed)
    words = _words(20_000)
    weights = 1.0 / np.arange(1, len(words) + 1) ** 0.7
    popularity = np.cumsum(weights / weights.sum())
    events = max(1, stories // 8)
    starts = np.sort(_moments(rng.random(events), stories / rate_per_s))
    keywords = np.searchsorted(popularity, rng.random((events, _EVENT_WORDS)))
    return News(words, popularity, starts, keywords)


def _moments(drawn: npt.NDArray[np.float64], seconds: float) -> npt.NDArray[np.float64]:
    """When events break out: there are busy times and quiet ones."""
    at = np.linspace(0.0, seconds, 10_000)
    busy = np.cumsum(1.0 + _SWING * np.sin(2 * np.pi * at / _TIDE_S))
    return np.asarray(np.interp(drawn * busy[-1], busy, at), dtype=np.float64)


def news_stream(world: News, seed: int, *, agency: str, stories: int) -> pa.Table:
    """One agency's stories in time order: ts, story, agency, keywords."""
    rng = np.random.default_rng([seed, *agency.encode()])
    event = rng.integers(0, len(world.starts_s), stories)
    times = world.starts_s[event] + rng.exponential(_REPORTING_S, stories)
    order = np.argsort(times, kind="stable")
    event, times = event[order], times[order]
    picked = rng.random((stories, _EVENT_WORDS)).argsort(axis=1)[:, :_STORY_WORDS]
    own = np.take_along_axis(world.keywords[event], picked, axis=1)
    drawn = np.searchsorted(world.popularity, rng.random((stories, _STORY_WORDS + _NOISE_WORDS)))
    about_nothing = rng.random(stories) < 0.4
    drawn[~about_nothing, :_STORY_WORDS] = own[~about_nothing]
    return _table(world.words, times, drawn, agency)


def _table(
    words: pa.Array, times_s: npt.NDArray[np.float64], drawn: npt.NDArray[np.int64], agency: str
) -> pa.Table:
    stories, width = drawn.shape
    offsets = pa.array(np.arange(0, (stories + 1) * width, width), pa.int32())
    moments = ((times_s + _EPOCH_S) * 1_000_000).astype(np.int64)
    return pa.table(
        {
            "ts": pa.array(moments).cast(pa.timestamp("us", "UTC")),
            "story": pa.array(np.arange(stories)),
            "agency": pa.array([agency] * stories).dictionary_encode(),
            "keywords": pa.ListArray.from_arrays(offsets, words.take(pa.array(drawn.ravel()))),
        }
    )


def _words(count: int) -> pa.Array:
    """Topic words first, as the most common, then made-up names."""
    names, syllables = _TOPICS.split(), _SYLLABLES.split()
    for first, second, third in itertools.islice(itertools.product(syllables, repeat=3), count - len(names)):
        names.append((first + second + third).capitalize())
    return pa.array(names)
