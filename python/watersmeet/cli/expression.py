"""Predicates as text: --on 'overlap(tags, 3) & equal(city)'.

The text has Python's syntax and is read as a syntax tree that only knows the predicate functions, column
names, numbers and strings. Nothing is evaluated. Every predicate's str() is read back to an equal
predicate.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from watersmeet import vocabulary as words
from watersmeet.errors import ConfigError
from watersmeet.vocabulary import Predicate

__all__ = ["parse_predicate"]


@dataclass(frozen=True, slots=True)
class _Function:
    """A predicate function and the parameters that may be given by position."""

    build: Callable[..., Predicate]
    positions: tuple[str, ...]
    usage: str


_FUNCTIONS: Final[dict[str, _Function]] = {
    "overlap": _Function(words.overlap, ("column", "at_least"), "overlap(tags, 3)"),
    "subset": _Function(words.subset, ("column",), "subset(tags)"),
    "superset": _Function(words.superset, ("column",), "superset(tags)"),
    "same_set": _Function(words.same_set, ("column",), "same_set(tags)"),
    "jaccard": _Function(words.jaccard, ("column", "at_least"), "jaccard(tags, 0.6)"),
    "dot": _Function(words.dot, ("items", "weights", "at_least"), "dot(kw, w, 0.5)"),
    "cosine": _Function(words.cosine, ("items", "weights", "at_least"), "cosine(kw, w, 0.8)"),
    "band": _Function(words.band, ("column", "within"), "band(price, 0.25)"),
    "distance": _Function(words.distance, ("column", "metric", "at_most"), "distance(image, 'mean-abs', 40)"),
}
_KNOWN: Final = ", ".join(("equal", *_FUNCTIONS))


def parse_predicate(text: str, *, argument: str = "--on") -> Predicate:
    """Read a predicate; ConfigError says what was not understood."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise ConfigError(
            f"{argument} {text!r}: {reason}; expected e.g. 'overlap(tags, 3) & equal(city)'"
        ) from None
    try:
        return _predicate(tree.body)
    except RecursionError:
        raise ConfigError(f"{argument}: the expression is nested too deeply") from None
    except ConfigError as error:
        raise ConfigError(f"{argument} {text!r}: {error}") from None


def _predicate(node: ast.expr) -> Predicate:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return _predicate(node.left) & _predicate(node.right)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        raise ConfigError("combine predicates with '&', not 'and'")
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ConfigError(f"{ast.unparse(node)!r} is not a predicate; expected one of {_KNOWN}")
    return _call(node.func.id, node)


def _call(name: str, node: ast.Call) -> Predicate:
    arguments = [_value(argument) for argument in node.args]
    named = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ConfigError(f"{name}: '**' has no meaning here")
        named[keyword.arg] = _value(keyword.value)
    if name == "equal":
        return _build(words.equal, "equal(key)", arguments, named)
    if name == "where":
        raise ConfigError("where takes a function; use it from Python: wm.join(..., on=wm.where(fn))")
    function = _FUNCTIONS.get(name)
    if function is None:
        raise ConfigError(f"unknown predicate {name!r}; expected one of {_KNOWN}")
    for parameter, value in _by_position(name, function, arguments).items():
        if parameter in named:
            raise ConfigError(f"{name}: {parameter} is given twice; expected e.g. {function.usage}")
        named[parameter] = value
    return _build(function.build, function.usage, [], named)


def _by_position(name: str, function: _Function, arguments: list[Any]) -> dict[str, Any]:
    positions = function.positions
    if name in ("dot", "cosine") and len(arguments) == 2 and not isinstance(arguments[1], str):
        positions = ("items", "at_least")  # a map column has its weights in it
    if len(arguments) > len(positions):
        raise ConfigError(f"{name}: {len(arguments)} arguments are too many; expected e.g. {function.usage}")
    return dict(zip(positions, arguments, strict=False))


def _build(
    build: Callable[..., Predicate], usage: str, arguments: list[Any], named: dict[str, Any]
) -> Predicate:
    try:
        return build(*arguments, **named)
    except TypeError as error:  # a parameter is missing or unknown
        raise ConfigError(f"{error}; expected e.g. {usage}") from None


def _value(node: ast.expr) -> Any:
    """A column name, a number, a string, or a tuple of these."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_value(node.value)}.{node.attr}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _value(node.operand)
        if isinstance(number, int | float):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(part) for part in node.elts)
    raise ConfigError(f"{ast.unparse(node)!r}: expected a column name, a number or a quoted string")
