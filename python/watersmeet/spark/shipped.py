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

from pyspark import cloudpickle

__all__ = ["by_groups", "by_split"]

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


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
