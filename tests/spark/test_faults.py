"""Kills that really happen: nothing is lost and nothing repeated at a file sink.

`make test` kills four times; `make test-spark-faults` (WATERSMEET_FAULTS=1) more than twenty times.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from tests.spark.faults import Driver, after_batch, faulty, inside_batch
from tests.spark.inputs import FAMILIES, near, pairs, table
from tests.spark.streams import parts, run, start, stream, sunk, write_files

import watersmeet as wm
from watersmeet.spark import join, metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT, RIGHT = table(7, 400), table(8, 380)
MANY = os.environ.get("WATERSMEET_FAULTS") == "1"
STRIKES = [30, 120, 210, 290, 360] if MANY else [100, 250]
DRIVER_KILLS = [("inside", 0), ("after", 0), ("inside", 2), ("after", 2), ("inside", 4), ("inside", 1)]


@pytest.mark.parametrize("partitions", [1, 3, 8] if MANY else [2])
@pytest.mark.parametrize("fault", ["kill", "raise"])
def test_struck_workers_lose_and_repeat_nothing(
    spark: SparkSession, tmp_path: Path, fault: Literal["kill", "raise"], partitions: int
) -> None:
    batches = 8 if MANY else 3
    write_files(tmp_path / "left", parts(LEFT, batches))
    write_files(tmp_path / "right", parts(RIGHT, batches))
    struck = wm.equal("key") & wm.where(faulty(tmp_path / "marks", fault, STRIKES))
    out = join(
        stream(spark, tmp_path / "left", LEFT.schema),
        stream(spark, tmp_path / "right", RIGHT.schema),
        on=struck,
        window="4s",
        partitions=partitions,
    )
    run(out, tmp_path)
    whole: Any = wm.join(LEFT, RIGHT, on=wm.equal("key") & wm.where(near), window="4s")
    assert pairs(sunk(spark, tmp_path)) == pairs(whole)
    assert len(list((tmp_path / "marks").iterdir())) == len(STRIKES)


def test_state_stores_restarted_between_batches_lose_and_repeat_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Their copies are gone, and soon a worker, so that both have only the checkpoint to go on from."""
    for side in ("left", "right"):
        (tmp_path / side).mkdir()
    out = join(
        stream(spark, tmp_path / "left", LEFT.schema),
        stream(spark, tmp_path / "right", RIGHT.schema),
        on=wm.equal("key") & wm.where(faulty(tmp_path / "marks", "kill", [250])),
        window="4s",
        partitions=2,
    )
    query = start(out, tmp_path, once=False)
    stores: Any = spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore
    for turn, (left, right) in enumerate(zip(parts(LEFT, 3), parts(RIGHT, 3), strict=True)):
        write_files(tmp_path / "left", [left], first=turn)
        write_files(tmp_path / "right", [right], first=turn)
        query.processAllAvailable()
        assert stores.isMaintenanceRunning()
        stores.stop()
    query.stop()
    whole: Any = wm.join(LEFT, RIGHT, on=wm.equal("key") & wm.where(near), window="4s")
    assert pairs(sunk(spark, tmp_path)) == pairs(whole)
    assert metrics(query).total["rebuilds"] > 0


@pytest.mark.parametrize("kills", [DRIVER_KILLS[2:3]] if not MANY else [DRIVER_KILLS[:3], DRIVER_KILLS[3:]])
def test_killed_drivers_lose_and_repeat_nothing(
    spark: SparkSession, tmp_path: Path, kills: list[tuple[str, int]]
) -> None:
    write_files(tmp_path / "left", parts(LEFT, 5))
    write_files(tmp_path / "right", parts(RIGHT, 5))
    log = tmp_path / "driver.log"
    for when, batch in kills:
        moment = (inside_batch if when == "inside" else after_batch)(tmp_path, batch)
        assert Driver(tmp_path, log).kill_when(moment), log.read_text()[-2000:]
    assert Driver(tmp_path, log).finish() == 0, log.read_text()[-2000:]
    expected = wm.join(LEFT, RIGHT, on=FAMILIES["equal"], window="4s")
    assert pairs(sunk(spark, tmp_path)) == pairs(expected)
