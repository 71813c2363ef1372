"""One SparkSession for every Spark test, small enough for two cores and a few gigabytes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import watersmeet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")


def session(folder: Path) -> SparkSession:
    """A local session whose workers find the watersmeet under test."""
    from pyspark.sql import SparkSession

    source = str(Path(watersmeet.__file__).parents[1])
    root = str(Path(__file__).resolve().parents[2])  # the tests' own functions travel by name
    os.environ["PYTHONPATH"] = os.pathsep.join([source, root, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Spark names no address on a machine without a network, and says so at length.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    options = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.task.maxFailures": "3",
        "spark.network.timeout": "900s",  # a machine that is busy or suspended has not lost its executor
    }
    builder = SparkSession.builder.master("local[2, 3]").appName("watersmeet-tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The shared session."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        made = session(tmp_path_factory.mktemp("spark"))
        made.sparkContext.setLogLevel("ERROR")
        yield made
        made.stop()
