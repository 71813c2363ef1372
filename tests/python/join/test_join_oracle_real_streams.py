"""The natural joins of the real streams in ../shared/data, counted by DuckDB in the test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.reference.sql import connection, jaccard, overlap, sorted_pairs, sql_pairs

import watersmeet as wm

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000  # ms, the unit of every file
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real streams are not here: no folder {DATA}")


@dataclass(frozen=True, slots=True)
class RealJoin:
    """Two queries, the predicate twice, bounds on ts_right - ts_left in ms, and the README's magnitude."""

    left: str
    right: str
    on: Any
    condition: str
    between: tuple[int, int]
    about: int
    bucketed: bool = False


def _crossed(left: Any, right: Any) -> Any:
    return pc.greater_equal(left["bid_e5"], right["ask_e5"])


def _tweets(airline: str) -> str:
    source = f"'{DATA}/airline_tweets/tweets.parquet'"
    return f"SELECT ts, hashtags, tokens FROM {source} WHERE airline = '{airline}' ORDER BY seq"


def _events(kind: str) -> str:
    source = f"'{DATA}/gharchive/events.parquet'"
    return f"SELECT ts, repo_id, actor_id FROM {source} WHERE type = '{kind}' ORDER BY seq"


def _motes(condition: str) -> str:
    source = f"'{DATA}/intel_lab/readings.parquet'"
    return f"SELECT ts, moteid, temp_c100 FROM {source} WHERE {condition} ORDER BY seq"


def _quotes(name: str) -> str:
    return f"SELECT ts, bid_e5, ask_e5 FROM '{DATA}/lean_fx/{name}.parquet' ORDER BY seq"


def _requests(condition: str) -> str:
    return f"SELECT ts, host FROM '{DATA}/nasa_http/requests.parquet' WHERE {condition} ORDER BY seq"


def _flights(name: str, condition: str = "true") -> str:
    return f"SELECT * EXCLUDE (seq) FROM '{DATA}/nycflights13/{name}.parquet' WHERE {condition} ORDER BY seq"


def _stories(condition: str = "true") -> str:
    return (
        "SELECT ts, topics, title_tokens, body_tokens"
        f" FROM '{DATA}/reuters21578/docs.parquet' WHERE {condition} ORDER BY seq"
    )


def _library(name: str, condition: str = "true") -> str:
    source = f"'{DATA}/ulb_library_wsn/{name}.parquet'"
    return f"SELECT * EXCLUDE (seq, part) FROM {source} WHERE {condition} ORDER BY seq"


_PAGES = "url LIKE '%.html' OR url LIKE '%/'"
_IMAGES = "url LIKE '%.gif' OR url LIKE '%.jpg' OR url LIKE '%.xbm' OR url LIKE '%.jpeg'"
_TOPIC = wm.overlap("topics", at_least=1)

