from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.python.ring.protocol_model import Message, Ring, Row, State, explore


def rows_of(streams: int, count: int, *, seed: int, gap: int) -> tuple[Row, ...]:
    chance = random.Random(seed)
    now, rows = 0, []
    for position in range(count):
        now += chance.randint(0, gap)
        rows.append((chance.randrange(streams), now, position))
    return tuple(rows)


@pytest.mark.parametrize("interleave", [1, 2, 3])
@pytest.mark.parametrize("slices", [1, 2, 3, 4])
@pytest.mark.parametrize("streams", [2, 3, 4])
def test_every_order_of_moves_gives_the_nested_loop(streams: int, slices: int, interleave: int) -> None:
    for seed, gap in ((0, 2), (1, 4)):
        rows = rows_of(streams, 8 if streams * slices < 12 else 6, seed=seed, gap=gap)
        states, copies = explore(Ring(streams, slices, window=6, interleave=interleave, rows=rows))
        assert states > len(rows)
        assert copies <= interleave * len(rows)


@pytest.mark.parametrize("streams", [3, 4])
def test_a_selective_predicate_closes_cycles_with_null_ends(streams: int) -> None:
    rows = rows_of(streams, 6, seed=3, gap=1)
    odd = Ring(streams, 3, 6, 1, rows, matches=lambda members: sum(row[2] for row in members) % 3 != 0)
    explore(odd)
    nothing = replace(odd, matches=lambda members: False)
    explore(nothing)


class EndsOneRoundEarly(Ring):
    """A ring that takes the last END but one for the last."""

    @property
    def rounds(self) -> int:
        return self.streams - 2


class FreesAtOnce(Ring):
    """A ring that forgets a cycle when its first END passes, and so frees rows that are still needed."""

    def _end(self, state: State, place: int, cycle: int, number: int) -> State:
        return super()._end(self._closed(state, place, cycle) if number == 1 else state, place, cycle, number)


class ProbesBeforePropagating(Ring):
    """A ring whose nodes send what a row meets before they send the row on."""

    def _send(self, state: State, place: int, messages: list[Message]) -> State:
        to = (place + 1) % self.slices
        ahead = [message for message in state.links[to] if message[0] == "probe"]
        if not ahead or not messages or messages[0][0] != "partial":
            return super()._send(state, place, messages)
        behind = tuple(message for message in state.links[to] if message[0] != "probe")
        links = (*state.links[:to], (*behind, *messages, *ahead), *state.links[to + 1 :])
        return replace(state, links=links)


@pytest.mark.parametrize("kind", [EndsOneRoundEarly, FreesAtOnce, ProbesBeforePropagating])
def test_a_broken_protocol_is_found(kind: type[Ring]) -> None:
    rows = ((0, 0, 0), (1, 0, 1), (1, 2, 2), (2, 3, 3), (0, 4, 4))
    with pytest.raises((AssertionError, KeyError)):
        explore(kind(3, 3, window=6, interleave=1, rows=rows))
