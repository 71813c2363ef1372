from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watersmeet as wm
from watersmeet.cli.expression import parse_predicate
from watersmeet.errors import ConfigError
from watersmeet.vocabulary import Predicate

columns = st.one_of(st.sampled_from(["key", "tags", "my tags", "class", "a.b", "naïve"]), st.text(min_size=1))
shares = st.floats(0.001, 1.0)


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("equal(key)", wm.equal("key")),
        ("equal(a, b)", wm.equal("a", "b")),
        ("equal(left=a, right=b)", wm.equal(left="a", right="b")),
        ("equal(left=(a, b), right=(c, d))", wm.equal(left=("a", "b"), right=("c", "d"))),
        ("overlap(tags, 3)", wm.overlap("tags", at_least=3)),
        ("overlap('my tags', at_least=3)", wm.overlap("my tags", at_least=3)),
        (
            "overlap(left=answers, right=host, at_least=1)",
            wm.overlap(left="answers", right="host", at_least=1),
        ),
        ("subset(tags)", wm.subset("tags")),
        ("superset(tags)", wm.superset("tags")),
        ("same_set(tags)", wm.same_set("tags")),
        ("jaccard(tags, 0.6)", wm.jaccard("tags", at_least=0.6)),
        ("band(price, 0.25)", wm.band("price", within=0.25)),
        ("band(seen, '2s')", wm.band("seen", within="2s")),
        ("cosine(kw, w, 0.8)", wm.cosine(items="kw", weights="w", at_least=0.8)),
        ("cosine(words, 0.8)", wm.cosine(items="words", at_least=0.8)),
        ("dot(left=(kw, w), right=m, at_least=2)", wm.dot(left=("kw", "w"), right="m", at_least=2)),
        ("distance(image, 'mean-abs', 40)", wm.distance("image", metric="mean-abs", at_most=40)),
        ("overlap(cnn.tags, 3)", wm.overlap("cnn.tags", at_least=3)),
        (
            " equal(a) & (overlap(b, 2) & subset(c)) ",
            wm.equal("a") & wm.overlap("b", at_least=2) & wm.subset("c"),
        ),
    ],
)
def test_an_expression_is_read_as_the_predicate_it_spells(text: str, predicate: Predicate) -> None:
    assert parse_predicate(text) == predicate


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    left, right = draw(columns), draw(columns)
    kinds: list[Predicate] = [
        wm.equal(left, right),
        wm.equal(left=left, right=right),
        wm.overlap(left, at_least=draw(st.integers(1, 99))),
        wm.subset(left=left, right=right),
        wm.jaccard(right, at_least=draw(shares)),
        wm.cosine(left=(left, left + "w"), right=right, at_least=draw(shares)),
        wm.dot(items=left, weights=left + "w", at_least=draw(st.floats(0.001, 1e9))),
        wm.band(left, within=draw(st.one_of(st.integers(0, 2**70), st.floats(0, 1e9), st.just("1h5ms")))),
        wm.distance(left, metric="l2", at_most=draw(st.floats(0, 1e9))),
    ]
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    result = chosen[0]
    for part in chosen[1:]:
        result = result & part
    return result


@given(predicates())
def test_a_printed_predicate_reads_back_equal(predicate: Predicate) -> None:
    assert parse_predicate(str(predicate)) == predicate


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tags",
        "overlap(tags, 3",
        "overlap(tags)",
        "overlap(tags, 0)",
        "overlap(tags, 3, 4)",
        "overlap(tags, 3, at_least=3)",
        "overlap(tags, most=3)",
        "overlap(**tags)",
        "overlap(*tags)",
        "equal(a) and equal(b)",
        "equal(a) | equal(b)",
        "equal(a) + equal(b)",
        "equal(a)(b)",
        "nearest(a)",
        "where(f)",
        "cosine(kw)",
        "overlap(tags, None)",
        "overlap(tags, open('x'))",
        "overlap(tags, 1 + 1)",
        "band(price, 2s)",
        "band(price, -1)",
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "equal(a" + ")" * 50,
        "(" * 400 + "equal(a)" + ")" * 400,
        "equal(a)\x00",
    ],
)
def test_what_is_no_predicate_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(ConfigError, match="--on"):
        parse_predicate(text)


@given(st.text(max_size=60))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(parse_predicate(text), Predicate)
