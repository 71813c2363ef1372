"""The streaming join on Spark against Spark's own, and what it costs. Answers are checked before times count.

    python -m bench.spark [equal] [overlap] [overhead] [rebuild] [burst] [--rows 500000] [--batches 6]
        [--skip 2] [--peers native-hdfs native-rocksdb] [--bound 2s] [--json FILE]

`--rows` are rows per side and micro-batch, `--skip` the micro-batches before times count. local[2]. The
native joins keep their state on the Java heap: --memory 7g for the full size.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from bench.spark.costs import burst, overhead, rebuild
from bench.spark.peers import equal, overlap
from bench.spark.queries import session

SCENARIOS = {"equal": equal, "overlap": overlap, "overhead": overhead, "burst": burst}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*", default=["equal", "overlap", "overhead", "rebuild", "burst"])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--skip", type=int, default=2)
    parser.add_argument("--peers", nargs="*", default=["native-hdfs", "native-rocksdb"])
    parser.add_argument("--bound", default="2s")
    parser.add_argument("--memory", default="3g")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {"load_average_before": os.getloadavg()}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        if "rebuild" in options.what:
            results["rebuild"] = rebuild(options)
        chosen = [name for name in options.what if name in SCENARIOS]
        spark = session(base, memory=options.memory) if chosen else None
        for name in chosen:
            results[name] = SCENARIOS[name](spark, base / name, options)
        results["load_average_after"] = os.getloadavg()
        print(
            f"load average {results['load_average_before'][0]:.1f} to {results['load_average_after'][0]:.1f}"
        )
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
        if spark is not None:
            spark.stop()


if __name__ == "__main__":
    main()