JOINS: dict[str, RealJoin] = {
    "tweets_united_southwest_three_words": RealJoin(
        _tweets("United"), _tweets("Southwest"), wm.overlap("tokens", at_least=3),
        overlap("l.tokens", "r.tokens", 3), (-HOUR, HOUR), 3_000,
    ),
    "tweets_american_us_airways_jaccard": RealJoin(
        _tweets("American"), _tweets("US Airways"), wm.jaccard("tokens", at_least=0.4),
        jaccard("l.tokens", "r.tokens", 2, 5), (-24 * HOUR, 24 * HOUR), 100,
    ),
    "tweets_united_us_airways_hashtag": RealJoin(
        _tweets("United"), _tweets("US Airways"), wm.overlap("hashtags", at_least=1),
        overlap("l.hashtags", "r.hashtags", 1), (-HOUR, HOUR), 25,
    ),
    "github_pushes_and_comments": RealJoin(
        _events("PushEvent"), _events("IssueCommentEvent"), wm.equal("repo_id"),
        "l.repo_id = r.repo_id", (-60 * SECOND, 60 * SECOND), 90,
    ),
    "github_stars_then_forks": RealJoin(
        _events("WatchEvent"), _events("ForkEvent"), wm.equal("repo_id"),
        "l.repo_id = r.repo_id", (0, 10 * MINUTE), 60,
    ),
    "github_creation_then_push": RealJoin(
        _events("CreateEvent"), _events("PushEvent"), wm.equal("actor_id"),
        "l.actor_id = r.actor_id", (0, 5 * MINUTE - 1), 500,
    ),
    "motes_neighbours_band": RealJoin(
        _motes("moteid = 1"), _motes("moteid = 2"), wm.band("temp_c100", within=10),
        "abs(l.temp_c100 - r.temp_c100) <= 10", (-60 * SECOND, 60 * SECOND), 3_000,
    ),
    "motes_groups_equal": RealJoin(
        _motes("moteid BETWEEN 1 AND 10 AND moteid <> 5"),
        _motes("moteid BETWEEN 11 AND 20 AND moteid <> 15"), wm.equal("temp_c100"),
        "l.temp_c100 = r.temp_c100", (0, 30 * SECOND), 7_000,
    ),
    "quotes_same_bid": RealJoin(
        _quotes("eurusd_fxcm"), _quotes("eurusd_oanda"), wm.equal("bid_e5"),
        "l.bid_e5 = r.bid_e5", (-100, 100), 2_000,
    ),
    "quotes_crossed_market": RealJoin(
        _quotes("eurusd_fxcm"), _quotes("eurusd_oanda"), wm.where(_crossed),
        "l.bid_e5 >= r.ask_e5", (-500, 500), 30_000, bucketed=True,
    ),
    "quotes_without_key": RealJoin(
        _quotes("nzdusd_fxcm"), _quotes("nzdusd_oanda"), None, "true", (0, 49), 50_000
    ),
    "web_page_then_images_1s": RealJoin(
        _requests(_PAGES), _requests(_IMAGES), wm.equal("host"), "l.host = r.host", (0, SECOND), 3_000
    ),
    "web_page_then_images_10s": RealJoin(
        _requests(_PAGES), _requests(_IMAGES), wm.equal("host"),
        "l.host = r.host", (0, 10 * SECOND - 1), 10_000,
    ),
    "web_page_and_images_60s": RealJoin(
        _requests(_PAGES), _requests(_IMAGES), wm.equal("host"), "l.host = r.host", (-MINUTE, MINUTE), 30_000
    ),
    "flights_departure_and_arrival": RealJoin(
        _flights("departures"), _flights("arrivals"), wm.equal("flight_key"),
        "l.flight_key = r.flight_key", (0, 2 * HOUR), 90_000,
    ),
    "flights_same_destination": RealJoin(
        _flights("departures", "origin = 'EWR'"), _flights("departures", "origin = 'JFK'"), wm.equal("dest"),
        "l.dest = r.dest", (-10 * MINUTE, 10 * MINUTE), 20_000,
    ),
    "flights_weather_in_force": RealJoin(
        _flights("weather"), _flights("departures"), wm.equal("origin"),
        "l.origin = r.origin", (0, HOUR - 1), 300_000, bucketed=True,
    ),
    "flights_aircraft_leaves_again": RealJoin(
        _flights("arrivals", "tailnum <> ''"), _flights("departures", "tailnum <> ''"), wm.equal("tailnum"),
        "l.tailnum = r.tailnum", (0, 6 * HOUR), 70_000,
    ),
    "stories_one_topic": RealJoin(
        _stories("stream = 'usa'"), _stories("stream = 'world'"), _TOPIC,
        overlap("l.topics", "r.topics", 1), (-10 * MINUTE, 10 * MINUTE), 2_000,
    ),
    "stories_two_topics": RealJoin(
        _stories("stream = 'usa'"), _stories("stream = 'world'"), wm.overlap("topics", at_least=2),
        overlap("l.topics", "r.topics", 2), (-HOUR, HOUR), 200,
    ),
    "stories_one_topic_within_a_day": RealJoin(
        _stories("stream = 'usa'"), _stories("stream = 'world'"), _TOPIC,
        overlap("l.topics", "r.topics", 1), (0, 24 * HOUR - 1), 70_000,
    ),
    "stories_follow_up_titles": RealJoin(
        _stories("stream = 'usa'"), _stories("stream = 'world'"), wm.jaccard("title_tokens", at_least=0.5),
        jaccard("l.title_tokens", "r.title_tokens", 1, 2), (-24 * HOUR, 24 * HOUR), 200,
    ),
    "stories_near_duplicate_bodies": RealJoin(
        _stories("len(body_tokens) > 0"), _stories("len(body_tokens) > 0"),
        wm.jaccard("body_tokens", at_least=0.8),
        jaccard("l.body_tokens", "r.body_tokens", 4, 5), (-HOUR, HOUR), 20_000,
    ),
    "library_own_packets": RealJoin(
        _library("readings"), _library("neighbors"), wm.equal("node", "seqno"),
        "l.node = r.node AND l.seqno = r.seqno", (0, 25 * SECOND), 300_000,
    ),
    "library_heard_packets": RealJoin(
        _library("readings"), _library("neighbors"),
        wm.equal(left=("node", "seqno"), right=("srcnode", "seqno")),
        "l.node = r.srcnode AND l.seqno = r.seqno", (20 * SECOND, 22 * SECOND - 1), 80_000,
    ),
    "library_two_groups_band": RealJoin(
        _library("readings", "node <= 10"), _library("readings", "node > 10"), wm.band("temp_c100", within=5),
        "abs(l.temp_c100 - r.temp_c100) <= 5", (-2 * SECOND + 1, 2 * SECOND - 1), 10_000,
    ),
}  # fmt: skip


def _stream(query: str) -> pa.Table:
    return pa.table(connection().sql(query))


@pytest.mark.parametrize("name", JOINS)
def test_oracle_duckdb_on_real_streams(name: str) -> None:
    real = JOINS[name]
    left, right = _stream(real.left), _stream(real.right)
    expected = sql_pairs(left, right, condition=real.condition, between=real.between, bucketed=real.bucketed)
    assert real.about / 5 < len(expected) < real.about * 5, (
        "the join is the one that the data's README describes"
    )
    bounds = (f"{real.between[0]}ms", f"{real.between[1]}ms")
    table = wm.join(left, right, on=real.on, between=bounds, time="ts", time_unit="ms", output="rows")
    actual = sorted_pairs(table["left_row"].to_numpy(), table["right_row"].to_numpy())
    np.testing.assert_array_equal(actual, expected)


def test_every_arrival_has_exactly_one_departure_of_its_flight() -> None:
    left, right = _stream(_flights("departures")), _stream(_flights("arrivals"))
    table = wm.join(
        left, right, on=wm.equal("flight_key"), between=("0s", "2d"), time_unit="ms", output="rows"
    )
    assert np.array_equal(np.sort(table["right_row"].to_numpy()), np.arange(len(right)))
