"""The published model of a plan, row by row: states between joins keep their last rows, whatever the windows
of their members, as long as these are fresh.
"""

from __future__ import annotations

from typing import Any

from tests.reference.multi import MultiCase, milliseconds, truths_of

from watersmeet.vocabulary import Band

__all__ = ["counted_rows"]

Row = dict[int, int]  # per stream, the row that is a member


def counted_rows(case: MultiCase, tree: Any, states: dict[str, int]) -> list[tuple[int, ...]]:
    """The results in the order in which they come."""
    names = [stream.name for stream in case.streams]
    times = [milliseconds(table) for table in case.tables]
    truths = truths_of(case)
    useless = [_without_a_key(case, place) for place in range(len(names))]
    kept: dict[str, list[Row]] = {}
    results: list[tuple[int, ...]] = []

    def fresh(row: Row, now: int) -> bool:
        for stream, member in row.items():
            freshness = case.streams[stream].freshness
            if freshness is not None and (now - (times[stream][member] or 0)) * 1_000_000 > freshness.amount:
                return False
        return True

    def within(node: Any, now: int) -> list[Row]:
        held = kept.get(_name(node), [])
        if not isinstance(node, str):
            return [row for row in held[-states[_name(node)] :] if fresh(row, now)]
        stream = names.index(node)
        window = case.streams[stream].window
        assert window is not None
        if window.is_rows:
            return [row for row in held[-window.amount :] if fresh(row, now)]
        ages = [(now - (times[stream][row[stream]] or 0)) * 1_000_000 for row in held]
        return [row for row, age in zip(held, ages, strict=True) if age <= window.amount and fresh(row, now)]

    def matches(one: Row, other: Row) -> bool:
        for (left, right), pairs in truths.items():
            for own, its in ((one, other), (other, one)):
                if left in own and right in its and (own[left], its[right]) not in pairs:
                    return False
        return True

    def new_rows(node: Any, place: int, row: int, now: int) -> list[Row]:
        """What the arrival of a row makes of a node, and keeps of it."""
        if isinstance(node, str):
            made = [{place: row}] if names[place] == node else []
        elif row in useless[place]:
            made = []  # matches nothing, and is kept for its window alone
        else:
            made = []
            for own, other in (node, node[::-1]):
                for mine in new_rows(own, place, row, now):
                    made += [{**mine, **its} for its in within(other, now) if matches(mine, its)]
        kept.setdefault(_name(node), []).extend(made)
        return made

    order = sorted(
        (ts, place, row) for place, own in enumerate(times) for row, ts in enumerate(own) if ts is not None
    )
    for ts, place, row in order:
        for found in new_rows(tree, place, row, ts):
            results.append(tuple(found[stream] for stream in range(len(names))))
    return results


def _without_a_key(case: MultiCase, place: int) -> set[int]:
    """Rows with a null where a predicate looks, or what is not a number where a band does."""
    name = case.streams[place].name
    found: set[int] = set()
    for (left, right), on in case.on.items():
        for leaf in on.leaves:
            sides = (leaf.left_columns if left == name else ()), (leaf.right_columns if right == name else ())
            for column in (*sides[0], *sides[1]):
                values = case.tables[place].column(column).to_pylist()
                found |= {row for row, value in enumerate(values) if value is None}
                if isinstance(leaf, Band):
                    found |= {row for row, value in enumerate(values) if value != value}
    return found


def _name(node: Any) -> str:
    return node if isinstance(node, str) else f"{_name(node[0])}+{_name(node[1])}"
