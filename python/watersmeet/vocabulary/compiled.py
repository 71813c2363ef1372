"""Compiled tests of a pair: C functions that the core calls itself, on any thread, without Python.

    int matches(const void *left, const void *right, void *user_data);

`left` and `right` point to one row each: a C struct of the columns named, in that order, aligned as C aligns
structs. Above 0 the pair matches, at 0 it does not, below 0 the join stops with an error.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from watersmeet.errors import ConfigError
from watersmeet.vocabulary.predicate import Predicate

__all__ = ["Compiled", "compiled_test"]

SIGNATURE: Final = "int (void *, void *, void *)"
_C_FUNCTION: Final[Any] = ctypes.CFUNCTYPE(None).__mro__[1]  # the class of all ctypes functions
_EXPECTED: Final = (
    "expected a scipy.LowLevelCallable, a numba cfunc, a ctypes function, a capsule or an address, of"
    f" signature {SIGNATURE!r}"
)


@dataclass(frozen=True, slots=True)
class Compiled(Predicate):
    """A compiled function of one row of each side."""

    address: int
    user_data: int
    left: tuple[str, ...]
    right: tuple[str, ...]
    label: str
    swapped: bool = False  # whether the function's first row comes from the right stream
    owner: Any = field(default=None, compare=False, repr=False)  # kept alive: the code may be its own

    @property
    def left_columns(self) -> tuple[str, ...]:
        """The columns that the function's row of the left stream is made of."""
        return self.left

    def mirrored(self) -> Compiled:
        """The same test with left and right exchanged; the function gets its rows as before."""
        return Compiled(
            self.address,
            self.user_data,
            left=self.right,
            right=self.left,
            label=self.label,
            swapped=not self.swapped,
            owner=self.owner,
        )

    def __reduce__(self) -> NoReturn:
        raise ConfigError(f"{self}: an address means nothing in another process")

    def __str__(self) -> str:
        return f"where({self.label})"


def compiled_test(fn: Any, left: tuple[str, ...], right: tuple[str, ...]) -> Compiled:
    """The test that a compiled function makes of these columns; ConfigError if it is no such function."""
    for side, columns in (("left", left), ("right", right)):
        if not columns or not all(isinstance(name, str) and name for name in columns):
            raise ConfigError(f"where({side})={columns!r}: expected the names of one or more columns")
    address, user_data = _address(fn)
    if not address:
        raise ConfigError(f"where(fn)={fn!r}: a null pointer; {_EXPECTED}")
    return Compiled(address, user_data, left, right, label=_label(fn), owner=fn)


def _address(fn: Any) -> tuple[int, int]:
    """Of the function and of its user data."""
    if isinstance(fn, bool):
        raise ConfigError(f"where(fn)={fn!r}: {_EXPECTED}")
    if isinstance(fn, int):
        return fn, 0
    if isinstance(fn, tuple) and hasattr(fn, "user_data"):  # scipy.LowLevelCallable
        return _capsule(tuple.__getitem__(fn, 0))
    if type(fn).__name__ == "PyCapsule":
        return _capsule(fn)
    if isinstance(fn, _C_FUNCTION):
        _check_ctypes(fn)
        return ctypes.cast(fn, ctypes.c_void_p).value or 0, 0
    if isinstance(getattr(fn, "address", None), int):  # a numba cfunc
        return fn.address, 0
    raise ConfigError(f"where(fn)={fn!r}: {_EXPECTED}")


def _capsule(capsule: Any) -> tuple[int, int]:
    api = ctypes.pythonapi
    name = _api(api.PyCapsule_GetName, ctypes.c_char_p)(capsule)
    if name is not None and not _has_signature(name.decode()):
        raise ConfigError(f"where(fn): a function of signature {name.decode()!r}: expected {SIGNATURE!r}")
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    return pointer(capsule, name) or 0, _api(api.PyCapsule_GetContext, ctypes.c_void_p)(capsule) or 0


def _api(function: Any, result: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, ctypes.py_object)((function.__name__, ctypes.pythonapi))


def _has_signature(text: str) -> bool:
    """Whether it is an int of three pointers, of whatever kind."""
    result, _, rest = text.partition("(")
    arguments = rest.rstrip(") ").split(",")
    return result.strip() in ("int", "int32_t") and len(arguments) == 3 and all("*" in a for a in arguments)


def _check_ctypes(fn: Any) -> None:
    arguments = fn.argtypes
    if fn.restype is not ctypes.c_int or (arguments is not None and len(arguments) != 3):
        raise ConfigError(f"where(fn)={fn!r}: a ctypes function that is not of signature {SIGNATURE!r}")


def _label(fn: Any) -> str:
    function = getattr(fn, "function", fn)
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else "compiled"
