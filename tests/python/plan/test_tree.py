from __future__ import annotations

import pytest

from watersmeet.errors import ConfigError
from watersmeet.plan import every_tree, parse_tree

COUNTS = {2: 1, 3: 3, 4: 15, 5: 105, 6: 945, 7: 10395}


def test_a_tree_names_its_joins_by_their_streams_from_the_leaves_up() -> None:
    tree = parse_tree((("A", "B"), ("C", ["D", "E"])))
    assert [join.name for join in tree.joins] == ["A+B", "D+E", "C+D+E", "A+B+C+D+E"]
    assert tree.half_joins == ("A", "B", "D", "E", "C", "D+E", "A+B", "C+D+E")
    assert tree.path("D") == ("D", "D+E", "C+D+E")
    assert tree.nested() == (("A", "B"), ("C", ("D", "E")))
    assert str(tree) == "((A B) (C (D E)))"
    assert parse_tree(tree) is tree


@pytest.mark.parametrize("streams", range(3, 8))
def test_lemma_2_every_tree_has_two_fewer_susceptible_states_than_streams(streams: int) -> None:
    names = "ABCDEFG"[:streams]
    seen = 0
    for nested in every_tree(names):
        tree = parse_tree(nested)
        assert len(tree.susceptible) == streams - 2
        assert len(tree.half_joins) == 2 * len(tree.joins) == 2 * (streams - 1)
        seen += 1
    assert seen == COUNTS[streams]


def test_every_tree_lists_no_tree_twice_not_even_mirrored() -> None:
    def shape(nested: object) -> object:
        return nested if isinstance(nested, str) else frozenset(shape(part) for part in nested)  # type: ignore[attr-defined]

    trees = [shape(tree) for tree in every_tree("ABCDEF")]
    assert len(set(trees)) == len(trees) == COUNTS[6]


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ("A", "two streams or more"),
        (("A", "A"), "'A' occurs twice"),
        (("A", ("B", "A")), "'A' occurs twice"),
        (("A", "B", "C"), "a stream's name or a pair"),
        ((("A", "B"), 3), "3: expected a stream's name or a pair"),
        (("A+B", "C"), r"without '\+'"),
        (("", "C"), "a name that is not empty"),
        (None, "a stream's name or a pair"),
    ],
)
def test_a_bad_tree_is_refused_with_its_reason(tree: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_tree(tree)  # type: ignore[arg-type]


def test_a_path_of_an_unknown_stream_names_the_streams() -> None:
    with pytest.raises(ConfigError, match="'Z': expected one of 'A', 'B'"):
        parse_tree(("A", "B")).path("Z")


def test_a_node_that_is_no_input_has_no_partner() -> None:
    with pytest.raises(ConfigError, match="'Z': not an input of 'A\\+B'"):
        parse_tree(("A", "B")).root.partner("Z")
