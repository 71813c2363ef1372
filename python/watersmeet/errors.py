"""Every error that watersmeet raises on purpose: one base class, one leaf per kind of trouble.

A message names the argument or column, the value it had, and what is allowed.
"""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "MemoryLimitError",
    "OrderError",
    "SchemaError",
    "SnapshotError",
    "WatersmeetError",
]


class WatersmeetError(Exception):
    """Base of all errors raised by this package: catch it to catch them all."""


class SchemaError(WatersmeetError):
    """A table or batch does not have the columns, types or values that the join needs."""


class OrderError(WatersmeetError):
    """A row is older than its stream's rules on order and lateness allow."""


class SnapshotError(WatersmeetError):
    """Bytes given to restore are not a whole, unharmed snapshot of a version that can be read."""


class ConfigError(WatersmeetError):
    """An argument, or a combination of arguments, has no meaning here."""


class MemoryLimitError(WatersmeetError):
    """The state of a join does not fit under its memory limit, and it may not shrink."""
