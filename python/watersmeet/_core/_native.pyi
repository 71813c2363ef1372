"""
The compiled core of watersmeet; use the package, not this.
"""
from __future__ import annotations
import collections.abc
import typing
__all__: list[str] = ['Join', 'StreamConfig', 'Term', 'seal', 'unseal']
class Term:
    def __init__(self, kind: str, *, coding: str, columns: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(2)"], label: str, at_least: typing.SupportsFloat | typing.SupportsIndex = 0.0, within_integer: typing.SupportsInt | typing.SupportsIndex = 0, within_real: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        ...
class StreamConfig:
    def __init__(self, name: str, *, time_column: str, time_multiplier: typing.SupportsInt | typing.SupportsIndex = 1, window_rows: typing.SupportsInt | typing.SupportsIndex | None = None, basic_span: typing.SupportsInt | typing.SupportsIndex = 0, lateness: typing.SupportsInt | typing.SupportsIndex | None = None, raise_late: bool = False, index: str = 'scan', merge: str = 'auto', lazy_expiry: bool = False) -> None:
        ...
class Join:
    def __init__(self, terms: collections.abc.Sequence[Term], streams: typing.Annotated[collections.abc.Sequence[StreamConfig], "FixedSize(2)"], *, lower: int, upper: int, how: str = 'inner', order: str = 'none') -> None:
        ...
    def advance(self, stream: typing.SupportsInt | typing.SupportsIndex, to: typing.SupportsInt | typing.SupportsIndex, keep: typing.Any = None) -> tuple:
        ...
    def finish(self, keep: typing.Any = None) -> tuple:
        ...
    def first_needed(self, stream: typing.SupportsInt | typing.SupportsIndex) -> int:
        ...
    def load(self, body: str) -> None:
        ...
    def push(self, stream: typing.SupportsInt | typing.SupportsIndex, batch: typing.Any, keep: typing.Any = None) -> tuple:
        ...
    def set_synchronised(self, synchronised: bool) -> None:
        ...
    def snapshot(self) -> bytes:
        ...
    def statistics(self) -> dict:
        ...
def seal(body: str) -> bytes:
    """
    Wrap a snapshot's body in a frame with version and checksum.
    """
def unseal(frame: str) -> bytes:
    """
    The body of a frame, after checking that it is whole and unharmed.
    """
__version__: str = '0.1.0'
