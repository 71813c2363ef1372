"""The few functions that Spark pickles. They go by value and import watersmeet only when they run.

A worker without the package can then say what is missing and how to bring it, where unpickling by name would
end in a bare ModuleNotFoundError. Nothing here may use a name of this package at module level.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

__all__ = ["Processor", "by_columns", "by_groups", "by_split"]

_HELP = (
    "watersmeet is not importable on this Spark worker ({error}). It has compiled code, so addPyFile is not"
    " enough: install the wheel on every node, or ship an environment with it: `venv-pack -o env.tar.gz`,"
    " spark.archives=env.tar.gz#env and PYSPARK_PYTHON=./env/bin/python; for a source checkout set"
    " spark.executorEnv.PYTHONPATH"
)


def target(module: str, name: str) -> Any:
    """A function of watersmeet, found on the worker."""
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ImportError(_HELP.format(error=error)) from error


def by_split(module: str, name: str, *arguments: Any) -> Callable[[Any], Any]:
    """For mapInArrow: name(*arguments, batches)."""
    shipped = cloudpickle.dumps(arguments)  # type: ignore[no-untyped-call]

    def run(batches: Any) -> Any:
        function = target(module, name)
        return function(*pickle.loads(shipped), batches)

    return run


def by_groups(module: str, name: str, *arguments: Any) -> Callable[[Any, Any], Any]:
    """For applyInArrow over two grouped inputs: name(*arguments, left, right)."""
    shipped = cloudpickle.dumps(arguments)  # type: ignore[no-untyped-call]

    def run(left: Any, right: Any) -> Any:
        function = target(module, name)
        return function(*pickle.loads(shipped), left, right)

    return run


def by_columns(module: str, name: str, columns: int) -> Callable[..., Any]:
    """For arrow_udf over two or four columns: name(*columns)."""

    def two(left: pa.Array, right: pa.Array) -> pa.Array:  # Spark reads the hints
        return target(module, name)(left, right)

    def four(one: pa.Array, two: pa.Array, three: pa.Array, four: pa.Array) -> pa.Array:
        return target(module, name)(one, two, three, four)

    return two if columns == 2 else four


class Processor(StatefulProcessor):
    """The stateful operator as Spark sees it: everything is done by an object of watersmeet."""

    def __init__(self, module: str, name: str, *arguments: Any) -> None:
        self._module, self._name = module, name
        self._shipped = cloudpickle.dumps(arguments)  # type: ignore[no-untyped-call]

    def init(self, handle: Any) -> None:
        """Spark's call before the first group of a task."""
        self._operator = target(self._module, self._name)(*pickle.loads(self._shipped), handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
        """Spark's call for a group that has rows in this micro-batch."""
        return self._operator.rows(key[0], rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: N802, N803
        """Spark's call for a group whose timer the watermark has passed."""
        return self._operator.timer(key[0], timerValues, expiredTimerInfo)

    def close(self) -> None:
        """Spark's call at the end of a task."""


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
