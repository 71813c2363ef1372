"""The compiled core; the only door to C++."""

from . import _native as _native
