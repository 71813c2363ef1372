"""Amounts of memory, as users write them: a number of bytes, or text such as "64MiB"."""

from __future__ import annotations

import re
from typing import Final

from watersmeet.errors import ConfigError

__all__ = ["parse_bytes"]

_UNITS: Final = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_TEXT: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_bytes(value: object, *, argument: str) -> int:
    """A number of bytes above 0; ConfigError naming `argument` for anything else."""
    amount = None
    if isinstance(value, int) and not isinstance(value, bool):
        amount = value
    elif isinstance(value, str):
        found = _TEXT.fullmatch(value)
        if found is not None and found[2] in _UNITS:
            amount = int(float(found[1]) * _UNITS[found[2]])
    if amount is None or amount <= 0:
        raise ConfigError(
            f"{argument}={value!r}: expected a number of bytes above 0, or text such as '64MiB' or '2GB'"
        )
    return amount
