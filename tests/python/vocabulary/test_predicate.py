from __future__ import annotations

import pickle
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

import watersmeet as wm
from watersmeet.errors import ConfigError
from watersmeet.vocabulary import (
    And,
    Band,
    Cosine,
    Distance,
    Dot,
    Equal,
    Jaccard,
    Overlap,
    Predicate,
    SameSet,
    Span,
    Subset,
    Superset,
    Where,
)

EVERY_KIND = [
    (wm.equal("key"), Equal(("key",), ("key",)), "equal(key)"),
    (wm.equal("a", "b"), Equal(("a", "b"), ("a", "b")), "equal(a, b)"),
    (
        wm.equal(left="person", right="callee"),
        Equal(("person",), ("callee",)),
        "equal(left=person, right=callee)",
    ),
    (
        wm.equal(left=["a", "b"], right=("c", "d")),
        Equal(("a", "b"), ("c", "d")),
        "equal(left=(a, b), right=(c, d))",
    ),
    (wm.overlap("tags", at_least=3), Overlap("tags", "tags", 3), "overlap(tags, at_least=3)"),
    (
        wm.overlap(left="answers", right="host", at_least=1),
        Overlap("answers", "host", 1),
        "overlap(left=answers, right=host, at_least=1)",
    ),
    (wm.subset("tags"), Subset("tags", "tags"), "subset(tags)"),
    (wm.superset(left="a", right="b"), Superset("a", "b"), "superset(left=a, right=b)"),
    (wm.same_set("tags"), SameSet("tags", "tags"), "same_set(tags)"),
    (wm.jaccard("tags", at_least=0.6), Jaccard("tags", "tags", 0.6), "jaccard(tags, at_least=0.6)"),
    (
        wm.dot(items="kw", weights="w", at_least=0.5),
        Dot("kw", "w", "kw", "w", 0.5),
        "dot(items=kw, weights=w, at_least=0.5)",
    ),
    (wm.dot(items="kw", at_least=2), Dot("kw", None, "kw", None, 2.0), "dot(items=kw, at_least=2.0)"),
    (
        wm.cosine(left=("kw", "w"), right="map", at_least=0.8),
        Cosine("kw", "w", "map", None, 0.8),
        "cosine(left=(kw, w), right=map, at_least=0.8)",
    ),
    (wm.band("price", within=0.25), Band("price", "price", 0.25), "band(price, within=0.25)"),
    (
        wm.band(left="sent", right="seen", within="2s"),
        Band("sent", "seen", Span(nanoseconds=2 * 10**9)),
        "band(left=sent, right=seen, within='2s')",
    ),
    (
        wm.distance("image", metric="mean-abs", at_most=40),
        Distance("image", "image", "mean-abs", 40.0),
        "distance(image, metric='mean-abs', at_most=40.0)",
    ),
]


@pytest.mark.parametrize(("made", "value", "text"), EVERY_KIND, ids=[case[2] for case in EVERY_KIND])
def test_each_function_makes_its_value_and_prints_readably(
    made: Predicate, value: Predicate, text: str
) -> None:
    assert made == value
    assert str(made) == text
    assert hash(made) == hash(value)
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("made", [case[0] for case in EVERY_KIND], ids=[case[2] for case in EVERY_KIND])
def test_mirroring_exchanges_the_columns_and_twice_is_nothing(made: Predicate) -> None:
    mirrored = made.mirrored()
    assert mirrored.mirrored() == made
    assert (mirrored.left_columns, mirrored.right_columns) == (made.right_columns, made.left_columns)


def test_subset_mirrors_to_superset() -> None:
    assert wm.subset(left="a", right="b").mirrored() == wm.superset(left="b", right="a")


def test_and_flattens_and_keeps_each_part_once() -> None:
    a, b, c = wm.equal("a"), wm.equal("b"), wm.subset("c")
    assert (a & b) & (c & a) == And((a, b, c))
    assert (a & b & c).leaves == (a, b, c)
    assert a.leaves == (a,)
    assert str(a & c) == "equal(a) & subset(c)"
    assert (a & wm.band(left="x", right="y", within=1)).right_columns == ("a", "y")


