"""What is pickled for workers needs nothing of watersmeet until it runs, and then says what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle

from watersmeet.spark.shipped import Processor, by_split

PROGRAM = """
import pickle, sys
sys.modules["watersmeet"] = None  # as on a worker without the package
with open(sys.argv[1], "rb") as shipped:
    function, processor = pickle.load(shipped)
for call in (lambda: function(iter([])), lambda: processor.init(None)):
    try:
        call()
    except ImportError as error:
        print(error)
"""


def test_worker_without_the_package_says_how_to_bring_it(tmp_path: Path) -> None:
    shipped = tmp_path / "shipped.pickle"
    function = by_split("watersmeet.spark.pack", "pack", "anything")
    shipped.write_bytes(cloudpickle.dumps((function, Processor("watersmeet.spark.operator", "Operator", 1))))
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(shipped)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert len(told) == 2
    assert all("watersmeet is not importable on this Spark worker" in line for line in told)
    assert all("spark.archives" in line and "addPyFile is not enough" in line for line in told)
