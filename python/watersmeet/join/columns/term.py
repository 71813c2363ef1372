"""One term of the core with the columns it takes, and how messages speak of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from watersmeet._core import _native
from watersmeet.errors import SchemaError
from watersmeet.join.columns.exact import ExactBand
from watersmeet.join.columns.handover import Handover
from watersmeet.join.columns.meeting import Coding
from watersmeet.vocabulary import Equal, Predicate

__all__ = ["About", "TermPlan", "leaf_columns"]


@dataclass(frozen=True, slots=True)
class TermPlan:
    """One term of the core, and how each side's columns are handed over to it."""

    kind: str
    coding: Coding
    label: str
    columns: tuple[tuple[Handover, ...], tuple[Handover, ...]]
    at_least: float = 0.0
    within_integer: int = 0
    within_real: float = 0.0
    metric: str = "mean-abs"
    at_most: float = 0.0
    element: str = "byte"  # what vectors are made of
    width: int = 0  # elements per vector
    function: tuple[int, int, bool] = (0, 0, False)  # compiled: its address, its data's, whether swapped
    exact: ExactBand | None = None  # what must be checked again, the term being only nearly exact

    def same_core(self, other: TermPlan, side: int) -> bool:
        """Whether the other plan needs no other core, and takes this side's columns in the same form."""
        if self.columns[side] != other.columns[side]:
            return False
        return replace(self, columns=other.columns) == other

    def native(self) -> Any:
        """The term as the core takes it."""
        return _native.Term(
            self.kind,
            coding=self.coding,
            columns=(len(self.columns[0]), len(self.columns[1])),
            label=self.label,
            at_least=self.at_least,
            within_integer=self.within_integer,
            within_real=self.within_real,
            metric=self.metric,
            at_most=self.at_most,
            element=self.element,
            width=self.width,
            function=self.function,
        )


def leaf_columns(leaf: Predicate, side: int) -> tuple[str, ...]:
    """The columns that a leaf takes from one side, in the core's order."""
    leaf = leaf if side == 0 else leaf.mirrored()
    return leaf.left if isinstance(leaf, Equal) else leaf.left_columns


class About:
    """Who is spoken of in a message: the leaf, the streams, and their columns with types."""

    def __init__(
        self, leaf: Predicate, names: tuple[str, str], kinds: tuple[list[pa.DataType], list[pa.DataType]]
    ) -> None:
        self.leaf, self.names, self.kinds = leaf, names, kinds
        self.columns = (leaf_columns(leaf, 0), leaf_columns(leaf, 1))

    def refusal(self, side: int, place: int, allowed: str) -> SchemaError:
        """One column has a type that the predicate cannot take."""
        return SchemaError(
            f"stream {self.names[side]!r}: column {self.columns[side][place]!r} is {self.kinds[side][place]};"
            f" {self.leaf} needs {allowed}"
        )

    def mismatch(self, place: int) -> SchemaError:
        """Two columns have types whose values are not compared."""
        (one, two), (own, other) = self.columns, self.kinds
        return SchemaError(
            f"{self.leaf}: column {one[place]!r} of stream {self.names[0]!r} is {own[place]}, column"
            f" {two[place]!r} of stream {self.names[1]!r} is {other[place]}; these are not compared,"
            " cast one of them"
        )
