"""The program that is killed: a streaming join over the files of a folder, into parquet files beside them."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.spark.conftest import session
from tests.spark.inputs import FAMILIES, table
from tests.spark.streams import run, stream

from watersmeet.spark import join

base = Path(sys.argv[1])
spark = session(base / "spark")
schema = table(0, 1).schema
left, right = (stream(spark, base / side, schema) for side in ("left", "right"))
run(join(left, right, on=FAMILIES["equal"], window="4s", partitions=2), base)
spark.stop()