def test_a_predicate_is_not_a_truth_value() -> None:
    with pytest.raises(ConfigError, match="combine two with '&'"):
        _ = wm.equal("a") and wm.equal("b")


def test_and_with_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        _ = wm.equal("a") & "b"


def test_where_holds_a_function_and_remembers_which_side_comes_first() -> None:
    def close(left: object, right: object) -> object:
        return left is right

    assert wm.where(close) == Where(close)
    assert str(wm.where(close)) == "where(close)"
    assert wm.where(close).mirrored().swapped
    assert not wm.where(close).mirrored().mirrored().swapped


def test_names_that_are_no_identifiers_are_printed_in_quotes() -> None:
    assert str(wm.overlap("my tags", at_least=1)) == "overlap('my tags', at_least=1)"
    assert str(wm.equal("class")) == "equal('class')"


def test_whole_thresholds_may_come_as_other_number_types() -> None:
    assert wm.overlap("t", at_least=np.int64(3)) == wm.overlap("t", at_least=3)  # type: ignore[arg-type]
    assert wm.overlap("t", at_least=3.0).at_least == 3  # type: ignore[arg-type]
    assert wm.band("t", within=np.float64(0.5)) == wm.band("t", within=0.5)


def test_a_band_on_integers_or_decimals_stays_exact() -> None:
    assert wm.band("t", within=2**63 + 1).within == 2**63 + 1
    assert wm.band("t", within=Decimal("0.1")).within == Decimal("0.1")


@pytest.mark.parametrize(
    "make",
    [
        lambda: wm.equal(),
        lambda: wm.equal(""),
        lambda: wm.equal(3),  # type: ignore[arg-type]
        lambda: wm.equal("a", left="b", right="c"),
        lambda: wm.equal(left="a"),
        lambda: wm.equal(left=["a", "b"], right="c"),
        lambda: wm.equal(left=[], right=[]),
        lambda: wm.overlap("tags", at_least=0),
        lambda: wm.overlap("tags", at_least=2.5),  # type: ignore[arg-type]
        lambda: wm.overlap("tags", at_least=True),
        lambda: wm.overlap("tags", at_least=float("nan")),  # type: ignore[arg-type]
        lambda: wm.overlap(at_least=3),
        lambda: wm.overlap("tags", left="a", right="b", at_least=3),
        lambda: wm.overlap(left="a", at_least=3),
        lambda: wm.jaccard("tags", at_least=0),
        lambda: wm.jaccard("tags", at_least=1.5),
        lambda: wm.jaccard("tags", at_least=float("nan")),
        lambda: wm.jaccard("tags", at_least="0.6"),  # type: ignore[arg-type]
        lambda: wm.dot(items="kw", weights="w", at_least=0),
        lambda: wm.dot(items="kw", weights="w", at_least=float("inf")),
        lambda: wm.dot(items="kw", weights="kw", at_least=1),
        lambda: wm.dot(weights="w", at_least=1),
        lambda: wm.dot(items="kw", left="a", right="b", at_least=1),
        lambda: wm.dot(left=("a", "b", "c"), right="b", at_least=1),  # type: ignore[arg-type]
        lambda: wm.cosine(items="kw", weights="w", at_least=1.1),
        lambda: wm.band("price", within=-1),
        lambda: wm.band("price", within=float("inf")),
        lambda: wm.band("price", within=True),
        lambda: wm.band("price", within="3i"),
        lambda: wm.band("price", within="-1s"),
        lambda: wm.band("price", within=Decimal("NaN")),
        lambda: wm.band("price", within=None),  # type: ignore[arg-type]
        lambda: wm.distance("image", metric="l3", at_most=1),  # type: ignore[arg-type]
        lambda: wm.distance("image", metric="l2", at_most=-1),
        lambda: wm.where("not a function"),  # type: ignore[arg-type]
        lambda: And(()),
        lambda: And(("x",)),  # type: ignore[arg-type]
    ],
)
def test_what_has_no_meaning_is_refused_when_it_is_written(make: Callable[[], object]) -> None:
    with pytest.raises(ConfigError, match="expected"):
        make()
